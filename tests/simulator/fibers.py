"""Fibers: everything that runs concurrently in a history, on one simulated clock."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from math import inf
from typing import Any, TypeVar

from greenlet import getcurrent, greenlet  # type: ignore[import-untyped]

from tests.simulator.choices import Choices

Job = TypeVar("Job")
Result = TypeVar("Result")
When = float | Callable[[], float]

START = 1_790_000_000.0  # seconds since 1970
STEPS = 6000  # far more than a history that ends takes
MAX_CONCURRENCY, NEVER = -inf, inf


class Killed(BaseException):
    """The process was killed: no code of it runs any more."""


class StuckError(BaseException):
    """A history does not end. Only the runner of histories may catch it."""


class Fiber:
    """One thread of work; all fibers of an invocation die together."""

    def __init__(self, name: str, run: Callable[[], Any], root: "Fiber | None") -> None:
        self.name = name
        self.root = root or self
        self.when: When = MAX_CONCURRENCY  # when it can continue
        self.end = NEVER  # of the invocation, set by its timeout
        self.dead = False  # the invocation was killed
        self.invocations = 0
        self.killed: set[int] = set()  # the invocations of it that were killed
        self.holder = ""  # the holder of its lease, if it has one
        self.over = False
        self.result: Any = None
        self.error: BaseException | None = None
        self.run = run
        self.greenlet: Any = None

    def due(self) -> float:
        """Return when it can continue."""
        return self.when() if callable(self.when) else self.when


class Fibers:
    """The scheduler: at each pause it may switch to another fiber."""

    def __init__(self, choices: Choices) -> None:
        self.now = START
        self.switch_percent = 0
        self.skip_percent = 0  # how often time advances although a fiber could continue
        self.steps = 0
        self.timeouts = 0
        self._choices = choices
        self._main = getcurrent()
        self._fibers: list[Fiber] = []
        self._current: Fiber | None = None

    @property
    def current(self) -> Fiber:
        """The fiber that runs now."""
        assert self._current
        return self._current

    def clock(self) -> float:
        """Return the simulated time."""
        return self.now

    def spawn(self, name: str, run: Callable[[], Any], root: Fiber | None = None) -> Fiber:
        """Create a fiber; it starts later."""
        fiber = Fiber(name, run, root)
        fiber.greenlet = greenlet(partial(self._live, fiber), parent=self._main)
        self._fibers.append(fiber)
        return fiber

    def run(self) -> None:
        """Run until all fibers have ended."""
        try:
            while self._fibers:
                self._current = self._next()
                self._current.greenlet.switch()
        finally:
            for fiber in [*self._fibers]:
                self._discard(fiber)

    def pause(self) -> None:
        """Let the scheduler choose the next fiber."""
        me = self.current
        if me.root.dead:
            raise Killed  # a killed process runs no cleanup
        chosen = self._next()
        if chosen is not me:
            self._current = chosen
            chosen.greenlet.switch()
        if self.now > me.root.end:
            self.timeouts += not me.root.dead
            self.kill()

    def kill(self) -> None:
        """Kill the invocation that runs now."""
        root = self.current.root
        root.dead = True
        root.killed.add(root.invocations)
        raise Killed

    def wait(self, when: When) -> None:
        """Wait until a time; *when* is the time, or a function that returns it."""
        me = self.current
        me.when = when
        try:
            self.pause()
        finally:
            me.when = MAX_CONCURRENCY

    def sleep(self, seconds: float) -> None:
        """Advance the clock."""
        self.wait(self.now + seconds)

    @contextmanager
    def invocation(self, end: float, holder: str = "") -> Iterator[None]:
        """Run an invocation that can be killed, and is killed at *end*."""
        me = self.current
        me.end, me.dead, me.holder = end, False, holder
        me.invocations += 1
        try:
            yield
        finally:
            me.end, me.dead, me.holder = NEVER, False, ""

    def map_concurrently(
        self, work: Callable[[Job], Result], jobs: Sequence[Job], _: object = None
    ) -> list[Result]:
        """Run all *jobs* concurrently, as `adminview.aws.concurrency` does, in fibers."""
        if len(jobs) <= 1:
            return [work(job) for job in jobs]
        me = self.current
        parts = [self.spawn(me.name, partial(work, job), me.root) for job in jobs]
        try:
            self.wait(
                lambda: MAX_CONCURRENCY if me.root.dead or all(p.over for p in parts) else NEVER
            )
        finally:
            for part in parts:
                self._discard(part)
        if me.root.dead:
            raise Killed
        for part in parts:
            if part.error:
                raise part.error
        return [part.result for part in parts]

    def _live(self, fiber: Fiber) -> None:
        try:
            fiber.result = fiber.run()
        except (Killed, Exception) as error:
            fiber.error = error
            if fiber.root is fiber and not isinstance(error, Killed):
                raise
        finally:
            fiber.over = True
            self._fibers = [other for other in self._fibers if other is not fiber]

    def _discard(self, fiber: Fiber) -> None:
        """Unwind a fiber that will never continue."""
        if fiber.over:
            return
        fiber.over = fiber.root.dead = True
        self._fibers = [other for other in self._fibers if other is not fiber]
        current, self._current = self._current, fiber
        fiber.greenlet.parent = getcurrent()
        fiber.greenlet.throw()
        self._current = current

    def _next(self) -> Fiber:
        """Choose the next fiber; by default the current one."""
        self.steps += 1
        if self.steps > STEPS:
            msg = f"no end after {STEPS} steps"
            raise StuckError(msg)
        times = [(fiber.due(), fiber) for fiber in self._fibers]
        ready = [fiber for due, fiber in times if due <= self.now]
        if not ready or self._choices.happens(self.skip_percent):
            ready = self._pass_time(times) or ready
        if self._current in ready and not self._choices.happens(self.switch_percent):
            return self.current
        return self._choices.pick(ready)

    def _pass_time(self, times: list[tuple[float, Fiber]]) -> list[Fiber]:
        """Advance the clock until a waiting fiber can continue, and return all that can."""
        later = sorted(due for due, _ in times if self.now < due < NEVER)
        if later:
            # Sometimes too far, past other due times: these fibers are late then.
            self.now = later[self._choices.below(len(later))] if self._far() else later[0]
        elif all(due == NEVER for due, _ in times):
            msg = f"no fiber can continue: {', '.join(fiber.name for _, fiber in times)}"
            raise StuckError(msg)
        return [fiber for due, fiber in times if due == self.now]

    def _far(self) -> bool:
        return self._choices.happens(self.skip_percent)
