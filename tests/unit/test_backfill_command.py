"""Local bulk work: threads that work on segments, and what the command prints."""

import json
from collections import Counter
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, cast

import boto3
import pytest
import typer
from botocore.stub import Stubber

from adminview.aws.clients import Clients
from adminview.bulk.segment import Segment
from adminview.cli.bulk.segment_pool import OVERTAKEN, SegmentOutcome, SegmentPool, _check_progress
from adminview.cli.output.bulk import ProgressRate, lines, progress, report
from adminview.cli.shutdown import Shutdown
from adminview.model.errors import SettingsError
from tests.support.bulk_tables import RUN, KilledError, World, never
from tests.support.fakes import TABLE, refusal
from tests.support.terminal import at_a_terminal


@dataclass
class QuickStop(Shutdown):
    """Lets the world's time pass instead of waiting."""

    world: Any = None

    def sleep(self, seconds: float) -> None:
        self.world.sleep(seconds)


@pytest.fixture
def world() -> World:
    """Let there be some things, and nothing in the view."""
    world = World(most=5)
    for number in range(60):
        world.put(f"t{number}", x="1")
    return world


def shift(world: World, **changes: Any) -> SegmentPool:
    options: dict[str, Any] = {"stop": QuickStop(world=world), "tolerated": 0} | changes
    # Whoever waits lets the world's clock run: those who work meanwhile go by another.
    return SegmentPool(world.bulk, RUN, worker=replace(world.worker(), clock=monotonic), **options)


def test_all_segments_are_done_by_threads_and_counted_as_they_go(world: World) -> None:
    seen: list[int] = []
    outcome = shift(world, watch=lambda counts: seen.append(counts["items"])).work(16)
    assert (outcome.finished, outcome.counts) == (True, {"items": 60, "rows": 60})
    assert world.shown() == world.expected()
    assert max(seen) == 60
    assert len(seen) > 16
    assert world.bulk.built(deadline=never())[RUN]["counts"]["items"] == 60


def test_a_stop_is_no_loss_and_the_next_one_goes_on_from_there(world: World) -> None:
    stop = QuickStop(world=world)

    def enough(counts: Counter[str]) -> None:
        if counts["items"] >= 20:
            stop.event.set()

    outcome = shift(world, stop=stop, watch=enough).work(2)
    assert outcome.trouble == "stopped"
    assert 20 <= outcome.counts["items"] < 60
    first: list[int] = []
    again = shift(world, watch=lambda counts: first.append(counts["items"])).work()
    assert first[0] == outcome.counts["items"], "what was done is known before the first page"
    assert again == SegmentOutcome(RUN, Counter(items=60, rows=60))


def test_a_stop_before_the_first_segment_is_a_stop_though_an_earlier_run_has_ended(
    world: World,
) -> None:
    shift(world).work(2)
    stop = QuickStop(world=world)
    stop.event.set()
    assert shift(world, stop=stop).work(2).trouble == "stopped"


def test_an_error_in_one_segment_stops_all_and_is_reported(world: World) -> None:
    def refuse(name: str, _: str) -> None:
        if name == "batch_write_item" and len(world.view) > 20:
            raise refusal("AccessDeniedException")

    world.db.on(before=refuse)
    outcome = shift(world).work(4)
    assert outcome.trouble == "write rows of AdminViewTable: AWS answered AccessDeniedException"
    assert len(world.view) < 60
    world.db.on()
    assert shift(world).work().finished
    assert world.shown() == world.expected()


def test_a_run_that_other_code_overtook_does_not_count_as_done(world: World) -> None:
    """Its last pages are written, for the lease is its own; but a plan begins it again."""
    spoiled = {"model": "", "generation": 1}

    def invalidate(counts: Counter[str]) -> None:
        if counts["items"]:
            world.progress.complete(RUN, spoiled, deadline=never())

    assert shift(world, watch=invalidate).work(1).trouble == OVERTAKEN
    assert world.bulk.built(deadline=never()) == {RUN: spoiled}


