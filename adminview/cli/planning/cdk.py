"""Deploy with the CDK command, one wave at a time."""

import os
import shutil
import subprocess
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from adminview.aws.settings import stack_name
from adminview.cli.deployment.read import Tables
from adminview.cli.planning.apply import PlanError
from adminview.cli.planning.phases import Phase

LOG: Final = Path("cdk.out", "apply.log")
TAIL: Final = 30  # lines of the log, for whoever has to find out why
LOOK_SECONDS: Final = 5.0  # between two looks at an index


def find_cdk(folder: Path) -> str:
    """Find the CDK command: the project's own, or one on the PATH."""
    own = folder / "node_modules" / ".bin" / "cdk"
    found = str(own) if own.exists() else shutil.which("cdk")
    if found is None:
        msg = f"there is no `cdk` command: run `npm ci` in {folder}, or put it on the PATH"
        raise PlanError(msg)
    return found


@dataclass(frozen=True, slots=True)
class CdkDeployer:
    """The CDK command, for one deployment."""

    stage: str
    prefix: str
    tables: Tables
    folder: Path = Path()  # the app's, in which commands run
    command: Sequence[str] = ()
    sleep: Callable[[float], object] = time.sleep
    show: Callable[[str], None] = field(default=lambda _: None)  # each line that it prints

    def deploy(self, stacks: Sequence[str], phase: Phase) -> None:
        """Deploy some stacks, and nothing else; raise a PlanError if that fails."""
        names = [stack_name(self.prefix, self.stage, part) for part in stacks]
        with phase.file() as file:
            # What is not named is left as it is: an empty prefix is none, not that of cdk.json.
            context = {"stage": self.stage, "prefix": self.prefix, "rolloutPhase": str(file)}
            arguments = [f"adminview:{name}={value}" for name, value in context.items()]
            self._run(
                [
                    *(self.command or [find_cdk(self.folder)]),
                    "deploy",
                    *names,
                    "--exclusively",
                    *("--require-approval", "never", "--ci"),
                    *(word for one in arguments for word in ("-c", one)),
                ],
                names,
            )

    def await_index(self, name: str, *, gone: bool, stopped: Callable[[], bool]) -> None:
        """Wait until an index of the view is active, or is gone, or somebody wants to stop."""
        while not stopped():
            found = next((one for one in self.tables.indexes() or () if one.name == name), None)
            if (found is None) if gone else (found is not None and found.ready):
                return
            if found is None:
                msg = f"index {name} is not there: somebody has deployed something else"
                raise PlanError(msg)
            self.sleep(LOOK_SECONDS)

    def _run(self, command: list[str], names: list[str]) -> None:
        """Run a command, and keep what it says; it ends its work even if somebody wants to stop."""
        log = self.folder / LOG
        log.parent.mkdir(exist_ok=True)
        with log.open("a", encoding="utf-8") as file:
            file.write(f"$ {' '.join(command)}\n")
            last = self._follow(command, file)
        if last is not None:
            what, said = f"`cdk deploy {' '.join(names)}` failed", "\n".join(last)
            msg = f"{what}; all that it said is in {log}. It ended with\n{said}"
            raise PlanError(msg)

    def _follow(self, command: list[str], file: IO[str]) -> deque[str] | None:
        """Write a command's output down; give its last lines if it fails."""
        last: deque[str] = deque(maxlen=TAIL)
        with subprocess.Popen(  # noqa: S603 - no shell, and names that were checked
            command,
            cwd=self.folder,
            env=os.environ | {"JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,  # Ctrl-C is for us: a deployment is not to be cut in two
        ) as process:
            try:
                assert process.stdout
                for line in process.stdout:
                    file.write(line)
                    last.append(line.rstrip("\n"))
                    self.show(last[-1])
            except BaseException:
                process.terminate()
                raise
        return last if process.returncode else None
