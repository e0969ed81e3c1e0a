"""A backfill writes missing rows, leaves correct ones, and a bad item affects no other."""

import json
from typing import Any

import pytest

from adminview.aws.call_owners import CALL_OWNERS, Owners
from adminview.aws.deadline import Deadline
from adminview.bulk.backfill import Backfill
from adminview.bulk.segment import Segment
from adminview.model.dead_letter import IN_DOUBT
from adminview.model.errors import ServiceError
from tests.support.bulk_tables import PROGRESS, RUN, World
from tests.support.fakes import TABLE, refusal
from tests.support.stream_records import image


def letters(world: World) -> list[tuple[str, str]]:
    """List the dead letters by owner and error."""
    bodies = [json.loads(body) for body in world.queue.bodies]
    bodies = [body for body in bodies if body["kind"] != IN_DOUBT]
    return sorted((body["owner"] or "too long", body["error"]["kind"]) for body in bodies)


@pytest.fixture
def world() -> World:
    """Let there be three things, each with two rows, and none in the view."""
    world = World()
    for id_ in ("a", "b", "c"):
        world.put(id_, x="1", y="2")
    return world


def test_every_item_gets_its_rows_stamped_with_owner_and_model(world: World) -> None:
    assert world.run() == {"items": 3, "rows": 6}
    assert world.shown() == world.expected()
    row = world.view["THING#b", "x"]
    assert (row["_owner"], row["_model"]) == ({"S": "Things/b"}, {"S": "model-1"})


def test_a_second_run_reads_all_and_writes_nothing(world: World) -> None:
    world.run()
    world.db.calls.clear()
    assert world.run() == {"items": 3, "right": 6}
    assert world.db.written(TABLE, "Things", "Notes") == []


def test_rows_that_were_right_before_are_neither_written_nor_in_the_intent_record(
    world: World,
) -> None:
    world.sync("a")
    world.sync("b")
    world.view["THING#b", "y"]["data"] = image({"d": {"value": "stale"}})["d"]
    intent: list[Any] = []

    def look(name: str, _: str) -> None:
        if name == "batch_write_item":
            intent.extend(key["id"]["S"] for key in world.records()[0].intent)

    world.db.on(before=look)
    assert world.run() == {"items": 3, "rows": 3, "right": 3}
    assert intent == ["b", "c"]
    assert world.shown() == world.expected()


def test_a_row_of_another_item_is_not_overwritten_and_the_claim_becomes_a_dead_letter(
    world: World,
) -> None:
    world.put("first", shared="prize")
    world.sync("first")
    world.put("second", x="1", shared="prize")
    assert world.run()["failed"] == 1
    assert world.view["SHARED", "prize"]["_owner"] == {"S": "Things/first"}
    assert letters(world) == [("Things/second", "OwnershipError")]
    assert ("THING#c", "y") in world.view, "its neighbours are written"


def test_of_two_items_of_a_page_that_claim_one_row_one_becomes_a_dead_letter(world: World) -> None:
    world.put("first", shared="prize")
    world.put("second", shared="prize")
    assert world.run()["failed"] == 1
    assert world.view["SHARED", "prize"]["_owner"] == {"S": "Things/first"}
    assert letters(world) == [("Things/second", "OwnershipError")]


def test_an_item_whose_view_raises_becomes_a_dead_letter_and_its_neighbours_are_written(
    world: World,
) -> None:
    world.write("Things", {"id": "bb"})
    assert world.run() == {"items": 4, "rows": 6, "failed": 1}
    assert letters(world) == [("Things/bb", "MissingAttributeError")]
    assert len(world.view) == 6


def test_a_row_that_dynamodb_refuses_becomes_a_dead_letter_that_names_all_rows_of_its_item(
    world: World,
) -> None:
    world.put("b", x="1", cursed="2")
    world.db.bad = {"cursed"}
    assert world.run() == {"items": 3, "rows": 5, "failed": 1}
    (letter,) = map(json.loads, world.queue.bodies)
    assert letter["error"]["kind"] == "RefusedRowError"
    assert sorted(letter["rows"]) == [["THING#b", "cursed"], ["THING#b", "x"]]
    assert letter["key"] == {"id": {"S": "b"}}


def test_an_item_with_a_key_too_long_to_be_an_owner_becomes_a_dead_letter(world: World) -> None:
    world.put("k" * 2047, x="1")
    assert world.run() == {"items": 4, "rows": 6, "failed": 1}
    assert letters(world) == [("too long", "UnreadableRecordError")]


