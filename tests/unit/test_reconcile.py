"""Reconcile makes an item's rows match its source, whatever happens in between."""

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, cast

import pytest

from adminview.aws.call_owners import CALL_OWNERS, Owners
from adminview.aws.dead_letter_producer import DeadLetterProducer
from adminview.aws.deadline import Deadline
from adminview.model import Item, Row, Source, number, view
from adminview.model.delivery import IN_DOUBT_SECONDS
from adminview.model.errors import (
    MovingItemError,
    OwnershipError,
    RefusedRowError,
    ServiceError,
    ViewError,
)
from adminview.model.row import OWNER, RowKey
from adminview.reconcile.item_ref import ItemRef
from adminview.reconcile.reconciler import ROUNDS, Reconciler
from adminview.sync.decode import Route
from tests.support.fakes import NO_WAIT, FakeQueue, refusal
from tests.support.stream_records import image

things = Source("Things", partition_key="id")
SOON = Deadline(inf)  # a slow machine is no failure


@view(things)
def parts(item: Item) -> Iterator[Row]:
    """Derive a row per part; an item may be poison."""
    if "poison" in item:
        raise LookupError
    for name, value in item["parts"].items():
        yield Row(f"THING#{item['id']}", name, data={"value": value})


ROUTE = Route("things-table", things, (parts,))


@dataclass
class FakeSources:
    """A source table whose items may change whenever they are read."""

    items: dict[str, Any] = field(default_factory=dict)
    reads: int = 0
    when_read: Callable[[int], None] = lambda _: None

    def read(self, table: str, key: Any, *, deadline: Deadline) -> Any:  # noqa: ARG002 - the real one's
        assert table == "things-table"
        self.reads += 1
        self.when_read(self.reads)
        item = self.items.get(key["id"]["S"])
        return item and image(item)


@dataclass
class FakeRows:
    """A view whose owner index knows what it is given."""

    rows: dict[RowKey, Any] = field(default_factory=dict)
    indexed: Callable[[RowKey], bool] = lambda _: True
    refused: Collection[str] = ()
    unanswered: Collection[str] = ()  # sort keys of rows whose first call gets no response
    calls: list[str] = field(default_factory=list)
    read_whole: set[RowKey] = field(default_factory=set)
    in_doubt: list[Owners] = field(default_factory=list)

    def find_in_doubt(self) -> list[Owners]:
        calls, self.in_doubt = self.in_doubt, []
        return calls

    def keep_in_doubt(self, calls: Sequence[Owners]) -> None:
        self.in_doubt += calls

    def find(self, owner: str, *, deadline: Deadline) -> set[RowKey]:  # noqa: ARG002 - the real one's
        return {k for k, row in self.rows.items() if row[OWNER]["S"] == owner and self.indexed(k)}

    def read(
        self, keys: Collection[RowKey], *, owners_only: bool = False, **_: Any
    ) -> dict[RowKey, Any]:
        self.read_whole |= set() if owners_only else {*keys}
        return {key: self.rows[key] for key in keys if key in self.rows}

    def put(self, owner: str, row: Any, *, on_doubt: Callable[[], object], **_: Any) -> bool:
        key = row["PK"]["S"], row["SK"]["S"]
        self.calls.append(f"put {key[1]}")
        if key[1] in self.unanswered:
            on_doubt()
        if key[1] in self.refused:
            raise RefusedRowError("refused")
        if self.rows.get(key, row)[OWNER]["S"] != owner:
            return False
        self.rows[key] = row
        return True

    def delete(self, owner: str, key: RowKey, *, on_doubt: Callable[[], object], **_: Any) -> bool:
        self.calls.append(f"delete {key[1]}")
        if key[1] in self.unanswered:
            on_doubt()
        mine = key in self.rows and self.rows[key][OWNER]["S"] == owner
        if mine:
            del self.rows[key]
        return mine

    def shown(self) -> dict[str, str]:
        return {sk: row["data"]["M"]["value"]["S"] for (_, sk), row in self.rows.items()}


@dataclass
class Lab:
    """One item, its rows, and the reconciler between them."""

    sources: FakeSources = field(default_factory=FakeSources)
    rows: FakeRows = field(default_factory=FakeRows)
    queue: FakeQueue = field(default_factory=FakeQueue)

    @property
    def post(self) -> DeadLetterProducer:
        return DeadLetterProducer(cast("Any", self.queue), "queue", NO_WAIT)

    @property
    def reconciler(self) -> Reconciler:
        sources, rows = cast("Any", self.sources), cast("Any", self.rows)
        return Reconciler(sources, rows, "model-1", self.post, lambda: 1_790_000_000.0, [ROUTE])

    def item(self, **contents: str) -> None:
        self.sources.items["a"] = {"id": "a", "parts": contents}

    def row(self, sk: str, value: str, owner: str = "Things/a") -> None:
        data = {"M": {"value": {"S": value}}}
        row = {"PK": {"S": "THING#a"}, "SK": {"S": sk}, "data": data, OWNER: {"S": owner}}
        self.rows.rows["THING#a", sk] = row

    def reconcile(self, *touched: str) -> Any:
        return self.reconciler.reconcile(target(*touched), deadline=SOON)


