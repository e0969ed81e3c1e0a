"""After any failure, a replay makes the view match its sources, on real engines."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from time import sleep
from types import ModuleType
from typing import Any

import pytest

from adminview.dead_letters.replay_summary import LetterOutcome
from adminview.local.local_cloud import LocalCloud
from adminview.model import Item, Registry, Row, Source, view
from adminview.model.delivery import Delivery

things = Source("Things", partition_key="id")


@view(things)
def parts(item: Item) -> Iterator[Row]:
    """Derive a row per part; a colour is not understood yet."""
    if "colour" in item:
        raise LookupError
    for name, value in item["parts"].items():
        yield Row(f"THING#{item['id']}", name, data={"value": value})


@view(things)
def fixed_parts(item: Item) -> Iterator[Row]:
    """Derive a row per part, of any colour."""
    for name, value in item["parts"].items():
        yield Row(f"THING#{item['id']}", name, data={"value": value})


def model(**views: Any) -> Registry:
    module = ModuleType("things")
    module.__dict__.update(things=things, **views)
    return replace(Registry.of([module]), modules=())


BROKEN, FIXED = model(parts=parts), model(parts=fixed_parts)


@pytest.fixture
def cloud(start: Callable[[Registry], LocalCloud]) -> LocalCloud:
    """Start with a view that some items are poison for."""
    return start(BROKEN)


def put(cloud: LocalCloud, id_: str, *, colour: str | None = None, **contents: str) -> None:
    more = {"colour": colour} if colour else {}
    cloud.put("Things", {"id": id_, "parts": contents, **more})


def shown(cloud: LocalCloud) -> dict[tuple[str, str], str]:
    return {
        (row["PK"]["S"].removeprefix("THING#"), row["SK"]["S"]): row["data"]["M"]["value"]["S"]
        for row in cloud.rows()
    }


def test_a_poisoned_record_is_exact_after_the_view_is_fixed_and_its_dead_letter_replayed(
    cloud: LocalCloud,
) -> None:
    put(cloud, "a", A="1", B="1")
    put(cloud, "b", A="1")
    cloud.settle()
    put(cloud, "a", A="2", C="2", colour="red")
    cloud.settle()
    assert shown(cloud) == {("a", "A"): "1", ("a", "B"): "1", ("b", "A"): "1"}
    cloud.deploy(FIXED)
    summary = cloud.replay()
    assert shown(cloud) == {("a", "A"): "2", ("a", "C"): "2", ("b", "A"): "1"}
    assert summary.outcomes == {LetterOutcome.RECONCILED: 1}
    assert (summary.rows_put, summary.rows_deleted) == (2, 1)
    assert cloud.letters() == []


def test_an_item_that_was_deleted_does_not_come_back_with_its_old_dead_letter(
    cloud: LocalCloud,
) -> None:
    put(cloud, "a", A="1", colour="red")
    cloud.settle()
    cloud.delete("Things", {"id": "a"})
    cloud.settle()
    cloud.deploy(FIXED)
    assert cloud.replay().outcomes == {
        LetterOutcome.UNCHANGED: 2
    }  # of the insert, and of the deletion
    assert shown(cloud) == {}
    assert cloud.letters() == []


def test_a_dead_letter_of_an_item_that_has_changed_since_keeps_the_newer_state(
    cloud: LocalCloud,
) -> None:
    put(cloud, "a", A="1", colour="red")
    cloud.settle()
    put(cloud, "a", A="2", B="2")
    cloud.settle()
    cloud.deploy(FIXED)
    assert cloud.replay().outcomes == {LetterOutcome.UNCHANGED: 2}
    assert shown(cloud) == {("a", "A"): "2", ("a", "B"): "2"}


def test_rows_from_before_an_unreadable_image_are_found_by_their_owner(cloud: LocalCloud) -> None:
    put(cloud, "a", A="1", B="1")
    cloud.settle()
    put(cloud, "a", A="1", colour="red")
    cloud.settle()
    cloud.letters()  # lost, as it were
    cloud.delete("Things", {"id": "a"})
    cloud.settle()
    assert shown(cloud) == {("a", "A"): "1", ("a", "B"): "1"}
    assert cloud.replay().rows_deleted == 2
    assert shown(cloud) == {}


def test_an_item_whose_view_still_raises_keeps_its_dead_letter_with_count_and_newest_error(
    cloud: LocalCloud,
) -> None:
    put(cloud, "a", A="1", colour="red")
    cloud.settle()
    for _ in range(2):
        summary = cloud.replay()
        assert summary.outcomes == {LetterOutcome.FAILING: 1}
        (reason,) = summary.reasons
        assert reason.startswith("ViewError: the view raised LookupError")
        sleep(1.1)  # a dead letter that failed is invisible, here for a second
    (letter,) = cloud.letters()
    assert letter["owner"] == "Things/a"
    assert letter["attempts"]["count"] == 2
    assert letter["attempts"]["error"]["kind"] == "ViewError"
    assert letter["attempts"]["at"]


def test_many_dead_letters_for_one_item_are_one_reconcile(cloud: LocalCloud) -> None:
    for number in range(5):
        put(cloud, "a", A=str(number), colour="red")
        cloud.settle()
    cloud.deploy(FIXED)
    summary = cloud.replay()
    assert (summary.items, summary.outcomes.total()) == (1, 5)
    assert shown(cloud) == {("a", "A"): "4"}


def test_what_lambda_gave_up_on_is_read_from_the_stream_again(cloud: LocalCloud) -> None:
    give_up(cloud, a="1", b="2")
    put(cloud, "b", A="3", colour="red")
    (letter,) = peek(cloud)
    assert letter["DDBStreamBatchInfo"]["batchSize"] == 2
    assert shown(cloud) == {}
    summary = cloud.replay()
    assert summary.outcomes == {LetterOutcome.FAILING: 1}, "one of its two items has become poison"
    assert shown(cloud) == {("a", "A"): "1"}
    sleep(1.1)
    (letter,) = peek(cloud)
    assert (letter["kind"], letter["owner"]) == ("adminview.letter/1", "Things/b")
    cloud.deploy(FIXED)
    assert cloud.replay().outcomes == {LetterOutcome.RECONCILED: 1}
    assert shown(cloud) == {("a", "A"): "1", ("b", "A"): "3"}


def give_up(cloud: LocalCloud, **items: str) -> None:
    """Let Lambda give up on the first batch, because the function crashes."""
    for id_, value in items.items():
        put(cloud, id_, A=value)
    handle = cloud.handle
    source = cloud.follow(
        cloud.sources[0].stream_arn, Delivery(window_seconds=0, retries=0, bisect=False)
    )

    def crash(_: Any, __: Any) -> Any:
        raise MemoryError

    source.handler = crash
    source.drain()
    cloud.sources[0] = source
    source.handler = handle


def peek(cloud: LocalCloud) -> list[dict[str, Any]]:
    """Look at the dead letters without taking them away."""
    answer = cloud.clients.sqs.receive_message(
        QueueUrl=cloud.queue_url, MaxNumberOfMessages=10, VisibilityTimeout=0
    )
    return [json.loads(message["Body"]) for message in answer.get("Messages", [])]
