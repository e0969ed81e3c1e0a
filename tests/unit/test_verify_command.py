"""`adminview verify`: its exit status, its output, and how it resumes."""

import json
from itertools import count
from typing import Any

import pytest

from adminview.bulk.segment import Segment
from adminview.model.errors import SegmentTakenError, SettingsError
from tests.support.bulk_tables import PROGRESS, KilledError, at_call, never
from tests.support.fakes import TABLE, refusal
from tests.support.terminal import at_a_terminal
from tests.support.verify_tables import Lab, adds_up, findings_in


@pytest.fixture
def lab() -> Lab:
    """Let some things be in step, and some not."""
    return some_differ()


def test_the_exit_status_says_equal_different_or_unfinished(lab: Lab) -> None:
    status, printed = lab.command()
    assert status == 1
    assert printed.endswith(
        "the view is not equal to the sources: 10 differences left; --repair repairs them\n"
    )
    status, printed = lab.command(repair=True)
    assert status == 0
    assert printed.endswith("the view is equal to the sources, after 10 repairs\n")
    status, printed = lab.command()
    assert status == 0
    assert printed.endswith("the view is equal to the sources\n")
    lab.stop.event.set()
    status, printed = lab.command()
    assert status == 2
    assert printed.endswith("stopped; the same command (without --restart) resumes it\n")


def test_what_differs_is_listed_with_counts_that_add_up(lab: Lab) -> None:
    _, printed = lab.command()
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    assert "missing Things/t0 THING#t0 | x it is not in the view" in lines
    assert "orphaned Things/z Z | 1 its item does not exist" in lines
    assert "orphaned none Z | 2 it has no owner" in lines
    assert "items and rows compared 12 + 18" in lines
    assert "= equal 24" in lines
    assert "+ differing 6" in lines
    assert "differences 10 (8 missing, 2 orphaned)" in lines


def test_a_long_list_is_cut(lab: Lab) -> None:
    for number in range(60):
        lab.put(f"n{number}", x="1", synced=False)
    _, printed = lab.command()
    assert "and 20 more (--json lists 70)" in printed


def test_json_holds_the_same_for_machines(lab: Lab) -> None:
    status, printed = lab.command(as_json=True)
    reported = json.loads(printed)
    assert reported["status"] == status == 1
    assert reported["finished"] is True
    assert reported["differences"] == {
        "missing": 8,
        "stale": 0,
        "orphaned": 2,
        "two-owners": 0,
        "failing": 0,
    }
    assert len(reported["listed"]) == 10
    assert (
        reported["items"] + reported["rows"]
        == reported["equal"] + reported["in_flight"] + reported["differing"]
    )
    assert reported["listed"][0].keys() >= {"kind", "owner", "row", "what", "fate"}