def test_a_command_that_waited_while_other_code_was_deployed_does_not_begin(world: World) -> None:
    others = world.progress
    record = others.take(Segment(RUN, 0, 1), "another-model", deadline=never())
    deployed = [world.fingerprint]

    def check() -> None:
        if deployed != [world.fingerprint]:
            msg = "deployed is another"
            raise SettingsError(msg)

    def deploy(_: str) -> None:
        deployed[0] = "another-model"
        others.save(record, deadline=never(), keep=False)

    working = shift(world, notify=deploy)
    working.bulk = replace(working.bulk, check=check)
    with pytest.raises(SettingsError, match="deployed is another"):
        working.work(1)
    assert world.db.written(TABLE) == []
    assert [record.model for record in world.records()] == ["another-model"]


def test_trouble_ends_the_waiting_for_other_hands_too(world: World) -> None:
    """One thread waits for a segment that somebody keeps for good; the other fails."""
    taken, _ = world.bulk.begin(RUN, 2, deadline=never())
    others = world.progress
    record = others.take(taken, world.fingerprint, deadline=never())

    def keep(name: str, table: str) -> None:
        nonlocal record
        if name == "get_item" and record.deadline < world.now + 10:
            world.db.on()
            record = others.save(record, deadline=never())
            world.db.on(before=keep)
        if (name, table) == ("batch_write_item", TABLE):
            raise refusal("AccessDeniedException")

    world.db.on(before=keep)
    assert "AccessDenied" in shift(world).work().trouble


def test_more_failures_than_tolerated_are_reported(world: World) -> None:
    world.write("Things", {"id": "bad"})
    outcome = shift(world).work(1)
    assert outcome.trouble.startswith(
        "1 items failed in backfill/Things, more than the tolerated 0"
    )
    assert shift(world, tolerated=1).work(1).finished


def test_what_is_tolerated_is_counted_in_all_segments_together(world: World) -> None:
    for number in range(40):
        world.write("Things", {"id": f"bad{number}"})
    outcome = shift(world, tolerated=10).work(16)
    assert "items failed in backfill/Things, more than the tolerated 10" in outcome.trouble
    assert outcome.counts["items"] < 100, "it does not wait for the end"
    assert not [record for record in world.records() if record.counts["failed"] > 10]


def test_after_too_many_failures_the_same_command_looks_at_all_items_again(world: World) -> None:
    world.write("Things", {"id": "bad"})
    assert not shift(world).work(1).finished
    assert not shift(world).work(1).finished, "it is as bad as before"
    world.put("bad", x="1")
    outcome = shift(world).work(1)
    assert (outcome.trouble, outcome.counts["failed"]) == ("", 0)
    assert outcome.counts["items"] == len(world.db.tables["Things"])
    assert world.shown() == world.expected()


def test_a_surprise_stops_the_others_and_comes_out(world: World) -> None:
    def die(name: str, _: str) -> None:
        if name == "batch_write_item":
            raise KilledError

    world.db.on(before=die)
    with pytest.raises(KilledError):
        shift(world).work(16)


def test_a_segment_leased_by_another_worker_is_waited_for_while_the_others_are_done(
    world: World,
) -> None:
    segments = world.bulk.begin(RUN, 4, deadline=never())
    world.progress.take(segments[0], world.fingerprint, deadline=never())
    messages: list[str] = []
    done: list[int] = []

    def watch(_: Counter[str]) -> None:
        done[:] = [record.segment.number for record in world.records() if record.done]

    assert shift(world, notify=messages.append, watch=watch).work().finished
    assert len(messages) == 1
    assert messages[0].startswith("waiting: another worker holds segment 0 of backfill/Things")
    assert world.shown() == world.expected()


def test_what_an_older_model_left_is_waited_for_and_recovered(world: World) -> None:
    world.progress.take(Segment(RUN, 0, 3), "older", deadline=never())
    messages: list[str] = []
    assert shift(world, notify=messages.append).work(2).finished
    assert len(messages) == 1


