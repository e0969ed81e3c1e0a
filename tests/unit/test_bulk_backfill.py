"""Backfill: rows are filled in, what is right is left alone, and one bad item harms nobody."""

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


def letters(made: World) -> list[tuple[str, str]]:
    """List the dead letters by owner and error."""
    bodies = [json.loads(body) for body in made.queue.bodies]
    bodies = [body for body in bodies if body["kind"] != IN_DOUBT]
    return sorted((body["owner"] or "too long", body["error"]["kind"]) for body in bodies)


@pytest.fixture
def made() -> World:
    """Let there be three things, each with two rows, and none in the view."""
    world = World()
    for id_ in ("a", "b", "c"):
        world.put(id_, x="1", y="2")
    return world


def test_every_item_gets_its_rows_stamped_with_owner_and_model(made: World) -> None:
    assert made.run() == {"items": 3, "rows": 6}
    assert made.shown() == made.expected()
    row = made.view["THING#b", "x"]
    assert (row["_owner"], row["_model"]) == ({"S": "Things/b"}, {"S": "model-1"})


def test_a_second_run_reads_all_and_writes_nothing(made: World) -> None:
    made.run()
    made.db.calls.clear()
    assert made.run() == {"items": 3, "right": 6}
    assert made.db.written(TABLE, "Things", "Notes") == []


def test_rows_that_were_right_before_are_neither_written_nor_in_the_intent_record(
    made: World,
) -> None:
    made.sync("a")
    made.sync("b")
    made.view["THING#b", "y"]["data"] = image({"d": {"value": "stale"}})["d"]
    intent: list[Any] = []

    def look(name: str, _: str) -> None:
        if name == "batch_write_item":
            intent.extend(key["id"]["S"] for key in made.records()[0].intent)

    made.db.on(before=look)
    assert made.run() == {"items": 3, "rows": 3, "right": 3}
    assert intent == ["b", "c"]
    assert made.shown() == made.expected()


def test_a_row_of_another_item_is_not_overwritten_and_the_claim_becomes_a_dead_letter(
    made: World,
) -> None:
    made.put("first", shared="prize")
    made.sync("first")
    made.put("second", x="1", shared="prize")
    assert made.run()["failed"] == 1
    assert made.view["SHARED", "prize"]["_owner"] == {"S": "Things/first"}
    assert letters(made) == [("Things/second", "OwnershipError")]
    assert ("THING#c", "y") in made.view, "its neighbours are written"


def test_of_two_items_of_a_page_that_claim_one_row_one_becomes_a_dead_letter(made: World) -> None:
    made.put("first", shared="prize")
    made.put("second", shared="prize")
    assert made.run()["failed"] == 1
    assert made.view["SHARED", "prize"]["_owner"] == {"S": "Things/first"}
    assert letters(made) == [("Things/second", "OwnershipError")]


def test_an_item_whose_view_raises_becomes_a_dead_letter_and_its_neighbours_are_written(
    made: World,
) -> None:
    made.write("Things", {"id": "bb"})
    assert made.run() == {"items": 4, "rows": 6, "failed": 1}
    assert letters(made) == [("Things/bb", "MissingAttributeError")]
    assert len(made.view) == 6


def test_a_row_that_dynamodb_refuses_becomes_a_dead_letter_that_names_all_rows_of_its_item(
    made: World,
) -> None:
    made.put("b", x="1", cursed="2")
    made.db.bad = {"cursed"}
    assert made.run() == {"items": 3, "rows": 5, "failed": 1}
    (letter,) = map(json.loads, made.queue.bodies)
    assert letter["error"]["kind"] == "RefusedRowError"
    assert sorted(letter["rows"]) == [["THING#b", "cursed"], ["THING#b", "x"]]
    assert letter["key"] == {"id": {"S": "b"}}


def test_an_item_with_a_key_too_long_to_be_an_owner_becomes_a_dead_letter(made: World) -> None:
    made.put("k" * 2047, x="1")
    assert made.run() == {"items": 4, "rows": 6, "failed": 1}
    assert letters(made) == [("too long", "UnreadableRecordError")]


def test_rows_of_an_item_that_changed_during_the_write_are_corrected(made: World) -> None:
    """A change, a deletion and a new item, between the scan and the second look."""

    def change(name: str, _: str) -> None:
        if name == "batch_write_item":
            made.db.on()
            made.put("a", x="new")
            made.sync("a")
            made.delete("b")
            made.sync("b")

    made.db.on(before=change)
    counts = made.run()
    assert (counts["changed"], counts["failed"]) == (2, 0)
    assert made.shown() == made.expected()


