"""Worker processes, one for each implementation, so that none affects another."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from typing import TypeAlias

from bench.endpoint import Endpoint
from bench.streams import Load
from bench.ways import environment, is_ambient

Took: TypeAlias = dict[str, float]


@dataclass(frozen=True, slots=True)
class Worker:
    """The process of one implementation."""

    process: "subprocess.Popen[str]"

    def run(self, load: Load) -> Took:
        """Let it handle a stream, and return the time that took."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{json.dumps(asdict(load))}\n")
        self.process.stdin.flush()
        took: Took = json.loads(self.process.stdout.readline() or "{}")
        if not took:
            msg = "an implementation failed; its output is above"
            raise SystemExit(msg)
        return took


def environment_of(there: Endpoint, **more: str) -> dict[str, str]:
    """Let a way find what it would find in Lambda: no settings of whoever runs this."""
    own = {name: value for name, value in os.environ.items() if not is_ambient(name)}
    return {**own, "HOME": os.devnull, **environment(there.url), **more}


@contextmanager
def crew(there: Endpoint, ways: Iterable[str], **more: str) -> Iterator[dict[str, Worker]]:
    """Start the workers, with *more* in their environment, and end them."""
    with ExitStack() as stack:
        workers = {}
        for way in ways:
            process = stack.enter_context(
                subprocess.Popen(  # noqa: S603 - our own module
                    [sys.executable, "-m", "bench.worker", way],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    env=environment_of(there, **more),
                    start_new_session=True,  # whoever stops us wants to see what was measured
                    text=True,
                )
            )
            stack.callback(process.kill)
            workers[way] = Worker(process)
        yield workers


def run_fresh(there: Endpoint, way: str, event: str) -> Took:
    """Let a new process load one way and handle one event."""
    took: Took = json.loads(run_module(there, ["bench.fresh", way], event))
    return took


def run_module(there: Endpoint, command: list[str], given: str = "") -> bytes:
    """Let a new process run a module, and give what it prints."""
    answer = subprocess.run(  # noqa: S603 - our own module
        [sys.executable, "-m", *command],
        input=given.encode(),
        stdout=subprocess.PIPE,
        env=environment_of(there),
        start_new_session=True,
        check=True,
    )
    return answer.stdout
