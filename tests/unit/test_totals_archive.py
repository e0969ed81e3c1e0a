"""Old positions move to the archive of a total, and what they cover is not added again."""

from base64 import b64decode
from typing import Any

import pytest

from adminview.aws import totals_table
from adminview.aws.attribute_codec import from_boto3
from adminview.aws.deadline import Deadline
from adminview.aws.totals_table import Boto3Updater, TotalsOutcome, TotalsTable
from adminview.totals.archive import (
    LEAST_MOVED,
    MOST_MOVED,
    MOST_POSITIONS,
    archive_key,
    movable,
    remove_moved,
    store,
)
from adminview.totals.comparison import StoredTotal, amounts_of
from adminview.totals.position import HOUR, encode_position, position_name, positions_of
from adminview.totals.update import GroupUpdate, expire_leftover
from tests.support.fakes import NO_WAIT
from tests.support.totals_items import TotalsItems
from tests.support.totals_records import AT, GROUP, SHARD, change, update

ARCHIVE = tuple(value["S"] for value in archive_key(GROUP).values())
SHARDS = MOST_POSITIONS + LEAST_MOVED
LATER = Deadline.after(3600)
MINUTE = 60


class Table(TotalsItems):
    """A totals table that fails the calls with these numbers, and can let one wait."""

    def __init__(self, *failing: int) -> None:
        super().__init__()
        self.failing = failing
        self.requests: list[dict[str, Any]] = []

    def update_item(self, **request: Any) -> dict[str, Any]:
        self.requests.append(request)
        if len(self.requests) in self.failing:
            raise TimeoutError
        return super().update_item(**request)


class Updater(Boto3Updater):
    """Fails a call as a timeout does."""

    def _send(self, deadline: Deadline, request: Any) -> Any:
        try:
            return super()._send(deadline, request)
        except TimeoutError:
            return None


@pytest.fixture(autouse=True)
def in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        totals_table, "map_concurrently", lambda work, jobs, _: [work(job) for job in jobs]
    )


def apply(items: TotalsItems, *updates: GroupUpdate, now: float = AT) -> TotalsOutcome:
    updater = Updater(items)  # type: ignore[arg-type]
    return TotalsTable(updater, "T", lambda: now, NO_WAIT).apply(updates, LATER)


def old(number: int, sequence: int = 5, at: float = AT - 2 * HOUR) -> GroupUpdate:
    """Make an update of an old shard."""
    return update(change(sequence, at=at), shard=position_name(f"old-{number}"))


def filled(items: TotalsItems, shards: int = SHARDS) -> None:
    """Count a row in each of many old shards; the next update moves their positions."""
    for number in range(shards):
        apply(items, old(number))


def counted(items: TotalsItems) -> int:
    return int(items.items[GROUP]["count"]["N"])


def names(items: TotalsItems, key: Any = GROUP) -> set[str]:
    return set(positions_of(items.items.get(key, {})))


def archived(items: TotalsItems) -> None:
    filled(items)
    apply(items, update(change(9)))
    assert names(items) == {SHARD}
    assert len(names(items, ARCHIVE)) == SHARDS
    assert counted(items) == SHARDS + 1


def test_old_positions_move_to_the_archive_when_there_are_many() -> None:
    items = Table()
    archived(items)
    assert len(items.items[GROUP]["archived"]["B"]) == 8
    assert int(items.items[ARCHIVE]["expires"]["N"]) > AT + 26 * HOUR


@pytest.mark.parametrize("shards", [1, LEAST_MOVED, MOST_POSITIONS - 1])
def test_a_total_with_few_positions_has_no_archive(shards: int) -> None:
    items = Table()
    filled(items, shards)
    apply(items, update(change(9)))
    assert items.items.keys() == {GROUP}
    assert len(items.requests) == shards + 1


def test_positions_of_the_last_half_hour_stay() -> None:
    items = Table()
    for number in range(SHARDS):
        apply(items, old(number, at=AT - 30 * MINUTE))
    apply(items, update(change(9)))
    assert items.items.keys() == {GROUP}


