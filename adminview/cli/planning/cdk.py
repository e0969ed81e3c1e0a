"""Deploy stacks with the CDK command."""

import shutil
import subprocess
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final, Protocol

from adminview.aws.settings import stack_name
from adminview.bulk.build import Probes
from adminview.cli.deployment.read import Tables
from adminview.cli.planning.apply import PlanError
from adminview.cli.planning.steps import Phase, WarmUp

LOG: Final = Path("cdk.out", "apply.log")
TAIL: Final = 30  # lines of the log that an error quotes
POLL_SECONDS: Final = 5.0  # between two reads of an index's status, or of the totals
SILENT_SECONDS: Final = 1800.0  # without progress of the totals, until the command gives up


class CountedProbes(Probes, Protocol):
    counted: int  # so far


def find_cdk(folder: Path) -> str:
    """Return the project's own CDK command or the one on the PATH; raise PlanError if neither."""
    own = folder / "node_modules" / ".bin" / "cdk"
    command = str(own) if own.exists() else shutil.which("cdk")
    if command is None:
        msg = f"there is no `cdk` command: run `npm ci` in {folder}, or put it on the PATH"
        raise PlanError(msg)
    return command


@dataclass(frozen=True, slots=True)
class CdkDeployer:
    """Deploys the stacks of one deployment, as `Deployer` states."""

    stage: str
    prefix: str
    tables: Tables
    folder: Path = Path()  # of the app
    command: Sequence[str] = ()
    sleep: Callable[[float], object] = time.sleep
    show: Callable[[str], None] = field(default=lambda _: None)  # called with each line of output
    probes: Callable[[], CountedProbes] | None = None  # None if there are no totals

    def deploy(self, stacks: Sequence[str], phase: Phase) -> None:
        names = [stack_name(self.prefix, self.stage, part) for part in stacks]
        with phase.file() as file:
            # An empty prefix must be passed too: it overrides the one in cdk.json.
            context = {"stage": self.stage, "prefix": self.prefix, "rolloutPhase": str(file)}
            arguments = [f"adminview:{name}={value}" for name, value in context.items()]
            self._run(
                [
                    *(self.command or [find_cdk(self.folder)]),
                    "deploy",
                    *names,
                    "--exclusively",
                    *("--require-approval", "never", "--ci"),
                    *(word for argument in arguments for word in ("-c", argument)),
                ],
                names,
            )

    def await_index(self, name: str, *, gone: bool, stopped: Callable[[], bool]) -> None:
        while not stopped():
            indexes = self.tables.indexes() or ()
            index = next((index for index in indexes if index.name == name), None)
            if (index is None) if gone else (index is not None and index.ready):
                return
            if index is None:
                msg = f"index {name} does not exist: another deployment has removed it"
                raise PlanError(msg)
            self.sleep(POLL_SECONDS)

    def warm_up(self, step: WarmUp, *, stopped: Callable[[], bool]) -> None:
        self.tables.warm_up(step.units, step.indexes, table=step.table)
        while not stopped():
            table = self.tables.describe()
            indexes = table.indexes if table else ()
            parts = [index.warm_writes for index in indexes if index.name in step.indexes]
            if table and min([table.warm_writes, *parts] if step.table else parts) >= step.units:
                return
            self.sleep(POLL_SECONDS)

    def await_totals(self, *, stopped: Callable[[], bool]) -> None:
        assert self.probes
        probes = self.probes()
        counted, silent = 0, 0.0
        while not stopped() and not probes.have_arrived():
            silent = 0.0 if probes.counted > counted else silent
            counted = probes.counted
            if silent >= SILENT_SECONDS:
                msg = (
                    f"the totals are behind, and nothing was counted for {silent / 60:.0f} "
                    "minutes: see docs/runbook.md#totals-lag and #totals-silence, then run "
                    "`adminview apply` again"
                )
                raise PlanError(msg)
            self.sleep(POLL_SECONDS)
            silent += POLL_SECONDS

    def _run(self, command: list[str], names: list[str]) -> None:
        """Run a command to its end, even during a shutdown, and append its output to the log."""
        log = self.folder / LOG
        log.parent.mkdir(exist_ok=True)
        with log.open("a", encoding="utf-8") as file:
            file.write(f"$ {' '.join(command)}\n")
            last = self._follow(command, file)
        if last is not None:
            output = "\n".join(last)
            msg = (
                f"`cdk deploy {' '.join(names)}` failed; the whole output is in {log}. "
                f"It ended with\n{output}"
            )
            raise PlanError(msg)

    def _follow(self, command: list[str], file: IO[str]) -> deque[str] | None:
        """Copy a command's output to *file*; return its last lines if it fails, else None."""
        last: deque[str] = deque(maxlen=TAIL)
        with subprocess.Popen(  # noqa: S603 - no shell, and validated names
            command,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,  # Ctrl-C must not interrupt a deployment
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
