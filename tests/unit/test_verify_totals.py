"""The comparison of totals with rows, over many random histories without AWS."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from typer import BadParameter

from adminview.aws.rate_limit import RateLimiter
from adminview.aws.table_scanner import ScanPage
from adminview.bulk.verify import totals
from adminview.bulk.verify.scope import Scope
from adminview.bulk.verify.totals import TotalsVerifier
from adminview.bulk.verify.totals_rounds import GROUPS_OF_A_PART, TotalsRounds
from adminview.bulk.verify.totals_run import TotalsPass, TotalsRun
from adminview.cli.commands.verify import _check_lag, _check_totals
from adminview.model.errors import SettingsError
from adminview.totals.changes import Group
from adminview.totals.comparison import (
    StoredTotal,
    TotalDifference,
    amounts_of,
    describe_contributions,
    part_of,
)
from adminview.totals.position import encode_position

HISTORIES = 400
ROWS, GROUPS = 12, 5

Contribution = tuple[Group, int] | None


def group(number: int) -> Group:
    return "Sales.1#north", f"day-{number}"


def row(contribution: Contribution) -> dict[str, Any]:
    if contribution is None:
        return {}
    (partition, sort), amount = contribution
    return {"_totals": {"M": {partition: {"M": {sort: {"M": {"units": {"N": str(amount)}}}}}}}}


@dataclass
class World:
    """Rows, totals, and changes in flight; whatever is in flight arrives within a grace period."""

    random: Random
    rate: float  # of changes, per call
    rows: dict[int, Contribution] = field(default_factory=dict)
    before: dict[int, Contribution] = field(default_factory=dict)  # what a stale read returns
    flying: list[tuple[Contribution, Contribution]] = field(default_factory=list)
    totals: dict[Group, dict[str, Any]] = field(default_factory=dict)
    sequence: int = 0
    now: float = 0.0
    budget: RateLimiter = field(default_factory=RateLimiter)

    def write(self) -> None:
        number = self.random.randrange(ROWS)
        old = self.rows.get(number)
        new: Contribution = (group(self.random.randrange(GROUPS)), self.random.randint(1, 3))
        if self.random.random() < 0.3:
            new = None
        self.before.setdefault(number, old)
        self.rows[number] = new
        self.flying.append((old, new))

    def arrive(self) -> None:
        for contribution, sign in zip(self.flying.pop(0), (-1, 1), strict=True):
            if contribution:
                (partition, sort), amount = contribution
                stored = self.totals.setdefault(
                    (partition, sort), {"PK": {"S": partition}, "SK": {"S": sort}}
                )
                for name, delta in (("count", sign), ("units", sign * amount)):
                    known = int(stored.get(name, {"N": "0"})["N"])
                    stored[name] = {"N": str(known + delta)}
                self.sequence += 1
                stored["@shard"] = encode_position(self.sequence, 0)

    def step(self) -> None:
        if self.random.random() < self.rate:
            self.write()
        if self.flying and self.random.random() < 0.3:
            self.arrive()

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.step()

    def settle(self) -> None:
        while self.flying:
            self.arrive()
        self.before.clear()

    # As TableScanner has it.

    def page(self, table: str, segment: Any, start: Any, **_: Any) -> ScanPage:
        self.step()
        assert segment == (0, 1)
        place = int(start["place"]["N"]) if start else 0
        if table.endswith("Totals"):
            return ScanPage([dict(one) for one in self.totals.values()], len(self.totals), None)
        stale = self.random.random() < 0.3
        states = self.rows | self.before if stale else self.rows
        rows = [row(states[number]) for number in (place, place + 1) if states.get(number)]
        last = {"place": {"N": str(place + 2)}} if place + 2 < ROWS else None
        return ScanPage(rows, len(rows), last)

    def get(self, _: str, keys: Sequence[Any], **__: Any) -> Iterator[dict[str, Any]]:
        self.step()
        wanted = [(key["PK"]["S"], key["SK"]["S"]) for key in keys]
        return iter([dict(self.totals[one]) for one in wanted if one in self.totals])

    def count(self, *_: Any, **__: Any) -> int:
        return len(self.totals)


class Patient(World):
    """A world in which changes arrive within the grace period, as the algorithm assumes."""

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self.settle()


def verifier(world: World, **changes: Any) -> TotalsVerifier:
    client: Any = None
    reader: Any = world
    made = TotalsVerifier(client, "AdminViewTable", reader, clock=lambda: world.now)
    # One sleep per grace period.
    how: dict[str, Any] = {"sleep": world.sleep, "grace": 1.0} | changes
    return replace(made, **how)


def verified(world: World, **changes: Any) -> TotalsRun:
    checker = verifier(world, **changes)
    run = checker.begin(Scope(segments=1))
    checker.verify(run)
    assert run.finished
    counts = run.counts
    parts = ("equal", "in_flight", "changing", "abandoned", "differing")
    assert counts["totals"] == sum(counts[name] for name in parts)
    return run


def history(seed: int, kind: Callable[..., World] = Patient) -> World:
    random = Random(seed)  # noqa: S311
    world = kind(random, rate=random.choice([0.02, 0.1, 0.5]))
    for _ in range(30):
        world.write()
    world.settle()
    return world


def alarms(**changes: Any) -> int:
    """Count the histories that end in a false alarm."""
    return sum(bool(verified(history(seed), **changes).differences) for seed in range(HISTORIES))


def test_no_history_ends_in_a_false_alarm() -> None:
    runs = [verified(history(seed)) for seed in range(HISTORIES)]
    assert [run.differences for run in runs if run.differences] == []
    # And it is no empty promise: most totals are decided.
    decided = sum(run.counts["equal"] + run.counts["in_flight"] for run in runs)
    assert decided > 0.6 * sum(run.counts["totals"] for run in runs)
    assert any(run.counts["changing"] for run in runs)


def test_without_waiting_changes_in_flight_would_be_called_drift() -> None:
    assert alarms(grace=0.0) > 0


def test_without_positions_a_total_that_changed_and_changed_back_would_be_called_drift(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(StoredTotal, "of", lambda item: StoredTotal(amounts_of(item), ""))
    assert alarms() > 0


@pytest.mark.parametrize("plant", ["changed", "deleted", "extra", "lost"])
def test_planted_drift_is_found_unless_the_total_keeps_changing(plant: str) -> None:
    found = missed = 0
    for seed in range(60):
        world = history(seed)
        target = group(1)
        world.totals.setdefault(target, {"PK": {"S": target[0]}, "SK": {"S": target[1]}})
        world.rows[0] = (target, 7)  # a change whose record is lost
        if plant == "changed":
            world.totals[target]["units"] = {"N": "777"}
        elif plant == "deleted":
            del world.totals[target]
        elif plant == "extra":
            target = "Sales.1#north", "never"
            world.totals[target] = {
                "PK": {"S": target[0]},
                "SK": {"S": target[1]},
                "count": {"N": "1"},
            }
        run = verified(world)
        wrong = {difference.group for difference in run.differences}
        found += target in wrong
        missed += target not in wrong and not run.counts["changing"]
    assert found > 30
    # A change between two pages can hide the drift of its group by chance, for one run.
    assert missed <= (2 if plant == "lost" else 0)


def test_a_total_that_changes_all_the_time_stays_undecided() -> None:
    undecided = 0
    for seed in range(20):
        world = history(seed)
        world.rate = 1.0
        run = verified(world)
        undecided += run.counts["changing"]
        assert run.differences == []
    assert undecided > 5


def test_many_groups_are_compared_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(totals, "GROUPS_AT_ONCE", 2)
    world = history(1)
    world.rate = 0.0
    world.totals[group(2)]["count"] = {"N": "99"}
    run = verified(world)
    assert run.parts == 3
    assert run.scanned == 3 * sum(one is not None for one in world.rows.values())
    assert [one.group for one in run.differences] == [group(2)]
    assert run.counts["totals"] >= GROUPS - 1


def test_a_run_that_is_stopped_is_not_finished() -> None:
    world = history(1)
    stops = iter([False] * 4 + [True] * 100)
    checker = verifier(world, stopped=lambda: next(stops))
    run = checker.begin(Scope(segments=1))
    checker.verify(run)
    assert not run.finished
    assert run.counts["totals"] == 0


def test_a_pass_can_be_stored_and_continued() -> None:
    stored = StoredTotal({"count": Decimal(2), "units": Decimal("0.30")}, "ab")
    going = TotalsPass(lambda _: True, {group(1): stored}, {3: {"PK": {"S": "x"}}, 4: None})
    going.add([row((group(2), 5))])
    again = TotalsPass.from_json(1, 0, going.to_json())
    assert (again.before, again.sums, again.open) == (going.before, going.sums, going.open)
    assert again.candidates == going.candidates == [group(1), group(2)]


def test_a_difference_names_its_group_as_the_view_did() -> None:
    partition = "Sales.12#a%23b#c"
    difference = TotalDifference.between((partition, "2025"), {}, {"count": Decimal("1E+1")})
    assert difference.to_json() == {
        "total": "Sales",
        "epoch": "12",
        "group": ["a#b", "c", "2025"],
        "expected": {},
        "stored": {"count": "10"},
    }
    assert TotalDifference.between(("Users.1", "TOTAL"), {}, {}).values == ()


def test_each_group_is_in_one_part() -> None:
    for number in range(50):
        assert part_of(group(number), 7) in range(7)
        assert part_of(group(number), 1) == 0


@dataclass
class Memory:
    """Keeps a stored round, as JSON does."""

    state: str = "{}"
    largest: int = 10**9

    def load(self) -> Any:
        return json.loads(self.state)

    def save(self, state: Any) -> bool:
        text = json.dumps(state)
        if len(text) > self.largest:
            return False
        self.state = text
        return True


def rounds(world: World, store: Memory, pages: int, **changes: Any) -> TotalsRun:
    """Do one scheduled run that is stopped after some pages."""
    kept: Any = store
    spent = iter(range(10_000))

    def stopped() -> bool:
        return next(spent) > pages

    checker = verifier(world, stopped=stopped, **changes)
    return TotalsRounds(checker, kept).verify(Scope(segments=1))


def test_a_round_goes_on_where_the_last_run_stopped() -> None:
    world, store = history(2), Memory()
    world.rate = 0.0
    world.totals[group(1)]["count"] = {"N": "99"}
    runs = [rounds(world, store, pages=6) for _ in range(4)]
    finished = [run.finished for run in runs]
    assert finished.index(True) > 0
    ended = runs[finished.index(True)]
    assert [one.group for one in ended.differences] == [group(1)]
    assert ended.scanned == sum(one is not None for one in world.rows.values())
    assert store.load()["part"] >= 1  # the next round is about the next part


def test_a_total_that_changed_between_two_runs_is_no_drift() -> None:
    for seed in range(40):
        world, store = history(seed), Memory()
        run = rounds(world, store, pages=6)
        for _ in range(20):
            assert run.differences == []
            world.write()
            world.settle()
            run = rounds(world, store, pages=6)


def test_a_round_that_is_too_large_to_store_begins_again_with_fewer_groups() -> None:
    world, store = history(2), Memory(largest=100)
    world.rate = 0.0
    assert not rounds(world, store, pages=6).finished
    assert store.load() == {"part": 0, "groups": GROUPS_OF_A_PART // 2}


def test_a_run_ends_when_its_read_units_are_spent() -> None:
    world = history(2)
    kept: Any = Memory()
    scope = Scope(segments=1)
    world.budget.spend(50)
    assert not TotalsRounds(verifier(world), kept, units=0.0).verify(scope).finished
    assert TotalsRounds(verifier(world), kept, units=1.0).verify(scope).finished


def test_the_contributions_of_a_row_are_readable() -> None:
    amounts = {"revenue": {"N": "5.980"}, "rank": {"N": "5.980"}}
    stored = {
        "Sales.2#north#a%23b": {"M": {"2025": {"M": amounts}}},
        "Users.1": {"M": {"TOTAL": 1}},
    }
    assert describe_contributions({"_totals": {"M": stored}}) == [
        "Sales (epoch 2) north | a#b | 2025: count 1, revenue 5.98",
        "malformed, and in no total",
    ]
    assert describe_contributions({}) == []


@pytest.mark.parametrize("lag", [None, 0.0, 15.0])
def test_totals_that_have_caught_up_are_verified(lag: float | None) -> None:
    _check_lag(lag, 15.0)


def test_totals_that_are_behind_are_not_verified() -> None:
    with pytest.raises(SettingsError, match="61 seconds behind the rows, more than the grace"):
        _check_lag(61.4, 15.0)


def test_totals_of_one_source_cannot_be_verified() -> None:
    with pytest.raises(BadParameter, match="leave --source out"):
        _check_totals("Orders", deployed=False)
    with pytest.raises(BadParameter, match="leave --deployed out"):
        _check_totals(None, deployed=True)
