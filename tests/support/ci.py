"""Whether the tests run in CI: then every engine must exist, and examples are not random."""

import os

IN_CI = os.environ.get("CI") == "true"
