"""Worker processes, one for each contender, so that none affects another."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from typing import TypeAlias

from bench.contenders import environment, is_ambient
from bench.streams import Load
from bench.stub_client import StubClient

Timing: TypeAlias = dict[str, float]


@dataclass(frozen=True, slots=True)
class WorkerProcess:
    """The process of one contender."""

    process: "subprocess.Popen[str]"

    def run(self, load: Load) -> Timing:
        """Let the contender handle a stream, and return the time."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{json.dumps(asdict(load))}\n")
        self.process.stdin.flush()
        timing: Timing = json.loads(self.process.stdout.readline() or "{}")
        if not timing:
            msg = "a contender failed; its output is above"
            raise SystemExit(msg)
        return timing


def worker_environment(stub: StubClient, **extra: str) -> dict[str, str]:
    """Return the environment of a Lambda function, without the developer's AWS settings."""
    inherited = {name: value for name, value in os.environ.items() if not is_ambient(name)}
    return {**inherited, "HOME": os.devnull, **environment(stub.url), **extra}


@contextmanager
def start_workers(
    stub: StubClient, contenders: Iterable[str], **extra: str
) -> Iterator[dict[str, WorkerProcess]]:
    """Start a worker per contender, with *extra* in its environment; end all of them on exit."""
    with ExitStack() as stack:
        workers = {}
        for contender in contenders:
            process = stack.enter_context(
                subprocess.Popen(  # noqa: S603 - our own module
                    [sys.executable, "-m", "bench.worker", contender],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    env=worker_environment(stub, **extra),
                    start_new_session=True,  # Ctrl-C must reach only us: we print the results
                    text=True,
                )
            )
            stack.callback(process.kill)
            workers[contender] = WorkerProcess(process)
        yield workers


def run_cold_start(stub: StubClient, contender: str, event: str) -> Timing:
    """Let a new process load one contender and handle one event."""
    timing: Timing = json.loads(run_module(stub, ["bench.cold_start", contender], event))
    return timing


def run_module(stub: StubClient, command: list[str], stdin: str = "") -> bytes:
    """Run a module in a new process, and return its standard output."""
    completed = subprocess.run(  # noqa: S603 - our own module
        [sys.executable, "-m", *command],
        input=stdin.encode(),
        stdout=subprocess.PIPE,
        env=worker_environment(stub),
        start_new_session=True,
        check=True,
    )
    return completed.stdout
