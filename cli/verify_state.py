"""How far a verification is, in a file: after a stop, the same command goes on from there."""

import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any

from lambdas.model.errors import SettingsError
from lambdas.repair.verify.run import Run

KIND = "adminview.verify/1"
EVERY_SECONDS = 1.0
FOR_THE_OWNER = 0o600  # the file names keys of customers


@dataclass(slots=True)
class StateFile:
    """A file that always holds a whole state: a new one replaces it in one step."""

    path: Path
    clock: Callable[[], float] = monotonic
    watch: Callable[[Run], None] = field(default=lambda _: None)
    _written: float = float("-inf")
    _lock: Any = field(default_factory=Lock)

    def note(self, run: Run, *, urgent: bool = False) -> None:
        """Write down how far a run is: now if it is urgent, or else once a second."""
        with self._lock:
            if urgent or self.clock() - self._written >= EVERY_SECONDS:
                self._write({"kind": KIND, **run.to_json()})
                self._written = self.clock()
        self.watch(run)

    def resume(self, run: Run) -> bool:
        """Bring a new run to where the file's is, and tell whether there was one."""
        try:
            given = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return False
        except ValueError as error:
            msg = f"{self.path} is not the state of a verification: remove it, or name another file"
            raise SettingsError(msg) from error
        if not isinstance(given, dict) or given.get("kind") != KIND:
            msg = f"{self.path} is not the state of a verification: remove it, or name another file"
            raise SettingsError(msg)
        if unlike := run.scope.unlike(given["scope"]):
            asked = ", ".join(f"{name} {given['scope'].get(name)!r}" for name in unlike)
            msg = (
                f"{self.path} is of a verification that has not finished, with {asked}: "
                "finish it with the same options, or begin anew with --restart"
            )
            raise SettingsError(msg)
        run.restore(given)
        return True

    def remove(self) -> None:
        """Forget the run: it is finished, or is to begin anew."""
        with suppress(FileNotFoundError):
            self.path.unlink()

    def _write(self, state: dict[str, Any]) -> None:
        new = self.path.with_name(f"{self.path.name}.new")
        with suppress(FileNotFoundError):
            new.unlink()  # one that is left over may have another mode
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with os.fdopen(os.open(new, flags, FOR_THE_OWNER), "w", encoding="utf-8") as file:
            json.dump(state, file)
        new.replace(self.path)