def target(*touched: str) -> ItemRef:
    rows = frozenset(("THING#a", sk) for sk in touched)
    return ItemRef(ROUTE, {"id": {"S": "a"}}, rows)


@pytest.fixture
def lab() -> Lab:
    """Begin with nothing."""
    return Lab()


def test_missing_rows_are_written_wrong_ones_corrected_and_superfluous_ones_deleted(
    lab: Lab,
) -> None:
    lab.item(A="1", B="2", C="3")
    lab.row("A", "1")
    lab.row("B", "old")
    lab.row("X", "old")
    done = lab.reconcile()
    assert lab.rows.shown() == {"A": "1", "B": "2", "C": "3"}
    assert (done.put, done.deleted, done.unchanged) == (2, 1, False)
    assert lab.rows.calls == ["put B", "put C", "delete X"], "what is right is not written"


def test_rows_say_that_they_were_reconciled_and_when(lab: Lab) -> None:
    lab.item(A="1")
    lab.reconcile()
    row = lab.rows.rows["THING#a", "A"]
    assert row["_seq"] == {"S": "reconciled"}
    assert (row["_at"], row["_model"]) == ({"N": "1790000000"}, {"S": "model-1"})


def test_nothing_is_written_when_all_is_right(lab: Lab) -> None:
    lab.item(A="1")
    lab.row("A", "1")
    assert lab.reconcile().unchanged
    assert lab.rows.calls == []


def test_all_rows_go_of_an_item_that_is_gone(lab: Lab) -> None:
    lab.row("A", "1")
    lab.row("B", "1")
    assert lab.reconcile().deleted == 2
    assert lab.rows.shown() == {}


def test_rows_that_the_index_does_not_show_yet_are_known_from_the_dead_letter(lab: Lab) -> None:
    lab.row("A", "1")
    lab.rows.indexed = lambda _: False
    lab.reconcile()
    assert lab.rows.shown() == {"A": "1"}
    lab.reconcile("A")
    assert lab.rows.shown() == {}


def test_an_item_that_moves_is_written_again_with_what_was_written_before_in_mind(lab: Lab) -> None:
    lab.item(A="1")
    lab.rows.indexed = lambda _: False
    lab.sources.when_read = lambda number: lab.item(B="2") if number == 2 else None
    done = lab.reconcile()
    assert lab.rows.shown() == {"B": "2"}
    assert (done.put, done.deleted) == (2, 1)


def test_an_item_that_vanishes_meanwhile_leaves_nothing(lab: Lab) -> None:
    lab.item(A="1")
    lab.rows.indexed = lambda _: False
    lab.sources.when_read = lambda n: lab.sources.items.clear() if n == 2 else None
    lab.reconcile()
    assert lab.rows.shown() == {}


def test_an_item_that_keeps_changing_is_given_up_after_some_rounds(lab: Lab) -> None:
    lab.sources.when_read = lambda number: lab.item(A=str(number))
    with pytest.raises(MovingItemError, match="changed 10 times"):
        lab.reconcile()
    assert lab.sources.reads == ROUNDS + 1


def test_a_reconcile_that_fails_tells_which_rows_it_may_have_written(lab: Lab) -> None:
    lab.sources.when_read = lambda number: lab.item(**{f"P{number}": "1"})
    with pytest.raises(MovingItemError) as moving:
        lab.reconcile("before")
    written = {f"P{number}" for number in range(1, ROUNDS + 1)}
    assert {sk for _, sk in moving.value.touched} == {"before", *written}

    lab.sources.when_read = lambda _: lab.sources.items.update(a={"id": "a", "poison": "1"})
    with pytest.raises(ViewError) as poison:
        lab.reconcile("before")
    assert poison.value.touched == {("THING#a", "before")}


def test_an_item_whose_view_raises_keeps_its_rows(lab: Lab) -> None:
    lab.sources.items["a"] = {"id": "a", "poison": True}
    lab.row("A", "1")
    with pytest.raises(ViewError, match="LookupError"):
        lab.reconcile("A")
    assert lab.rows.shown() == {"A": "1"}


def test_a_row_of_another_item_is_neither_overwritten_nor_deleted(lab: Lab) -> None:
    lab.item(A="mine", B="mine")
    lab.row("A", "theirs", owner="Things/b")
    lab.row("X", "mine, and old")
    with pytest.raises(OwnershipError):
        lab.reconcile("A")
    assert lab.rows.shown() == {"A": "theirs", "B": "mine"}, "its own rows are seen to"
    lab.sources.items.clear()
    lab.reconcile("A")
    assert lab.rows.shown() == {"A": "theirs"}


def test_a_row_that_dynamodb_refuses_keeps_no_other_from_being_written(lab: Lab) -> None:
    lab.item(A="1", B="2")
    lab.row("X", "old")
    lab.rows.refused = {"A"}
    with pytest.raises(RefusedRowError):
        lab.reconcile()
    assert lab.rows.shown() == {"B": "2"}