def test_an_item_that_keeps_changing_becomes_a_dead_letter(made: World) -> None:
    ticks = iter(range(10_000))

    def change(name: str, table: str) -> None:
        if (name, table) == ("get_item", "Things") or name == "batch_write_item":
            made.put("b", x=f"{next(ticks)}")

    made.db.on(before=change)
    assert made.run()["failed"] == 1
    assert letters(made) == [("Things/b", "MovingItemError")]
    assert made.view.keys() >= {("THING#a", "x"), ("THING#c", "y")}


def test_dead_letters_leave_only_after_the_rows_of_the_page_are_written(made: World) -> None:
    made.write("Things", {"id": "aa"})

    def look(*_: str) -> None:
        assert not made.queue.bodies

    made.db.on(
        after=lambda name, table: look() if name != "put_item" or table != PROGRESS else None
    )
    made.work()
    assert len(made.queue.bodies) == 1


def test_if_the_queue_refuses_the_intent_stays_and_the_dead_letters_come_later(
    made: World,
) -> None:
    made.write("Things", {"id": "aa"})
    made.queue.failures = [refusal("AccessDenied")]
    with pytest.raises(ServiceError, match="send the dead letters of failed items"):
        made.run()
    (record,) = made.records()
    assert len(record.intent) == 3
    assert record.counts["failed"] == 0
    made.later()
    assert made.run()["failed"] == 1
    assert letters(made) == [("Things/aa", "MissingAttributeError")]


def test_if_dynamodb_keeps_leaving_rows_unprocessed_the_intent_stays(made: World) -> None:
    made.db.unprocessed = lambda requests: requests[1:]

    def late(name: str, _: str) -> None:
        if name == "batch_write_item":
            made.now += 61

    made.db.on(before=late)
    end = Deadline.after(60, lambda: made.now)
    with pytest.raises(ServiceError, match="write rows of AdminViewTable: AWS answered Unproc"):
        made.worker().work(Segment(RUN, 0, 1), end=end)
    assert made.records()[0].intent


def test_calls_that_are_found_in_doubt_after_their_answer_are_reported(made: World) -> None:
    calls: list[Owners] = []
    kept: list[Owners] = []

    def find() -> list[Owners]:
        """Find the page's own call, and one of another source's run."""
        found = [*calls, ("Notes/a/1",)] if calls else []
        calls.clear()
        return found

    def note(name: str, _: str) -> None:
        if name == "batch_write_item":
            calls.append(CALL_OWNERS.get())

    db: Any = made.db
    db.find_in_doubt, db.keep_in_doubt = find, kept.extend
    db.on(after=note)
    made.run()
    bodies = [json.loads(body) for body in made.queue.bodies]
    assert {body["kind"] for body in bodies} == {IN_DOUBT}
    found = {item["owner"]: item["rows"] for body in bodies for item in body["items"]}
    assert found.keys() == {"Things/a", "Things/b", "Things/c", "Notes/a/1"}
    assert found["Things/a"] == [["THING#a", "x"], ["THING#a", "y"]]
    assert not kept


def test_another_source_is_another_run(made: World) -> None:
    made.write("Notes", {"about": "a", "number": 7, "text": "hello"})
    assert made.run("backfill/Notes") == {"items": 1, "rows": 1}
    assert set(made.view) == {("THING#a", "NOTE#7")}


def test_errors_and_dead_letters_hold_keys_and_no_data(made: World) -> None:
    made.write("Things", {"id": "aa", "secret": "a customer's name"})
    made.run()
    assert "customer" not in str(made.queue.bodies)
    assert "secret" not in str(made.db.tables[PROGRESS])


def test_a_page_whose_rows_would_fill_the_memory_is_read_in_smaller_ones(
    made: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(40):
        made.put(f"t{n}", x="1", y="2")
    monkeypatch.setattr("adminview.bulk.backfill.PAGE_BYTES", 10 * 2048)
    sizes: list[int] = []
    plan = Backfill.plan

    def note(self: Backfill, page: Any, deadline: Any) -> Any:
        job = plan(self, page, deadline)
        sizes.append(len(page.items))
        return job

    monkeypatch.setattr(Backfill, "plan", note)
    assert made.run()["items"] == 43
    assert max(sizes) < 10
    assert len(made.view) == 43 * 2
