"""Derive the rows of a sample in a process of its own: `python -m adminview.checks.derive_sample`.

Reads the items and the conditions from standard input as JSON. Derives each item twice, and writes
both results to standard output, with the model's fingerprint. Output of view files goes to standard
error.
"""

import json
import sys
from typing import Any

from adminview.checks.conditions import Conditions, make_seeder, stop_clock
from adminview.model import Registry
from adminview.model.errors import RecordError
from adminview.model.row import Attributes, key_of
from adminview.preview import preview_item
from adminview.views import registry


def main() -> None:
    """Derive every item of the request."""
    request = json.load(sys.stdin)
    output, sys.stdout = sys.stdout, sys.stderr
    conditions = Conditions(**request["conditions"])
    begin = make_seeder(conditions.seed)
    stop_clock(conditions.clock)
    begin()
    model = registry()
    items: list[tuple[str, Attributes]] = request["items"]
    outcomes: dict[int, list[Any]] = {}
    positions = range(len(items))
    for position in reversed(positions) if conditions.backwards else positions:
        for _ in range(2):
            begin()
            outcomes.setdefault(position, []).append(_outcome(model, *items[position]))
    ordered = [outcomes[position] for position in positions]
    json.dump({"model": model.fingerprint, "outcomes": ordered}, output)


def _outcome(model: Registry, source: str, image: Attributes) -> dict[str, Any]:
    """Return the rows by the position of their view among the source's views, or the error."""
    declared = model.source(source)
    views = model.views_of(declared)
    try:
        derived = preview_item(model, declared, image)
    except RecordError as error:
        return {"error": str(error), "place": error.place}
    rows = {
        str(views.index(part.view)): {" ".join(key_of(row)): row for row in part.rows}
        for part in derived.views
    }
    return {"rows": rows}


if __name__ == "__main__":
    main()