def test_on_a_terminal_a_bar_shows_how_far_it_is_beside_the_output(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    at_a_terminal(monkeypatch)
    status, printed = lab.command(as_json=True)
    assert status == 1
    assert json.loads(printed)["finished"]
    bar = capsys.readouterr().err
    assert "verify/*" in bar
    assert "verify-rows/*" in bar


def test_a_sample_speaks_only_of_what_it_looked_at(lab: Lab) -> None:
    _, printed = lab.command(sample=0.5)
    assert "the compared part of the view is" in printed.splitlines()[-1]


def die() -> None:
    raise KilledError


@pytest.mark.parametrize("repair", [False, True])
@pytest.mark.parametrize("segments", [1, 2])
def test_killed_at_any_call_another_worker_finds_the_same(*, segments: int, repair: bool) -> None:
    for call in count(2):
        lab = some_differ()
        lab.db.on(before=at_call(call, die))
        try:
            lab.verify(segments=segments, repair=repair)
        except KilledError:
            lab.db.on()
            lab.later()
        else:
            break
        run = lab.verify(segments=segments, repair=repair)
        assert adds_up(run)
        if repair:
            assert run.total["left"] == 0
        else:
            assert len(findings_in(run)) == run.total["left"] == 10
        assert bool(findings_in(lab.verify())) is not repair
    assert call > 40


def some_differ() -> Lab:
    differing = Lab()
    for number in range(12):
        differing.put(f"t{number}", x="1", y="2", synced=number % 3 != 0)
    differing.view["Z", "1"] = {"PK": {"S": "Z"}, "SK": {"S": "1"}, "_owner": {"S": "Things/z"}}
    differing.view["Z", "2"] = {"PK": {"S": "Z"}, "SK": {"S": "2"}}
    differing.db.page_size = 3
    return differing


@pytest.mark.parametrize("repair", [False, True])
def test_stopped_after_every_page_it_finds_the_same_as_in_one_go(lab: Lab, *, repair: bool) -> None:
    options: dict[str, Any] = {"as_json": True, "repair": repair, "segments": 2}
    whole: dict[str, Any] = {}
    if not repair:
        whole = json.loads(lab.command(**options)[1])

    def stop_after_a_page(name: str, _: str) -> None:
        if name == "scan":
            lab.stop.event.set()

    status, runs = 2, 0
    lab.db.on(after=stop_after_a_page)
    while status == 2:
        status, printed = lab.command(**options)
        lab.stop.event.clear()
        runs += 1
    reported = json.loads(printed)
    assert runs > 3
    assert sum(reported["differences"].values()) == 10
    if repair:
        assert (status, reported["repaired"], reported["left"]) == (0, 10, 0)
        assert not findings_in(lab.verify())
    else:
        by_row = {str(entry["row"]): entry for entry in whole["listed"]}
        assert {str(entry["row"]): entry for entry in reported["listed"]} == by_row
        assert {**reported, "listed": 0} == {**whole, "listed": 0}


def test_a_repair_that_was_begun_is_completed_first_even_if_its_item_is_gone(lab: Lab) -> None:
    """Its rows were half written when the item was deleted: no scan of the source shows it."""
    written = 0

    def die_half_way(name: str, table: str) -> None:
        nonlocal written
        written += (name, table) == ("put_item", TABLE)
        if written >= 2:
            raise KilledError

    lab.db.page_size = 100
    lab.db.on(before=die_half_way)
    with pytest.raises(KilledError):
        lab.verify(repair=True)
    lab.db.on()
    (record,) = lab.records("verify/*")
    ids = {entry["owner"].partition("/")[2] for entry in record.intent}
    assert ids == {"t0", "t3", "t6", "t9"}
    for id_ in ids:
        lab.delete(id_)
    lab.later()
    assert lab.command(repair=True, grace=15.0)[0] == 0
    assert not [key for key in lab.view if key[0] in {f"THING#{id_}" for id_ in ids}]
    assert all(id_ in str(lab.queue.bodies) for id_ in ids), "in-doubt dead letters name them"
    assert not findings_in(lab.verify())


def test_two_workers_never_have_one_segment(lab: Lab) -> None:
    """The other one is refused while it works, and knows the end when it is done."""
    refused = 0

    def work(run: str, segment: Segment) -> None:
        def intrude(_: str, table: str) -> None:
            nonlocal refused
            if table != PROGRESS:
                lab.db.on()
                with pytest.raises(SegmentTakenError):
                    lab.worker(run).work(segment, end=never())
                refused += 1
                lab.db.on(before=intrude)

        lab.db.on(before=intrude)
        lab.work_on(run, segment)
        lab.db.on()
        assert lab.worker(run).work(segment, end=never()).done

    run = lab.verify(segments=2, repair=True, work=work)
    assert refused > 20
    assert adds_up(run)
    assert run.total["repaired"] == 10


@pytest.mark.parametrize(
    "other", [{"segments": 2}, {"sample": 0.5}, {"repair": True}, {"grace": 1}]
)
def test_an_unfinished_verification_is_only_resumed_with_the_same_options(
    lab: Lab, other: dict[str, Any]
) -> None:
    lab.db.on(before=at_call(15, die))
    with pytest.raises(KilledError):
        lab.verify(grace=0.0)
    lab.db.on()
    lab.later()
    with pytest.raises(SettingsError, match="finish it with the same options, or start again"):
        lab.command(**other)
    assert lab.command(restart=True, **other)[0] in {0, 1}


def test_the_first_phase_is_not_repeated_if_only_the_second_is_left(lab: Lab) -> None:
    def stop_in_the_second(name: str, table: str) -> None:
        if (name, table) == ("scan", TABLE):
            lab.stop.event.set()

    lab.db.on(after=stop_in_the_second)
    assert lab.command()[0] == 2
    lab.stop.event.clear()
    lab.db.on()
    lab.db.calls.clear()
    status, printed = lab.command(as_json=True)
    assert status == 1
    assert ("scan", "Things") not in lab.db.calls
    assert sum(json.loads(printed)["differences"].values()) == 10
    lab.command()
    assert ("scan", "Things") in lab.db.calls, "a finished verification starts again"


def test_when_aws_keeps_refusing_the_reason_is_reported_and_it_can_be_resumed(lab: Lab) -> None:
    def refuse(name: str, table: str) -> None:
        if (name, table) == ("query", TABLE):
            raise refusal("AccessDeniedException")

    lab.db.on(before=refuse)
    status, printed = lab.command()
    assert status == 2
    assert "find rows of AdminViewTable by their owner" in printed
    assert printed.endswith("; the same command (without --restart) resumes it\n")
    assert "+ to be compared again" in printed
    lab.db.on()
    status, printed = lab.command(as_json=True)
    assert status == 1
    assert sum(json.loads(printed)["differences"].values()) == 10


def test_no_repair_is_advised_for_what_none_can_correct() -> None:
    lab = Lab()
    lab.write("Things", {"id": "poison"}, synced=False)
    status, printed = lab.command()
    assert status == 1
    assert printed.endswith("is not equal to the sources: 1 difference left\n")
