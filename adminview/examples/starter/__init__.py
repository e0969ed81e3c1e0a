"""The files that `adminview init` generates besides those of the reference app."""

from pathlib import Path

FOLDER = Path(__file__).parent
