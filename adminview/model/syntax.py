"""Python code -> its syntax tree, one at a time.

Before 3.11.8 and 3.12.2 two threads that parse at once may fail each other, with a SystemError
(https://github.com/python/cpython/issues/106905).
"""

import ast
from threading import Lock

ONE_AT_A_TIME = Lock()


def parse(code: str) -> ast.Module:
    """Parse a file's text."""
    with ONE_AT_A_TIME:
        return ast.parse(code)
