"""A finding of a check, with the file and the line."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from adminview.model.errors import DeclarationError


class Level(StrEnum):
    """An error must be fixed; a warning may be intended."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class ModelFinding:
    """What is wrong, and where: `place` is a file and a line, or empty."""

    level: Level
    rule: str
    place: str
    message: str
    name: str = ""  # of the declaration, or of the package that is imported

    def __str__(self) -> str:
        return f"{self.place or 'the view files'}: {self.level}: {self.message}"

    def data(self) -> dict[str, Any]:
        file, _, line = self.place.rpartition(":")
        return {
            "level": self.level.value,
            "rule": self.rule,
            "name": self.name or None,
            "file": file or None,
            "line": int(line) if line else None,
            "message": self.message,
        }


def load_finding(error: DeclarationError) -> ModelFinding:
    """Return the finding for view files that cannot be loaded."""
    return ModelFinding(Level.ERROR, "load", error.place, str(error))
