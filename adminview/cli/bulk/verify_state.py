"""How far a verification is, in a file: after a stop, the same command goes on from there."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any

from adminview.bulk.verify.run import Run
from adminview.cli.private_file import open_private
from adminview.model.errors import SettingsError

KIND = "adminview.verify/1"
EVERY_SECONDS = 1.0


@dataclass(slots=True)
class StateFile:
    """A file that always holds a whole state: a new one replaces it in one step."""

    path: Path
    clock: Callable[[], float] = monotonic
    watch: Callable[[Run], None] = field(default=lambda _: None)
    _written: float = float("-inf")
    _lock: Any = field(default_factory=Lock)

    def note(self, run: Run, *, since: float = float("-inf")) -> None:
        """Write down how far a run is: once a second, or now if not done *since* a moment."""
        with self._lock:
            if self._written < since or self.clock() - self._written >= EVERY_SECONDS:
                self._write({"kind": KIND, **run.to_json()})
                self._written = self.clock()
        self.watch(run)

    def resume(self, run: Run) -> bool:
        """Bring a new run to where the file's is, and tell whether there was one."""
        try:
            given = json.loads(self.path.read_text(encoding="utf-8"))
            if given["kind"] != KIND:
                raise self._stranger()
            unlike = run.scope.unlike(given["scope"])
        except FileNotFoundError:
            return False
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise self._stranger() from error
        if unlike:
            asked = ", ".join(f"{name} {given['scope'].get(name)!r}" for name in unlike)
            msg = (
                f"{self.path} is of a verification that has not finished, with {asked}: finish it "
                "with the same options, name another --state, or begin anew with --restart"
            )
            raise SettingsError(msg)
        try:
            run.restore(given)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise self._stranger() from error
        return True

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Keep the file to one command at a time."""
        # Beside the file, which is replaced each time; it goes with it.
        beside = self.path.with_name(f"{self.path.name}.lock")
        try:
            lock = open_private(beside)
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
            beside.unlink(missing_ok=True)

    def _stranger(self) -> SettingsError:
        msg = (
            f"{self.path} is not the state of a verification of this version: "
            "begin anew with --restart, or name another --state"
        )
        return SettingsError(msg)

    def remove(self) -> None:
        """Forget the run: it is finished, or is to begin anew."""
        with suppress(FileNotFoundError):
            self.path.unlink()

    def _write(self, state: dict[str, Any]) -> None:
        new = self.path.with_name(f"{self.path.name}.new")
        with suppress(FileNotFoundError):
            new.unlink()  # one that is left over may have another mode
        with open_private(new, exclusive=True) as file:
            file.write(json.dumps(state))  # far quicker than json.dump
        new.replace(self.path)