def test_a_record_that_was_archived_is_not_added_again() -> None:
    items = Table()
    archived(items)
    for number in range(SHARDS):
        outcome = apply(items, old(number))
        assert (outcome.covered, outcome.updates, outcome.unfinished) == (1, 0, [])
    assert counted(items) == SHARDS + 1


def test_old_records_behind_an_archived_position_are_added_once() -> None:
    items = Table()
    archived(items)
    shard = position_name("old-3")
    late = update(*(change(number, at=AT - 2 * HOUR) for number in (4, 5, 6, 7)), shard=shard)
    outcome = apply(items, late)
    assert (outcome.covered, outcome.updates) == (1, 1)
    assert counted(items) == SHARDS + 3
    assert apply(items, late).updates == 0
    assert counted(items) == SHARDS + 3


def test_old_records_of_a_shard_that_was_never_counted_are_added() -> None:
    items = Table()
    archived(items)
    outcome = apply(items, old(1000))
    assert (outcome.covered, outcome.updates) == (0, 1)
    assert counted(items) == SHARDS + 2
    assert apply(items, old(1000)).covered == 1


def test_new_records_of_any_shard_take_one_call() -> None:
    items = Table()
    archived(items)
    before = len(items.requests)
    apply(items, update(change(10)))
    apply(items, update(change(1, at=AT + 60), shard=position_name("new")))
    apply(items, update(change(6, at=AT), shard=position_name("old-1")))
    assert len(items.requests) == before + 3
    assert counted(items) == SHARDS + 4


def test_a_mark_is_later_than_all_archived_records_even_if_their_times_are_out_of_order() -> None:
    items = Table()
    archived(items)
    disordered = AT - 2 * HOUR + 15 * MINUTE - 1
    outcome = apply(items, old(2, sequence=4, at=disordered))
    assert (outcome.covered, outcome.updates) == (1, 0)
    assert counted(items) == SHARDS + 1


@pytest.mark.parametrize("failing", [1, 2, 3])
def test_a_move_that_stops_anywhere_does_no_harm(failing: int) -> None:
    items = Table(SHARDS + 1 + failing)
    filled(items)
    apply(items, update(change(9)))
    assert counted(items) == SHARDS + 1
    for number in range(SHARDS):
        assert apply(items, old(number)).updates == 0
    apply(items, update(change(10)))
    assert names(items) == {SHARD}
    for number in range(SHARDS):
        assert apply(items, old(number)).updates == 0
    assert counted(items) == SHARDS + 2


def test_an_update_that_waits_while_its_shard_is_archived_is_not_made() -> None:
    """Another function has added the same records, and their position is archived already."""
    items = Table()
    archived(items)
    late = old(1000)
    mark = from_boto3(items.items[GROUP])["archived"]
    waiting = late.after_archive(from_boto3(items.items[ARCHIVE]), mark)
    assert waiting
    apply(items, late)
    for number in range(2000, 2000 + SHARDS):
        apply(items, old(number))
    apply(items, update(change(11)))
    assert names(items) == {SHARD}
    before = counted(items)
    outcome = apply(items, waiting)
    assert (outcome.covered, outcome.updates) == (1, 0)
    assert counted(items) == before


def test_an_archive_that_changed_since_it_was_read_is_not_overwritten() -> None:
    items = Table()
    filled(items)
    apply(items, update(change(9)))
    read = from_boto3(items.items[ARCHIVE])
    moved = {position_name("old-1"): encode_position(6, AT - 2 * HOUR)}
    for version in (b"first", b"again"):
        request = store("T", read, moved, at=AT, now=AT, version=version)
        result = Updater(items)._send(LATER, request)  # type: ignore[arg-type]
        assert isinstance(result, dict) == (version == b"first")


