"""The standard output, kept for answers alone. Imports next to nothing: see bench/fresh.py."""

import os


def apart() -> int:
    """Give where answers go; what a function prints from now on goes nowhere."""
    answers = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return answers
