"""Totals and rows on in-memory tables, with changes in flight, and verifications of them."""

from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from adminview.aws.metered_client import Metered
from adminview.aws.settings import Settings
from adminview.bulk.runs import Bulk
from adminview.bulk.segment import Segment
from adminview.bulk.verification import Verification, VerifyReport
from adminview.bulk.verify.phases import VERIFY_TOTALS
from adminview.bulk.verify.scope import Scope
from adminview.model import Registry
from adminview.model.total import totals_table
from adminview.totals.changes import Group
from adminview.totals.position import encode_position
from tests.support import totals_views
from tests.support.bulk_tables import Image, Tables, World, never
from tests.support.fakes import TABLE

TOTALS = totals_table(TABLE)
ROWS, GROUPS = 12, 5
GRACE = 1.0

Contribution = tuple[Group, int] | None


def group(number: int) -> Group:
    return "DailySales.1#north", f"day-{number}"


def row(number: int, contribution: Contribution) -> Image:
    image: Image = {"PK": {"S": f"ROW#{number}"}, "SK": {"S": "1"}}
    if contribution:
        (partition, sort), amount = contribution
        amounts = {"M": {"revenue": {"N": str(amount)}}}
        image["_totals"] = {"M": {partition: {"M": {sort: amounts}}}}
    return image


@dataclass
class StaleTables(Tables):
    """Tables whose scans of the view may return what it was before the changes in flight."""

    stale: Callable[[], dict[tuple[str, ...], Image]] = dict

    def scan(self, TableName: str, Segment: int, TotalSegments: int, **more: Any) -> Any:  # noqa: N803
        with self.lock:
            rows, stale = self.tables[TableName], self.stale() if TableName == TABLE else {}
            now = {key: rows.get(key) for key in stale}
            rows.update(stale)
            try:
                return super().scan(TableName, Segment, TotalSegments, **more)
            finally:
                for key, row in now.items():
                    if rows.get(key) is stale[key]:  # else a change was written meanwhile
                        rows.pop(key)
                        rows.update({key: row} if row else {})