def test_a_plan_says_what_would_be_done_and_does_nothing(lab: Lab) -> None:
    lab.item(A="1", C="mine")
    lab.row("B", "old")
    lab.row("C", "theirs", owner="Things/b")
    plan = lab.reconciler.plan(target(), deadline=SOON)
    assert plan.puts.keys() == {("THING#a", "A"), ("THING#a", "C")}
    assert plan.deletes == {("THING#a", "B")}
    assert plan.claimed_twice == {("THING#a", "C"): "Things/b"}
    assert lab.rows.calls == []


def test_trouble_with_aws_is_passed_on(lab: Lab) -> None:
    def refuse(_: int) -> None:
        raise ServiceError("AccessDeniedException", "read an item")

    lab.sources.when_read = refuse
    with pytest.raises(ServiceError, match="read an item: AWS answered AccessDeniedException"):
        lab.reconcile()


def test_rows_name_the_item_as_its_source_spells_its_key() -> None:
    numbers = Source("Numbers", partition_key=number("n"))

    @view(numbers)
    def row_of(item: Item) -> Iterator[Row]:
        yield Row(f"N#{item['n']}", "ONE", data={"value": "1"})

    class Spelling:
        def read(self, *_: Any, **__: Any) -> Any:
            return {"n": {"N": "100"}}

    rows = FakeRows()
    reconciler = Reconciler(cast("Any", Spelling()), cast("Any", rows), "model-1", Lab().post)
    target = ItemRef(Route("numbers", numbers, (row_of,)), {"n": {"N": "1E+2"}})
    reconciler.reconcile(target, deadline=SOON)
    assert [row[OWNER]["S"] for row in rows.rows.values()] == ["Numbers/100"]


def test_a_write_that_may_still_arrive_is_reported_and_checked_when_it_no_longer_can(
    lab: Lab,
) -> None:
    lab.item(A="1", B="2")
    lab.row("C", "old")
    lab.rows.unanswered = {"A", "C"}
    done = lab.reconcile()
    assert (done.put, done.deleted) == (2, 1)
    (body,) = lab.queue.bodies
    (item,) = json.loads(body)["items"]
    assert (item["owner"], item["key"]) == ("Things/a", {"id": {"S": "a"}})
    assert item["rows"] == [["THING#a", "A"], ["THING#a", "C"]]
    assert lab.queue.delays == [IN_DOUBT_SECONDS]


def test_what_fails_after_an_unanswered_write_reports_that_too(lab: Lab) -> None:
    lab.item(A="1", B="2")
    lab.rows.unanswered, lab.rows.refused = {"A"}, {"B"}
    with pytest.raises(RefusedRowError):
        lab.reconcile()
    assert len(lab.queue.bodies) == 1


def test_a_reconcile_is_not_done_before_the_queue_has_taken_its_in_doubt_dead_letter(
    lab: Lab,
) -> None:
    lab.item(A="1")
    lab.rows.unanswered = {"A"}
    lab.queue.failures = [refusal("AccessDenied", "SendMessageBatch")]
    with pytest.raises(ServiceError, match="send in-doubt dead letters: AWS answered AccessDenied"):
        lab.reconcile()


def test_a_call_that_was_found_in_doubt_after_its_answer_is_reported(lab: Lab) -> None:
    """It may be of another item, which was reconciled before."""
    lab.item(A="1")
    lab.rows.in_doubt = [("Things/a",), ("Things/b",), ("Things/b",), ("Gone/x",)]
    lab.reconcile()
    (body,) = lab.queue.bodies
    items = {item["owner"]: item for item in json.loads(body)["items"]}
    assert items.keys() == {"Things/a", "Things/b"}
    assert (items["Things/b"]["key"], items["Things/b"]["rows"]) == ({"id": {"S": "b"}}, [])
    assert lab.queue.delays == [IN_DOUBT_SECONDS]


def test_a_call_in_doubt_is_kept_while_the_queue_refuses_its_dead_letter(lab: Lab) -> None:
    lab.rows.in_doubt = [("Things/b",)]
    lab.queue.failures = [refusal("AccessDenied", "SendMessageBatch")]
    with pytest.raises(ServiceError, match="send in-doubt dead letters"):
        lab.reconcile()
    assert lab.queue.bodies == []
    lab.reconcile()
    assert len(lab.queue.bodies) == 1


def test_every_call_of_a_reconcile_is_known_to_be_about_its_item(lab: Lab) -> None:
    """A read that was answered by the response to another request is as bad as a write."""
    owners: list[Owners] = []
    lab.sources.when_read = lambda _: owners.append(CALL_OWNERS.get())
    lab.reconcile()
    assert owners == [("Things/a",)] * 2
    assert CALL_OWNERS.get() == ()


def test_of_rows_that_are_to_go_only_keys_and_owners_are_read(lab: Lab) -> None:
    """An item may have left many, and large ones."""
    lab.item(A="1")
    for n in range(5):
        lab.row(f"X{n}", "old")
    lab.reconcile()
    assert lab.rows.read_whole == {("THING#a", "A")}
