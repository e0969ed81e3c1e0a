"""`python -m bench.totals`: measure totals alone, in ten seconds.

With --keep, the results replace this part of bench/results/latest.json; then run
`python -m tests.support.scale_page` to update docs/scale.md.
"""

import argparse
import json
import sys

from bench.__main__ import KEPT
from bench.stub_client import running_stub
from bench.totals.measure import lines, measure

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.totals", description=__doc__)
    parser.add_argument("--keep", action="store_true", help="also replace the tracked results")
    options = parser.parse_args()
    with running_stub() as stub:
        results = measure(stub)
    sys.stdout.write("\n".join(lines(results)) + "\n")
    if options.keep:
        file = KEPT / "latest.json"
        kept = json.loads(file.read_text()) | {"totals": results}
        file.write_text(json.dumps(kept, indent=1) + "\n")