@dataclass
class TotalsLab(World):
    """Rows, totals, and changes in flight; whatever is in flight arrives within a grace period."""

    model: Registry = field(default_factory=lambda: Registry.of([totals_views]))
    random: Random = field(default_factory=lambda: Random(1))  # noqa: S311
    rate: float = 0.0  # of changes, per call
    arrival: float = 0.3  # of changes in flight, per call
    patient: bool = True  # whether changes arrive while a verification waits
    before: dict[int, Contribution] = field(default_factory=dict)  # what a stale read returns
    rows: dict[int, Contribution] = field(default_factory=dict)
    flying: list[tuple[Contribution, Contribution]] = field(default_factory=list)
    sequence: int = 0

    def __post_init__(self) -> None:
        self.db = StaleTables(page_size=2, stale=self._stale)
        self.db.on(before=lambda _, table: self.step() if table in {TABLE, TOTALS} else None)

    @property
    def totals(self) -> dict[tuple[str, ...], Image]:
        return self.db.tables[TOTALS]

    def make_bulk(self) -> Bulk:
        settings = Settings(TABLE, "queue", {"Orders": "Orders"}, self.fingerprint)
        client: Any = self.db
        # Not World's: it maps its own sources.
        return Bulk(
            registry=self.model,
            settings=settings,
            client=Metered(client, self.reads, self.writes),
            progress=self.progress,
            post=super().make_bulk().post,
            backoff=super().make_bulk().backoff,
            now=lambda: self.now,
            clock=lambda: self.now,
        )

    def write_row(self, number: int, new: Contribution) -> None:
        old = self.rows.get(number)
        self.before.setdefault(number, old)
        self.rows[number] = new
        self.view[f"ROW#{number}", "1"] = row(number, new)
        self.flying.append((old, new))

    def write_any(self) -> None:
        number = self.random.randrange(ROWS)
        new: Contribution = (group(self.random.randrange(GROUPS)), self.random.randint(1, 3))
        self.write_row(number, None if self.random.random() < 0.3 else new)

    def arrive(self) -> None:
        for contribution, sign in zip(self.flying.pop(0), (-1, 1), strict=True):
            if contribution:
                (partition, sort), amount = contribution
                known = self.totals.get((partition, sort), {})
                stored = {"PK": {"S": partition}, "SK": {"S": sort}, **deepcopy(known)}
                for name, delta in (("count", sign), ("revenue", sign * amount)):
                    stored[name] = {"N": str(int(stored.get(name, {"N": "0"})["N"]) + delta)}
                self.sequence += 1
                stored["@shard"] = encode_position(self.sequence, 0)
                self.totals[partition, sort] = stored

    def step(self) -> None:
        if self.random.random() < self.rate:
            self.write_any()
        if self.flying and self.random.random() < self.arrival:
            self.arrive()

    def settle(self) -> None:
        while self.flying:
            self.arrive()
        self.before.clear()

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self.step()
        if self.patient:
            self.settle()

    def _stale(self) -> dict[tuple[str, ...], Image]:
        if self.random.random() >= 0.3:
            return {}
        return {(f"ROW#{number}", "1"): row(number, old) for number, old in self.before.items()}

    def verify(
        self,
        *,
        restart: bool = False,
        work: Callable[[str, Segment], object] | None = None,
        **options: Any,
    ) -> VerifyReport:
        """Run or resume a verification, segment by segment, and report it."""
        scope = Scope(**{"segments": 1, "grace": GRACE, **options})
        bulk = self.make_bulk()
        verification = Verification(bulk, kind=VERIFY_TOTALS)
        for run in verification.left(scope, deadline=never(), restart=restart):
            own = verification.scope_of(run, scope, deadline=never())
            for segment in bulk.begin(run, None, deadline=never(), scope=own, restart=restart):
                (work or self.work_on)(run, segment)
            bulk.finish(run, deadline=never())
        report = verification.report(deadline=never())
        counts = report.counts.setdefault("totals", Counter())
        parts = ("equal", "in_flight", "changing", "abandoned", "differing")
        assert counts["totals"] == sum(counts[name] for name in parts) + report.waiting
        return report

    def work_on(self, run: str, segment: Segment) -> None:
        worker = replace(self.make_bulk().worker(run), sleep=self.sleep)
        assert worker.work(segment, end=never()).done

    @property
    def chunks(self) -> list[tuple[str, ...]]:
        """The keys of chunks in the progress table."""
        return [
            key
            for key, item in self.db.tables["AdminViewTableProgress"].items()
            if "content" in item
        ]


def history(seed: int, **options: Any) -> TotalsLab:
    random = Random(seed)  # noqa: S311
    lab = TotalsLab(random=random, rate=0.0, **options)
    for _ in range(30):
        lab.write_any()
    lab.settle()
    lab.rate = random.choice([0.02, 0.1, 0.5])
    return lab


def groups_of(report: VerifyReport) -> set[tuple[str, ...]]:
    """Return the groups that differ, without their total."""
    return {tuple(finding["group"]) for finding in report.findings}


def plant(lab: TotalsLab, kind: str) -> str:
    """Plant drift, and return the day of its group."""
    target = group(1)
    empty = {"PK": {"S": target[0]}, "SK": {"S": target[1]}, "count": {"N": "0"}}
    stored = lab.totals.setdefault(target, empty)
    if kind == "changed":
        lab.totals[target] = {**stored, "revenue": {"N": "777"}}
    elif kind == "deleted":
        lab.write_row(0, (target, 7))
        lab.settle()
        del lab.totals[target]
    elif kind == "lost":
        lab.write_row(0, (target, 70))  # its record never arrives
        lab.flying.pop()
    else:
        lab.totals[target[0], "never"] = {**empty, "SK": {"S": "never"}, "count": {"N": "1"}}
        return "never"
    return target[1]


def quiet(seed: int = 1) -> TotalsLab:
    """Return a history that ends before the verification, with one wrong total."""
    lab = history(seed)
    lab.rate = 0.0
    plant(lab, "changed")
    return lab
