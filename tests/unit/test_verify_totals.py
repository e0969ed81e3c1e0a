"""The comparison of totals with rows, over many random histories without AWS."""

from dataclasses import replace
from decimal import Decimal
from functools import partial
from itertools import count
from typing import Any

import pytest
from typer import BadParameter

from adminview.bulk.lease_table import LEASE_SECONDS, OVERTAKEN
from adminview.bulk.segment import Segment
from adminview.bulk.verification import Verification
from adminview.bulk.verify import compare_totals, group_chunks, totals
from adminview.bulk.verify.compare_totals import CompareTotals
from adminview.bulk.verify.group_chunks import SLOTS, Chunk
from adminview.bulk.verify.phases import VERIFY_TOTALS
from adminview.bulk.verify.scope import Scope
from adminview.cli.commands.verify import _check_lag, _check_source
from adminview.model import Total
from adminview.model.errors import BulkError, SegmentTakenError, SettingsError
from adminview.totals.comparison import (
    GroupName,
    StoredTotal,
    TotalDifference,
    amounts_of,
    describe_contributions,
    part_of,
)
from tests.support.bulk_tables import PROGRESS, Hook, KilledError, at_call, never
from tests.support.totals_lab import ROWS, TotalsLab, group, groups_of, history, plant, quiet

HISTORIES = 60
ONE = {"N": "1"}


def alarms(**options: Any) -> int:
    """Count the histories that end in a false alarm."""
    return sum(bool(history(seed, **options).verify().findings) for seed in range(HISTORIES))


def test_no_history_ends_in_a_false_alarm() -> None:
    reports = [history(seed).verify() for seed in range(HISTORIES)]
    assert [report.findings for report in reports if report.findings] == []
    # And it is no empty promise: most totals are decided.
    counts = [report.counts["totals"] for report in reports]
    decided = sum(counted["equal"] + counted["in_flight"] for counted in counts)
    assert decided > 0.6 * sum(counted["totals"] for counted in counts)
    assert any(counted["changing"] for counted in counts)


def test_without_waiting_changes_in_flight_would_be_called_drift() -> None:
    assert any(history(seed, patient=False).verify(grace=0.0).findings for seed in range(HISTORIES))


