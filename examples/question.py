"""What an example is asked, and what it must answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Items: TypeAlias = Mapping[str, Sequence[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Found:
    """A row of an answer: its key, and what matters of its data."""

    pk: str
    sk: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Question:
    """An access pattern, the parameters it is asked with, and the rows that answer, in order."""

    pattern: str
    given: Mapping[str, Any]
    answer: Sequence[Found]
