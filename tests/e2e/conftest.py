"""The real CDK command on a local cloud: minutes, so only where it is asked for.

ADMINVIEW_MINISTACK names the command of ministack, in a virtual environment of its own.
"""

import os

MINISTACK = "ADMINVIEW_MINISTACK"

collect_ignore_glob = [] if os.environ.get(MINISTACK) else ["test_*.py"]
