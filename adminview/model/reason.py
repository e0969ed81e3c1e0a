"""The reason for a change of the model or for a repair, as commands and the console record it."""

import re
from typing import Final

LEAST_WORDS: Final = 2


def says_why(reason: str) -> bool:
    """Return whether a reason has enough words."""
    return len(re.findall(r"\w+", reason)) >= LEAST_WORDS
