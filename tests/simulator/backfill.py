"""A writer like a backfill: page by page, its keys noted first, re-read after it is written."""

from collections.abc import Sequence
from functools import partial

from lambdas.aws.deadline import Deadline
from lambdas.model.errors import MovingItemError, RecordError, RefusedRowError, ServiceError
from lambdas.model.item import Image
from lambdas.model.row import ROW_LIMIT, RowKey, provenance
from lambdas.pipeline.derive import derive
from lambdas.pipeline.fold import Fold
from lambdas.pipeline.letter import letters
from lambdas.repair.compare import same
from tests.simulator.faults import Fault
from tests.simulator.fibers import Killed
from tests.simulator.laws import SurpriseError, check_the_quiet
from tests.simulator.model import NAMES, Name
from tests.simulator.tables import LAG_SECONDS
from tests.simulator.world import MODEL, ROUTES, World

PAGE = 2
SECONDS = 200

Page = Sequence[tuple[Name, Image]]
Problems = list[tuple[Name, RecordError, Sequence[RowKey]]]


class Backfill:
    """What must outlive a crash: where it is, and the page it has in hand."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._position = 0
        self._finished = False
        self.noted: list[Name] = []
        self._promised = [name.owner for name in world.names if world.state_of(name)]
        world.busy.update(self._promised)

    def run(self) -> None:
        """Work until every page is done, and begin again where a crash ended it."""
        world = self._world
        world.fibers.sleep(world.choices.pick((0.0, 1.0, 50.0)))
        while not self._finished:
            until = Deadline(world.fibers.now + SECONDS, world.fibers.clock)
            try:
                with world.fibers.invocation(until.at + 10):
                    self._work(until)
            except (Killed, ServiceError, MovingItemError) as error:
                world.calls.tell(f"the backfill ends: {type(error).__name__}")
                world.faults.came[Fault.RESUMED] += 1
                world.fibers.sleep(LAG_SECONDS + 5)  # the owner index has caught up
            except Exception as error:
                raise SurpriseError from error
        world.busy.subtract(self._promised)
        check_the_quiet(world)

    def note(self, names: list[Name]) -> None:
        """Keep durably which items the page in hand is about."""
        self._world.busy.subtract(name.owner for name in self.noted)
        self.noted = names
        self._world.busy.update(name.owner for name in names)

    def _note(self, names: list[Name], _: Fault | None) -> None:
        self.note(names)

    def _work(self, until: Deadline) -> None:
        if self.noted:
            self._reconcile(self.noted, {}, until)
            self._move_on(self.noted)
        while page := self._scan():
            names = [name for name, _ in page]
            self._world.calls.step(f"note {_owners(names)}", partial(self._note, names))
            self._write(page, until)
            self._move_on(names)
        self._finished = True

    def _scan(self) -> Page:
        """Read the next items that are there."""

        def effect(_: Fault | None) -> Page:
            self._world.dynamodb.reads += 1
            sources = self._world.sources
            places = range(self._position, len(NAMES))
            there = [NAMES[place] for place in places]
            images = [(name, sources[name.source.name].items.get(name.id)) for name in there]
            return [(name, image) for name, image in images if image][:PAGE]

        page = self._world.calls.step("Scan", effect)
        self._world.calls.tell(f"the page has {_owners([name for name, _ in page])}")
        return page

    def _move_on(self, names: list[Name]) -> None:
        """Put the checkpoint behind the page in hand."""

        def effect(_: Fault | None) -> None:
            self._position = NAMES.index(names[-1]) + 1
            self.note([])

        self._world.calls.step("move the checkpoint", effect)

    def _write(self, page: Page, until: Deadline) -> None:
        """Write a page as the live path would, then put right what changed meanwhile."""
        writes, problems = Fold(), Problems()
        for place, (name, image) in enumerate(page):
            stamp = provenance(name.owner, "backfill", self._world.fibers.now, MODEL)
            try:
                rows = derive(ROUTES[name.source.name].views, image, room=ROW_LIMIT).rows
                writes.add(place, name.owner, {key: {**row, **stamp} for key, row in rows.items()})
            except RecordError as error:
                problems.append((name, error, ()))
        outcome = self._world.runtime.view.write(writes, until=until)
        if outcome.unwritten:
            raise ServiceError("unwritten", "write a page")
        for write, code in outcome.refused:
            problems.append((page[write.first][0], RefusedRowError(code), [write.key]))
        moved = [name for name, image in page if not same(image, self._read(name, until))]
        touched = {owner: [w.key for w in writes if w.owner == owner] for owner in _ids(moved)}
        self._reconcile(moved, touched, until)
        self._send(problems, until)

    def _read(self, name: Name, until: Deadline) -> Image | None:
        return self._world.items.read(name.source.name, name.key, until=until)

    def _reconcile(
        self, names: list[Name], touched: dict[str, list[RowKey]], until: Deadline
    ) -> None:
        """Reconcile items one by one; those that cannot be are left to letters."""
        problems = Problems()
        for name in names:
            rows = touched.get(name.owner, [])
            try:
                self._world.reconciler.reconcile(self._world.target(name, rows), until=until)
            except RecordError as error:
                problems.append((name, error, rows))
        self._send(problems, until)

    def _send(self, problems: Problems, until: Deadline) -> None:
        for name, error, rows in problems:
            identity = {
                "source": name.source.name,
                "table": name.source.name,
                "key": name.key,
                "owner": name.owner,
                "sequence": None,
                "at": self._world.fibers.now,
            }
            unsent, _ = self._world.post.send([*letters(0, identity, error, rows)], until=until)
            if unsent:
                raise ServiceError("unsent", "send a letter")


def _ids(names: list[Name]) -> list[str]:
    return [name.owner for name in names]


def _owners(names: list[Name]) -> str:
    return " ".join(_ids(names)) or "nothing"
