"""The model as it was last agreed on: a lock file, and a dated reason for each change of it."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from adminview.cli.model_lock.model_diff import Description, ModelDiff
from adminview.cli.model_lock.wording import in_words
from adminview.model import Index
from adminview.model.errors import DeclarationError, SettingsError

LOCK, CHANGES = "model.lock.json", "MODEL_CHANGES.md"
PARTS = {"fingerprint", "sources", "indexes", "patterns", "views", "code"}
LEAST_WORDS = 3  # of a reason
ENTRY = re.compile(r"^## (\S+) - (\S+)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
TITLE = """# Changes of the model

Each with its day, the fingerprint of the model it led to, and the reason; the newest first.
`adminview model lock --reason "..."` adds one, and writes `model.lock.json`.
"""
ADVICE = 'run `adminview model lock --reason "why it changes"` and commit both files'


@dataclass(frozen=True, slots=True)
class Lock:
    """The two files, in one folder."""

    folder: Path = Path()  # the app's, in which commands run

    @property
    def path(self) -> Path:
        """Say where the model is described."""
        return self.folder / LOCK

    @property
    def changes(self) -> Path:
        """Say where the reasons are."""
        return self.folder / CHANGES

    def read(self) -> Description | None:
        """Read the model that was agreed on; None if there is none yet."""
        return read_description(self.path) if self.path.exists() else None

    def problems(self, model: Description) -> Iterator[str]:
        """Say in what the files and *model* disagree."""
        agreed = self.read()
        if agreed is None or not ModelDiff.between(agreed, model).nothing:
            yield f"{LOCK} does not describe the model {model['fingerprint']}: {ADVICE}"
        elif self.path.read_text(encoding="utf-8") != as_text(model):
            yield f"{LOCK} was edited by hand: remove it and {ADVICE}"
        entries = self._entries()
        if not entries or entries[0][1] != model["fingerprint"]:
            yield (
                f"the newest entry of {CHANGES} is not about the model {model['fingerprint']}: "
                f"{ADVICE}"
            )
        for day, model_then, reason in entries:
            if not _is_day(day):
                yield f"{CHANGES}: the entry of {model_then} has no day such as 2026-01-31: {day!r}"
            if not _says_why(reason):
                yield f"{CHANGES}: the entry of {model_then} does not say why, in some words"
        days = [day for day, _, _ in entries]
        if days != sorted(days, reverse=True):
            yield f"{CHANGES}: the newest entry comes first"

    def write(self, model: Description, reason: str, today: date) -> None:
        """Agree on a model, for a reason."""
        reason = " ".join(reason.split())
        if not _says_why(reason):
            msg = f"say why the model changes, in {LEAST_WORDS} words or more: --reason TEXT"
            raise SettingsError(msg)
        if not any(self.problems(model)):
            msg = f"{LOCK} already describes this model, {model['fingerprint']}: nothing to lock"
            raise SettingsError(msg)
        agreed = self.read()
        entry = [f"## {today.isoformat()} - {model['fingerprint']}", "", reason, ""]
        said = in_words(ModelDiff.between(agreed, model)) if agreed else {}
        entry += [f"- {heading}: {line}" for heading, lines in said.items() for line in lines]
        head, older = self._divided()
        text = f"{head}\n" + "\n".join(entry).rstrip("\n") + "\n" + (f"\n{older}" if older else "")
        self.changes.write_text(text, encoding="utf-8")
        self.path.write_text(as_text(model), encoding="utf-8")

    def _divided(self) -> tuple[str, str]:
        """Give what is above the entries, and the entries."""
        text = self.changes.read_text(encoding="utf-8") if self.changes.exists() else TITLE
        head, mark, older = text.partition("\n## ")
        return head.rstrip("\n") + "\n", f"## {older}" if mark else ""

    def _entries(self) -> list[tuple[str, str, str]]:
        return ENTRY.findall(self._divided()[1])


def as_text(model: Description) -> str:
    """Write a description as it is committed."""
    return json.dumps(model, indent=2, ensure_ascii=False) + "\n"


def read_description(file: Path) -> Description:
    """Read a model's description from a file, or say that there is none in it."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        msg = f"there is no file {file}"
        raise SettingsError(msg) from error
    except ValueError as error:  # which may quote the file
        found = error
    return checked(found, str(file))


def checked(found: object, where: str) -> Description:
    """Take what was found as a model's description, or say where there is none."""
    try:
        assert isinstance(found, dict)
        assert found.keys() >= PARTS
        in_words(ModelDiff.between(None, found))
        for shape in found["indexes"]:
            Index.from_shape(shape)
    except (AssertionError, LookupError, TypeError, ValueError, DeclarationError) as error:
        msg = f"{where} does not describe a model as {LOCK} does"
        raise SettingsError(msg) from error
    return found


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _says_why(reason: str) -> bool:
    """Tell whether there are words, apart from the list of what changed."""
    said = [line for line in reason.splitlines() if not line.startswith("- ")]
    return len(re.findall(r"\w+", " ".join(said))) >= LEAST_WORDS
