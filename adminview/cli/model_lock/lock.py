"""The model lock: the agreed model, and a dated reason for each change of it."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from adminview.cli.model_lock.epochs import (
    RETIRED,
    RetiredEpochs,
    read_retired,
    retire,
    reused_epochs,
)
from adminview.cli.model_lock.model_diff import Description, ModelDiff
from adminview.cli.model_lock.wording import describe_diff
from adminview.model import Index, Total
from adminview.model.errors import DeclarationError, SettingsError
from adminview.model.reason import LEAST_WORDS, says_why

LOCK, CHANGES = "model.lock.json", "MODEL_CHANGES.md"
PARTS = {"fingerprint", "sources", "indexes", "patterns", "views", "code"}
ENTRY = re.compile(r"^## (\S+) - (\S+)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
TITLE = """# Changes of the model

The newest first, each with its date, the fingerprint of the new model and the reason.
`adminview model lock --reason "..."` adds an entry and writes `model.lock.json`.
"""
ADVICE = 'run `adminview model lock --reason "why it changes"` and commit both files'


@dataclass(frozen=True, slots=True)
class RecordedChange:
    """An entry of the list of changes."""

    day: str
    model: str
    reason: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lock:
    """The lock file and the list of changes, in one folder."""

    folder: Path = Path()  # of the app

    @property
    def path(self) -> Path:
        return self.folder / LOCK

    @property
    def changes(self) -> Path:
        return self.folder / CHANGES

    def read(self) -> Description | None:
        """Return the agreed model; None if there is no lock file."""
        return read_description(self.path) if self.path.exists() else None

    def retired(self) -> RetiredEpochs:
        """Return the epochs of totals that must not be declared again."""
        return read_retired(_content(self.path)) if self.read() else {}

    def reused_epochs(self, model: Description) -> Iterator[str]:
        """Yield the totals of *model* that declare an epoch again."""
        return reused_epochs(self.retired(), model)

    def problems(self, model: Description) -> Iterator[str]:
        """Yield how the files and *model* disagree."""
        agreed = self.read()
        yield from self.reused_epochs(model)
        if agreed is None or not ModelDiff.between(agreed, model).is_empty:
            yield f"{LOCK} does not describe the model {model['fingerprint']}: {ADVICE}"
        elif self.path.read_text(encoding="utf-8") != as_text(model, self.retired()):
            yield f"{LOCK} was edited by hand: delete it and {ADVICE}"
        entries = self._entries()
        if not entries or entries[0][1] != model["fingerprint"]:
            yield (
                f"the newest entry of {CHANGES} is not about the model {model['fingerprint']}: "
                f"{ADVICE}"
            )
        for day, model_then, reason in entries:
            if not _is_day(day):
                yield f"{CHANGES}: entry {model_then} needs a date such as 2026-01-31, not {day!r}"
            if not _says_why(reason):
                yield f"{CHANGES}: entry {model_then} needs a reason of {LEAST_WORDS} words or more"
        days = [day for day, _, _ in entries]
        if days != sorted(days, reverse=True):
            yield f"{CHANGES}: the newest entry must come first"

    def write(self, model: Description, reason: str, today: date) -> None:
        """Write *model* to the lock file and add an entry with the reason.

        Raises SettingsError if the reason is too short, nothing has changed, or a total declares
        an epoch again.
        """
        reason = validate_reason(reason)
        for problem in self.reused_epochs(model):
            raise SettingsError(problem)
        if not any(self.problems(model)):
            msg = f"{LOCK} already describes this model, {model['fingerprint']}: nothing to lock"
            raise SettingsError(msg)
        agreed = self.read()
        entry = [f"## {today.isoformat()} - {model['fingerprint']}", "", reason, ""]
        changes = describe_diff(ModelDiff.between(agreed, model)) if agreed else {}
        entry += [f"- {heading}: {line}" for heading, lines in changes.items() for line in lines]
        head, older = self._divided()
        text = f"{head}\n" + "\n".join(entry).rstrip("\n") + "\n" + (f"\n{older}" if older else "")
        self.changes.write_text(text, encoding="utf-8")
        retired = retire(self.retired(), agreed, model)
        self.path.write_text(as_text(model, retired), encoding="utf-8")

    def history(self) -> list[RecordedChange]:
        """Return the recorded changes of the model, the newest first."""
        entries = []
        for day, model, text in self._entries():
            lines = text.strip().splitlines()
            changes = [line.removeprefix("- ") for line in lines if line.startswith("- ")]
            reason = " ".join(line for line in lines if not line.startswith("- ")).strip()
            entries.append(RecordedChange(day, model, reason, tuple(changes)))
        return entries

    def _divided(self) -> tuple[str, str]:
        """Return the text above the entries, and the entries."""
        text = self.changes.read_text(encoding="utf-8") if self.changes.exists() else TITLE
        head, mark, older = text.partition("\n## ")
        return head.rstrip("\n") + "\n", f"## {older}" if mark else ""

    def _entries(self) -> list[tuple[str, str, str]]:
        return ENTRY.findall(self._divided()[1])


def validate_reason(reason: str) -> str:
    """Return *reason* in one line; raise SettingsError if it is too short."""
    reason = " ".join(reason.split())
    if not _says_why(reason):
        msg = f"give a reason of {LEAST_WORDS} words or more: --reason TEXT"
        raise SettingsError(msg)
    return reason


def as_text(model: Description, retired: RetiredEpochs | None = None) -> str:
    """Return the content of the lock file for *model*."""
    content = model | ({RETIRED: retired} if retired else {})
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def read_description(file: Path) -> Description:
    """Read a model from a file; raise SettingsError if there is none."""
    try:
        model = _content(file)
    except FileNotFoundError as error:
        msg = f"there is no file {file}"
        raise SettingsError(msg) from error
    except ValueError as error:  # its text may quote the file
        model = error
    return validate_description(model, str(file))


def _content(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))


def validate_description(model: object, where: str) -> Description:
    """Return *model* if it describes a model; else raise SettingsError that names *where*."""
    try:
        assert isinstance(model, dict)
        assert model.keys() >= PARTS
        describe_diff(ModelDiff.between(None, model))
        for shape in model["indexes"]:
            Index.from_shape(shape)
        for shape in model.get("totals", []):  # absent in descriptions of older releases
            Total.from_shape(shape)
        read_retired(model)
    except (AssertionError, LookupError, TypeError, ValueError, DeclarationError) as error:
        msg = f"{where} does not describe a model as {LOCK} does"
        raise SettingsError(msg) from error
    return {part: content for part, content in model.items() if part != RETIRED}


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _says_why(reason: str) -> bool:
    """Return whether there are enough words besides the list of changes."""
    lines = [line for line in reason.splitlines() if not line.startswith("- ")]
    return says_why(" ".join(lines))