@pytest.mark.parametrize("phase", ["sums", "check"])
def test_each_of_the_two_waits_is_needed(phase: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if phase == "sums":
        init = totals.AddUpRows.__init__
        monkeypatch.setattr(
            totals.AddUpRows,
            "__init__",
            lambda self, access, _: init(self, access, 0.0),
        )
    else:
        plan = CompareTotals.plan

        def hasty(self: CompareTotals, *arguments: Any) -> Any:
            job: Any = plan(self, *arguments)
            for entry in job.result.later if hasattr(job, "result") else ():
                entry[0] = 0.0
            return job

        monkeypatch.setattr(CompareTotals, "plan", hasty)
    assert alarms() > 0


def test_without_positions_a_total_that_changed_and_changed_back_would_be_called_drift(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(StoredTotal, "of", lambda item: StoredTotal(amounts_of(item), ""))
    assert alarms() > 0


PLANTS = ["changed", "deleted", "lost", "extra"]


@pytest.mark.parametrize("kind", PLANTS)
def test_planted_drift_is_found_unless_the_total_keeps_changing(kind: str) -> None:
    detected = missed = 0
    for seed in range(40):
        lab = history(seed)
        lab.rate = 0.02
        day = plant(lab, kind)
        report = lab.verify()
        wrong = ("north", day) in groups_of(report)
        detected += wrong
        missed += not wrong and not report.counts["totals"]["changing"]
    assert detected > 20
    # A change between two pages can hide the drift of its group by chance, for one verification.
    assert missed <= (2 if kind == "lost" else 0)


def test_a_total_that_changes_during_the_verification_stays_undecided() -> None:
    undecided = 0
    for seed in range(10):
        lab = history(seed)
        lab.rate = 1.0
        report = lab.verify()
        undecided += report.counts["totals"]["changing"]
        assert report.findings == []
    assert undecided > 5


def die() -> None:
    raise KilledError


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("response", ["request", "response"])
def test_a_verification_that_is_killed_at_any_call_continues_with_the_same_result(
    monkeypatch: pytest.MonkeyPatch, response: str, *, small: bool
) -> None:
    """Also with many chunks, and if the rows change between the workers."""
    if small:
        monkeypatch.setattr(totals, "POSITION_BYTES", 100)
        monkeypatch.setattr(compare_totals, "ENTRIES_AT_ONCE", 3)
        monkeypatch.setattr(compare_totals, "MOST_DELETED", 3)
    expected = quiet().verify()
    killed = 0
    for call in count(0, 7):
        lab = quiet()
        hook: Any = {"before" if response == "request" else "after": at_call(call, die)}
        lab.db.on(**hook)
        try:
            report = lab.verify()
            break
        except KilledError:
            killed += 1
        lab.db.on()
        lab.later()
        report = lab.verify()
        assert report.counts == expected.counts
        assert report.findings == expected.findings
        assert lab.chunks == []
    assert killed > 20


def test_a_verification_that_is_killed_again_and_again_reports_planted_drift_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rows change all the while, and a worker may begin while a lease is left."""
    monkeypatch.setattr(totals, "POSITION_BYTES", 100)
    monkeypatch.setattr(compare_totals, "ENTRIES_AT_ONCE", 3)
    monkeypatch.setattr(compare_totals, "MOST_DELETED", 3)
    killed = 0
    for seed in range(30):
        lab = history(seed)
        random, lab.rate = lab.random, seed % 3 * 0.02
        planted = {("north", plant(lab, "changed"))} if seed % 2 else set()
        report = None
        while report is None:
            kill = at_call(random.randrange(3, 150), die)
            lab.db.on(before=partial(step_or_kill, lab, kill))
            try:
                report = lab.verify(segments=3)
            except (KilledError, SegmentTakenError):
                killed += 1
                lab.settle()
                lab.now += random.choice([5, LEASE_SECONDS + 1])
        assert groups_of(report) <= planted
        assert planted <= groups_of(report) or lab.rate, "a total that changes is undecided"
        assert lab.chunks == []
    assert killed > 60


def step_or_kill(lab: TotalsLab, kill: Hook, operation: str, table: str) -> None:
    if table != PROGRESS:
        lab.step()
    kill(operation, table)


def test_the_lab_loses_no_change() -> None:
    lab = history(1)
    lab.rate = 1.0
    lab.verify()
    lab.settle()
    sums = totals.sums_of([*lab.view.values()])
    stored = {key: amounts_of(total) for key, total in lab.totals.items()}
    assert {key: amounts for key, amounts in stored.items() if amounts} == sums


def test_a_worker_that_repeats_pages_replaces_the_chunks_of_the_one_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The rows have become fewer, so it writes fewer chunks."""
    monkeypatch.setattr(totals, "POSITION_BYTES", 100)
    deaths = repeated = 0
    for call in range(60, 240, 6):
        lab = TotalsLab()
        for number in range(ROWS):
            lab.write_row(number, (group(number), 5))
        lab.settle()
        lab.db.on(before=at_call(call, die))
        try:
            lab.verify()
        except KilledError:
            deaths += 1
        lab.db.on()
        repeated += any("sums" in key[0] for key in lab.chunks)
        for number in range(2, ROWS):
            del lab.view[f"ROW#{number}", "1"]  # the totals do not notice
        lab.later()
        resumed = lab.verify().findings
        assert resumed in ([], lab.verify(restart=True).findings)
    assert deaths > 10
    assert repeated > 5


def test_many_groups_are_compared_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare_totals, "ENTRIES_AT_ONCE", 4)
    lab = TotalsLab()
    for number in range(200):
        lab.write_row(number, (group(number), 1))
    lab.settle()
    lab.totals[group(77)]["count"] = {"N": "99"}
    most = 0
    load = compare_totals.SlotMemory.load

    def loaded(memory: Any) -> None:
        nonlocal most
        load(memory)
        most = max(most, len(memory.before) + len(memory.sums))

    monkeypatch.setattr(compare_totals.SlotMemory, "load", loaded)
    report = lab.verify()
    assert groups_of(report) == {("north", "day-77")}
    assert report.counts["totals"]["equal"] == 199
    assert most <= 4


def test_a_chunk_is_written_when_the_position_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(totals, "POSITION_BYTES", 2000)
    lab, sizes = TotalsLab(), []
    for number in range(200):
        lab.write_row(number, (group(number), 1))
    lab.settle()
    written: list[int] = []
    write = group_chunks.ChunkStore.write

    def recorded(store: Any, chunk: Chunk, *rest: Any) -> None:
        written.append(chunk.number)
        write(store, chunk, *rest)
        sizes.append(max(len(item["state"]["S"]) for item in states(lab)))

    monkeypatch.setattr(group_chunks.ChunkStore, "write", recorded)
    assert lab.verify().findings == []
    assert max(written) > 3
    assert max(sizes) < 2 * 2000


def states(lab: TotalsLab) -> list[Any]:
    progress = lab.db.tables["AdminViewTableProgress"].values()
    return [item for item in progress if "state" in item] or [{"state": {"S": ""}}]


def test_a_missing_chunk_is_an_error_and_no_drift() -> None:
    lab = quiet()

    def work(run: str, segment: Segment) -> None:
        if run.startswith("verify-totals-comparison"):
            progress = lab.db.tables["AdminViewTableProgress"]
            del progress[next(key for key in lab.chunks if key[0].startswith("verify-totals-sums"))]
        lab.work_on(run, segment)

    with pytest.raises(BulkError, match="start again with --restart"):
        lab.verify(work=work)
    lab.later()
    assert groups_of(lab.verify(restart=True)) == {("north", "day-1")}


def test_chunks_of_abandoned_runs_are_deleted() -> None:
    lab = quiet()
    for call in (20, 40, 60):
        lab.db.on(before=at_call(call, die))
        with pytest.raises(KilledError):
            lab.verify(restart=True)
        lab.db.on()
        lab.later()
    lab.verify(restart=True)
    assert lab.chunks == []


def test_the_comparison_does_not_begin_without_the_sums() -> None:
    lab = quiet()
    verification = Verification(lab.bulk, kind=VERIFY_TOTALS)
    first, second, third = verification.runs
    assert verification.left(Scope(), deadline=never()) == [first, second, third]
    with pytest.raises(BulkError, match=OVERTAKEN.format(run=second).replace("*", r"\*")):
        verification.scope_of(third, Scope(), deadline=never())


def test_several_segments_and_workers_add_up() -> None:
    expected = quiet().verify()
    report = quiet().verify(segments=5)
    assert report.counts == expected.counts
    assert report.findings == expected.findings


def test_threads_that_share_a_task_load_each_slot_once() -> None:
    """The scheduled verification compares all slots at once, with one task."""
    lab, turns = quiet(), 0

    def work(run: str, segment: Segment) -> None:
        nonlocal turns
        if run.startswith("verify-totals-comparison") and not turns:
            task = lab.bulk.worker(run).task
            places: dict[int, Any] = dict.fromkeys(range(SLOTS))
            while places:
                for slot in list(places):  # a page of each slot in turn
                    page = task.read(replace(segment, number=slot), places[slot], 9, never())
                    places[slot] = page.last
                    if page.last and not page.last["parts"]:
                        del places[slot]
                turns += 1
                assert turns < 10
        lab.work_on(run, segment)

    assert groups_of(lab.verify(work=work)) == {("north", "day-1")}
    assert turns == 2


def test_a_sample_compares_some_groups() -> None:
    lab = TotalsLab()
    for number in range(300):
        lab.write_row(number, (group(number), 1))
    lab.settle()
    counts = [lab.verify(sample=0.2).counts["totals"]["totals"] for _ in range(3)]
    assert all(20 < number < 120 for number in counts)
    assert len(set(counts)) > 1, "each verification has a sample of its own"


def test_each_group_is_in_one_slot_and_in_one_part_of_it() -> None:
    for slot in range(SLOTS):
        groups = [key for key in map(group, range(2000)) if part_of(key, SLOTS) == slot]
        assert len(groups) > 100
        parts = [
            [key for key in groups if compare_totals._is_in(key, (number, 4))]
            for number in range(4)
        ]
        assert sum(map(len, parts)) == len(groups)
        assert min(map(len, parts)) > 20


def test_a_repair_checks_what_is_deployed_and_lets_abandoned_totals_expire() -> None:
    lab = TotalsLab()
    lab.write_row(1, (group(1), 1))
    lab.settle()
    stored = {"PK": {"S": "DailySales.7#north"}, "SK": {"S": "x"}, "count": {"N": "5"}}
    lab.totals["DailySales.7#north", "x"] = stored
    report = lab.verify()
    assert (report.counts["totals"]["abandoned"], report.findings) == (1, [])
    assert "expires" not in stored
    report = lab.verify(repair=True)
    assert report.counts["totals"]["repaired"] >= 1
    assert "expires" in lab.totals["DailySales.7#north", "x"]
    assert lab.verify().counts["totals"]["abandoned"] == 0


def test_a_repair_that_was_killed_is_finished_by_the_next_worker() -> None:
    for call in count(0, 3):
        lab = TotalsLab()
        stored = {"PK": {"S": "DailySales.7#north"}, "SK": {"S": "x"}, "count": {"N": "5"}}
        lab.totals["DailySales.7#north", "x"] = stored
        lab.db.on(before=at_call(call, die))
        try:
            lab.verify(repair=True)
        except KilledError:
            lab.db.on()
            lab.later()
            lab.verify(repair=True)
        else:
            break
        assert "expires" in lab.totals["DailySales.7#north", "x"]
    assert call > 30


def test_totals_are_verified_as_a_whole() -> None:
    with pytest.raises(SettingsError, match="rows of all sources contribute to a total"):
        _ = Verification(replace(quiet().bulk), "Orders", kind=VERIFY_TOTALS).runs


def test_a_difference_names_its_group_as_the_view_did() -> None:
    name = GroupName.of(("Sales.12#a%23b#c", "2025"), ())
    difference = TotalDifference.between(name, {}, {"count": Decimal("1E+1")})
    assert difference.to_json() == {
        "total": "Sales",
        "epoch": "12",
        "group": ["a#b", "c", "2025"],
        "expected": {},
        "stored": {"count": "10"},
    }


@pytest.mark.parametrize(
    ("total", "values"),
    [(Total("Users"), ()), (Total("Users", sort="status"), ("TOTAL",)), (Total("Others"), ())],
)
def test_a_sort_value_that_reads_like_none_is_named(total: Total, values: tuple[str, ...]) -> None:
    assert GroupName.of(("Users.1", "TOTAL"), [total]).values == values


def test_drift_of_a_sort_value_that_reads_like_none_is_reported_with_it() -> None:
    lab = quiet()
    partition = group(1)[0]
    lab.totals[partition, "TOTAL"] = {"PK": {"S": partition}, "SK": {"S": "TOTAL"}, "count": ONE}
    assert ("north", "TOTAL") in groups_of(lab.verify())


def test_the_contributions_of_a_row_are_readable() -> None:
    amounts = {"revenue": {"N": "5.980"}, "rank": {"N": "5.980"}}
    stored = {
        "Sales.2#north#a%23b": {"M": {"2025": {"M": amounts}}},
        "Users.1": {"M": {"TOTAL": 1}},
    }
    assert describe_contributions({"_totals": {"M": stored}}, ()) == [
        "Sales (epoch 2) north | a#b | 2025: count 1, revenue 5.98",
        "malformed, and in no total",
    ]
    assert describe_contributions({}, ()) == []


@pytest.mark.parametrize("lag", [None, 0.0, 15.0])
def test_totals_that_have_caught_up_are_verified(lag: float | None) -> None:
    _check_lag(lag, 15.0)


def test_totals_that_are_behind_are_not_verified() -> None:
    with pytest.raises(SettingsError, match="61 seconds behind the rows, more than the grace"):
        _check_lag(61.4, 15.0)


def test_totals_of_one_source_cannot_be_verified() -> None:
    with pytest.raises(BadParameter, match="leave --source out"):
        _check_source("Orders", totals=True)