def test_rows_of_an_item_that_changed_during_the_write_are_corrected(world: World) -> None:
    """A change, a deletion and a new item, between the scan and the second look."""

    def change(name: str, _: str) -> None:
        if name == "batch_write_item":
            world.db.on()
            world.put("a", x="new")
            world.sync("a")
            world.delete("b")
            world.sync("b")

    world.db.on(before=change)
    counts = world.run()
    assert (counts["changed"], counts["failed"]) == (2, 0)
    assert world.shown() == world.expected()


def test_an_item_that_keeps_changing_becomes_a_dead_letter(world: World) -> None:
    ticks = iter(range(10_000))

    def change(name: str, table: str) -> None:
        if (name, table) == ("get_item", "Things") or name == "batch_write_item":
            world.put("b", x=f"{next(ticks)}")

    world.db.on(before=change)
    assert world.run()["failed"] == 1
    assert letters(world) == [("Things/b", "MovingItemError")]
    assert world.view.keys() >= {("THING#a", "x"), ("THING#c", "y")}


def test_dead_letters_leave_only_after_the_rows_of_the_page_are_written(world: World) -> None:
    world.write("Things", {"id": "aa"})

    def look(*_: str) -> None:
        assert not world.queue.bodies

    world.db.on(
        after=lambda name, table: look() if name != "put_item" or table != PROGRESS else None
    )
    world.work()
    assert len(world.queue.bodies) == 1


def test_if_the_queue_refuses_the_intent_stays_and_the_dead_letters_come_later(
    world: World,
) -> None:
    world.write("Things", {"id": "aa"})
    world.queue.failures = [refusal("AccessDenied")]
    with pytest.raises(ServiceError, match="send the dead letters of failed items"):
        world.run()
    (record,) = world.records()
    assert len(record.intent) == 3
    assert record.counts["failed"] == 0
    world.later()
    assert world.run()["failed"] == 1
    assert letters(world) == [("Things/aa", "MissingAttributeError")]


def test_if_dynamodb_keeps_leaving_rows_unprocessed_the_intent_stays(world: World) -> None:
    world.db.unprocessed = lambda requests: requests[1:]

    def late(name: str, _: str) -> None:
        if name == "batch_write_item":
            world.now += 61

    world.db.on(before=late)
    end = Deadline.after(60, lambda: world.now)
    with pytest.raises(ServiceError, match="write rows of AdminViewTable: AWS answered Unproc"):
        world.worker().work(Segment(RUN, 0, 1), end=end)
    assert world.records()[0].intent


def test_calls_that_are_found_in_doubt_after_their_answer_are_reported(world: World) -> None:
    calls: list[Owners] = []
    kept: list[Owners] = []

    def find() -> list[Owners]:
        """Find the page's own call, and one of another source's run."""
        in_doubt = [*calls, ("Notes/a/1",)] if calls else []
        calls.clear()
        return in_doubt

    def note(name: str, _: str) -> None:
        if name == "batch_write_item":
            calls.append(CALL_OWNERS.get())

    db: Any = world.db
    db.find_in_doubt, db.keep_in_doubt = find, kept.extend
    db.on(after=note)
    world.run()
    bodies = [json.loads(body) for body in world.queue.bodies]
    assert {body["kind"] for body in bodies} == {IN_DOUBT}
    rows_by_owner = {item["owner"]: item["rows"] for body in bodies for item in body["items"]}
    assert rows_by_owner.keys() == {"Things/a", "Things/b", "Things/c", "Notes/a/1"}
    assert rows_by_owner["Things/a"] == [["THING#a", "x"], ["THING#a", "y"]]
    assert not kept


def test_another_source_is_another_run(world: World) -> None:
    world.write("Notes", {"about": "a", "number": 7, "text": "hello"})
    assert world.run("backfill/Notes") == {"items": 1, "rows": 1}
    assert set(world.view) == {("THING#a", "NOTE#7")}


def test_errors_and_dead_letters_hold_keys_and_no_data(world: World) -> None:
    world.write("Things", {"id": "aa", "secret": "a customer's name"})
    world.run()
    assert "customer" not in str(world.queue.bodies)
    assert "secret" not in str(world.db.tables[PROGRESS])


def test_a_page_whose_rows_would_fill_the_memory_is_read_in_smaller_ones(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(40):
        world.put(f"t{n}", x="1", y="2")
    monkeypatch.setattr("adminview.bulk.backfill.PAGE_BYTES", 10 * 2048)
    sizes: list[int] = []
    plan = Backfill.plan

    def note(self: Backfill, page: Any, deadline: Any) -> Any:
        job = plan(self, page, deadline)
        sizes.append(len(page.items))
        return job

    monkeypatch.setattr(Backfill, "plan", note)
    assert world.run()["items"] == 43
    assert max(sizes) < 10
    assert len(world.view) == 43 * 2
