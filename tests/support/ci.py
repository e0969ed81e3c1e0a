"""Whether this is CI, where no engine may be missing and no example is left to chance."""

import os

IN_CI = os.environ.get("CI") == "true"