def test_a_position_that_moved_on_is_not_removed() -> None:
    items = Table()
    filled(items)
    item = from_boto3(items.items[GROUP])
    moved = movable({**item, SHARD: encode_position(9, AT)}, SHARD, AT)
    assert len(moved) == SHARDS
    apply(items, old(1, sequence=6))
    Updater(items)._send(LATER, remove_moved("T", item, moved, b"12345"))  # type: ignore[arg-type]
    assert len(names(items)) == SHARDS


def test_a_mark_never_goes_back() -> None:
    items = Table()
    archived(items)
    item = from_boto3(items.items[GROUP])
    older = {position_name("x"): encode_position(1, AT - 5 * HOUR)}
    request = remove_moved("T", item, older, b"\xff" * 5)
    mark = request["ExpressionAttributeValues"][":mark"]["B"]
    assert mark[:4] == item["archived"]["B"][:4]
    assert mark != item["archived"]["B"]


def test_expired_positions_leave_the_archive() -> None:
    items = Table()
    archived(items)
    later = AT + 30 * HOUR
    for number in range(SHARDS):
        apply(items, old(100 + number, at=later - 2 * HOUR), now=later)
    apply(items, update(change(20, at=later)), now=later)
    assert names(items, ARCHIVE) == {position_name(f"old-{100 + n}") for n in range(SHARDS)}


def test_no_write_is_wasted_when_expired_and_other_old_positions_go() -> None:
    """The update removes the expired ones, the next update moves the others."""
    items = Table()
    for number in range(10):
        apply(items, old(number, at=AT - 30 * HOUR))
    for number in range(10, 10 + SHARDS):
        items.items[GROUP][position_name(f"old-{number}")] = {
            "B": b64decode(encode_position(5, AT - 2 * HOUR)["B"])
        }
    calls = []
    for sequence in (20, 21, 22):
        items.requests.clear()
        apply(items, update(change(sequence)))
        calls.append(len(items.requests))
    assert calls == [2, 4, 1], "an update and a removal; an update and a move; an update"
    assert names(items) == {SHARD}
    assert len(names(items, ARCHIVE)) == SHARDS


@pytest.mark.parametrize(
    ("late", "least", "most"), [(LEAST_MOVED - 1, 1, 1), (LEAST_MOVED, 3, 4), (6, 3, 4)]
)
def test_a_change_of_a_late_shard_takes_four_calls_at_most(
    late: int, least: int, most: int
) -> None:
    """Its position is archived again after each change: three calls, and a share of a move."""
    items = Table()
    for sequence in range(1, 31):
        for number in range(MOST_POSITIONS):
            apply(items, update(change(sequence), shard=position_name(f"live-{number}")))
        for number in range(late):
            apply(items, old(number, sequence=sequence))
    assert counted(items) == 30 * (MOST_POSITIONS + late)
    calls = len(items.requests) - 30 * MOST_POSITIONS
    assert least <= calls / (30 * late) <= most


def test_a_move_has_no_more_positions_than_one_call_takes() -> None:
    item = {position_name(str(n)): encode_position(1, AT - 2 * HOUR) for n in range(500)}
    assert len(movable(item, SHARD, AT)) == MOST_MOVED


def test_an_archive_is_no_total() -> None:
    items = Table()
    archived(items)
    archive = from_boto3(items.items[ARCHIVE])
    assert amounts_of(archive) == {}
    assert expire_leftover("T", archive, AT + 100 * HOUR) is None


def test_a_verification_notices_an_update_whose_position_was_archived_at_once() -> None:
    item = {**update(change(1)).request("T")["Key"], "count": {"N": "1"}}
    marked = {**item, "archived": {"B": "AAAA"}}
    assert StoredTotal.of(item).version != StoredTotal.of(marked).version


def test_groups_with_any_characters_have_archives_of_their_own() -> None:
    groups = [("t.1#a\0b", "c"), ("t.1#a", "b\0c"), ("t.1#a", "#b"), ("t.1#a#", "b"), ("1", "1")]
    assert len({archive_key(group)["PK"]["S"] for group in groups}) == len(groups)