def test_somebody_else_may_be_the_first_to_see_that_all_is_done(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish = type(world.bulk).finish

    def beaten(self: Any, run: str, **options: Any) -> Any:
        finish(self, run, **options)
        return finish(self, run, **options)

    monkeypatch.setattr(type(world.bulk), "finish", beaten)
    assert shift(world).work(2) == SegmentOutcome(RUN, Counter(items=60, rows=60))


def test_the_pace_is_that_of_this_command_and_says_when_it_will_be_done() -> None:
    now = [100.0]
    pace = ProgressRate(1000, lambda: now[0])
    assert pace.text(Counter(items=400)) == "400 of about 1000 items, 0 items/s"
    now[0] += 10
    counts = Counter(items=500, rows=900, failed=2)
    assert pace.text(counts) == (
        "500 of about 1000 items, 900 rows, 2 failed, 10 items/s, 0:00:50 left"
    )
    assert pace.text(Counter(items=2000)).endswith("160 items/s, 0:00:00 left")
    assert ProgressRate(None, lambda: now[0]).text(Counter(items=5)) == "5 items, 0 items/s"


def test_without_a_terminal_a_line_is_printed_now_and_then() -> None:
    now = [0.0]
    messages: list[str] = []
    watch = lines("backfill/Orders", ProgressRate(None, lambda: now[0]), messages.append)
    for items in range(0, 100, 5):
        watch(Counter(items=items, rows=items))
        now[0] += 1
    assert messages == ["backfill/Orders: 50 items, 50 rows, 5 items/s"]


def test_on_a_terminal_a_bar_is_shown_beside_the_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    at_a_terminal(monkeypatch)
    monkeypatch.setenv("COLUMNS", "120")
    with progress("backfill/Orders", 10) as watch:
        watch(Counter(items=3, rows=4))
        watch(Counter(items=20, rows=4))
    reported = capsys.readouterr()
    assert reported.out == ""
    assert "backfill/Orders" in reported.err
    assert "20 of about 10 items" in reported.err


@pytest.mark.parametrize(
    ("outcome", "status", "words"),
    [
        (SegmentOutcome(RUN, Counter(items=3)), 0, "done"),
        (
            SegmentOutcome(RUN, Counter(items=3, failed=1)),
            1,
            "done, except for the items that failed: adminview dlq list shows why",
        ),
        (
            SegmentOutcome(RUN, Counter(), "stopped"),
            2,
            "stopped; the same command (without --restart) resumes it",
        ),
    ],
)
def test_the_result_is_printed_and_is_the_exit_status(
    outcome: SegmentOutcome, status: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as ended:
        report([outcome], as_json=False)
    assert ended.value.exit_code == status
    assert capsys.readouterr().out.splitlines()[-1] == words
    with pytest.raises(typer.Exit):
        report([outcome], as_json=True)
    (reported,) = json.loads(capsys.readouterr().out)
    assert reported == {
        "run": RUN,
        "status": status,
        "finished": not outcome.trouble,
        "trouble": outcome.trouble,
        "counts": dict(outcome.counts),
    }


def test_the_worst_of_several_outcomes_is_the_exit_status() -> None:
    outcomes = [SegmentOutcome(RUN, Counter(failed=1)), SegmentOutcome(RUN, Counter())]
    with pytest.raises(typer.Exit) as ended:
        report(outcomes, as_json=True)
    assert ended.value.exit_code == 1


def test_without_a_progress_table_the_error_advises_a_deployment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    client = boto3.client("dynamodb", "us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
    stub = Stubber(client)
    stub.add_client_error("describe_table", "ResourceNotFoundException")
    stub.activate()
    with pytest.raises(SettingsError, match="there is no table 'Progress': deploy this version"):
        _check_progress(Clients(client, sqs=cast("Any", None)), "Progress")
