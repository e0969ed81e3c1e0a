"""The state file of a verification, from which the same command resumes."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any

from adminview.bulk.verify.run import VerifyRun
from adminview.cli.private_file import open_private
from adminview.model.errors import SettingsError

KIND = "adminview.verify/1"
EVERY_SECONDS = 1.0


@dataclass(slots=True)
class StateFile:
    """A file that is replaced atomically, so that it always holds a complete state."""

    path: Path
    clock: Callable[[], float] = monotonic
    watch: Callable[[VerifyRun], None] = field(default=lambda _: None)
    _written: float = float("-inf")
    _lock: Any = field(default_factory=Lock)

    def note(self, run: VerifyRun, *, since: float = float("-inf")) -> None:
        """Write the state if the last write is a second old or happened before *since*."""
        with self._lock:
            if self._written < since or self.clock() - self._written >= EVERY_SECONDS:
                self._write({"kind": KIND, **run.to_json()})
                self._written = self.clock()
        self.watch(run)

    def resume(self, run: VerifyRun) -> bool:
        """Restore the state of the file into *run*, and return whether there was one.

        Raises a SettingsError if the file is invalid or belongs to a run with other options.
        """
        try:
            state = json.loads(self.path.read_text(encoding="utf-8"))
            if state["kind"] != KIND:
                raise self._invalid()
            unlike = run.scope.unlike(state["scope"])
        except FileNotFoundError:
            return False
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise self._invalid() from error
        if unlike:
            options = ", ".join(f"{name} {state['scope'].get(name)!r}" for name in unlike)
            msg = (
                f"{self.path} belongs to an unfinished verification with {options}: finish it "
                "with the same options, name another --state, or start again with --restart"
            )
            raise SettingsError(msg)
        try:
            run.restore(state)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise self._invalid() from error
        return True

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold a lock on the file. Raises a SettingsError if another command holds it."""
        # A separate file, because the state file is replaced at each write.
        lock_path = self.path.with_name(f"{self.path.name}.lock")
        try:
            lock = open_private(lock_path)
        except OSError as error:
            msg = f"cannot write the state file {self.path}: {error.strerror}"
            raise SettingsError(msg) from error
        with lock:
            try:
                flock(lock, LOCK_EX | LOCK_NB)
            except BlockingIOError as error:
                msg = f"another verification is using {self.path}: wait, or name another --state"
                raise SettingsError(msg) from error
            yield
            lock_path.unlink(missing_ok=True)

    def _invalid(self) -> SettingsError:
        msg = (
            f"{self.path} is not a state file of this version of verify: "
            "start again with --restart, or name another --state"
        )
        return SettingsError(msg)

    def remove(self) -> None:
        with suppress(FileNotFoundError):
            self.path.unlink()

    def _write(self, state: dict[str, Any]) -> None:
        new = self.path.with_name(f"{self.path.name}.new")
        with suppress(FileNotFoundError):
            new.unlink()  # a leftover file may have another mode
        with open_private(new, exclusive=True) as file:
            file.write(json.dumps(state))  # much faster than json.dump
        new.replace(self.path)
