"""Each change is added to its total exactly once, whatever calls fail."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pytest
from botocore.exceptions import (
    ConnectTimeoutError,
    EndpointConnectionError,
    ParamValidationError,
    ReadTimeoutError,
)

from adminview.aws import totals_table
from adminview.aws.deadline import Deadline
from adminview.aws.retry import Backoff
from adminview.aws.totals_table import Boto3Updater, TotalsOutcome, TotalsTable
from adminview.model.errors import ServiceError
from adminview.totals.position import HOUR, encode_position, position_name
from adminview.totals.update import TRIAL, GroupUpdate
from tests.support.fakes import NO_WAIT, refusal
from tests.support.totals_items import TotalsItems
from tests.support.totals_records import AT, GROUP, SHARD, change, update

NO_RESPONSE = ReadTimeoutError(endpoint_url="http://127.0.0.1")
LATER = Deadline.after(3600)

Call = Callable[[dict[str, Any]], dict[str, Any]]
Fault = Callable[[Call, dict[str, Any]], dict[str, Any]]


class FaultyTable(TotalsItems):
    """A totals table whose calls fail in turn as given; None succeeds."""

    def __init__(self, *faults: Fault | None) -> None:
        super().__init__()
        self.faults = list(faults)
        self.requests: list[dict[str, Any]] = []

    def update_item(self, **request: Any) -> dict[str, Any]:
        self.requests.append(request)
        fault = self.faults.pop(0) if self.faults else None

        def call(arguments: dict[str, Any]) -> dict[str, Any]:
            return TotalsItems.update_item(self, **arguments)

        return fault(call, request) if fault else call(request)


def raises(error: Exception) -> Fault:
    """Fail without an effect."""

    def fail(_: Call, __: dict[str, Any]) -> dict[str, Any]:
        raise error

    return fail


def applied(error: Exception) -> Fault:
    """Take effect, and fail."""

    def fail(call: Call, request: dict[str, Any]) -> dict[str, Any]:
        call(request)
        raise error

    return fail


def answers(response: Callable[[dict[str, Any]], dict[str, Any]]) -> Fault:
    """Take effect, and return another response."""
    return lambda call, request: response(call(request))


@pytest.fixture(autouse=True)
def in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the calls one by one, so that faults meet the calls they are meant for."""
    monkeypatch.setattr(
        totals_table, "map_concurrently", lambda work, jobs, _: [work(job) for job in jobs]
    )


def apply(
    table: FaultyTable,
    *updates: GroupUpdate,
    deadline: Deadline = LATER,
    backoff: Backoff = NO_WAIT,
) -> TotalsOutcome:
    updater = Boto3Updater(table)  # type: ignore[arg-type]
    return TotalsTable(updater, "T", lambda: AT, backoff).apply(updates, deadline)


def counts(table: TotalsItems) -> dict[str, int]:
    return {
        sort: int(item["count"]["N"]) for (_, sort), item in table.items.items() if sort != TRIAL[1]
    }


def group(sort: str, *changes: Any) -> GroupUpdate:
    return GroupUpdate((GROUP[0], sort), SHARD, changes)


def test_a_group_is_added_with_one_call() -> None:
    table = FaultyTable()
    outcome = apply(table, update(change(1), change(2), change(3)))
    assert counts(table) == {"2025": 3}
    assert len(table.requests) == 1
    assert outcome == TotalsOutcome(updates=1)


@pytest.mark.parametrize("first_fault", [raises(NO_RESPONSE), applied(NO_RESPONSE)])
@pytest.mark.parametrize("second_fault", [None, raises(NO_RESPONSE), applied(NO_RESPONSE)])
def test_a_call_without_a_response_is_repeated_and_counts_once(
    first_fault: Fault, second_fault: Fault | None
) -> None:
    table = FaultyTable(first_fault, second_fault)
    outcome = apply(table, update(change(1), change(2)))
    assert counts(table) == {"2025": 2}
    assert outcome.unfinished == []
    assert [*outcome.errors] == ["ReadTimeoutError"]


def test_a_call_that_arrives_after_its_repetition_changes_nothing() -> None:
    late: list[Callable[[], object]] = []

    def hold(call: Call, request: dict[str, Any]) -> dict[str, Any]:
        late.append(lambda: call(request))
        raise NO_RESPONSE

    table = FaultyTable(hold)
    apply(table, update(change(1), change(2)))
    with pytest.raises(Exception, match="ConditionalCheckFailed"):
        late[0]()
    assert counts(table) == {"2025": 2}


@pytest.mark.parametrize(
    "error",
    [
        refusal("ThrottlingException", "UpdateItem"),
        refusal("ProvisionedThroughputExceededException", "UpdateItem"),
        refusal("InternalServerError", "UpdateItem", 500),
        refusal("TransactionConflictException", "UpdateItem"),
        ConnectTimeoutError(endpoint_url="http://127.0.0.1"),
        EndpointConnectionError(endpoint_url="http://127.0.0.1"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_transient_errors_are_retried_with_a_growing_pause(error: Exception) -> None:
    pauses: list[float] = []
    table = FaultyTable(*[raises(error)] * 3)
    backoff = Backoff(pauses.append, lambda _, longest: longest)
    outcome = apply(table, update(change(1)), backoff=backoff)
    assert counts(table) == {"2025": 1}
    assert pauses == [0.05, 0.1, 0.2]
    assert outcome.unfinished == []


def test_a_few_throttled_calls_do_not_slow_down_the_others() -> None:
    pauses: list[float] = []
    throttled = raises(refusal("ThrottlingException", "UpdateItem"))
    faults = [throttled if number % 100 == 0 else None for number in range(1000)]
    backoff = Backoff(pauses.append, lambda _, longest: longest)
    apply(FaultyTable(*faults), *(group(str(n), change(1)) for n in range(900)), backoff=backoff)
    assert max(pauses) == 0.05


@pytest.mark.parametrize("code", ["AccessDeniedException", "ResourceNotFoundException"])
def test_an_error_that_no_retry_cures_fails_the_batch(code: str) -> None:
    table = FaultyTable(raises(refusal(code, "UpdateItem")))
    with pytest.raises(ServiceError, match=code):
        apply(table, update(change(1)))


def test_changes_that_the_total_includes_are_left_out() -> None:
    table = FaultyTable()
    apply(table, update(change(1), change(2)))
    outcome = apply(table, update(change(1), change(2), change(3)))
    assert counts(table) == {"2025": 3}
    assert (outcome.updates, outcome.covered) == (1, 1)
    outcome = apply(table, update(change(2), change(3)))
    assert counts(table) == {"2025": 3}
    assert (outcome.updates, outcome.covered) == (0, 1)


def test_another_shard_has_another_position() -> None:
    table = FaultyTable()
    apply(table, update(change(5)))
    apply(table, update(change(3), shard=position_name("shardId-2")))
    assert counts(table) == {"2025": 2}


def refuse_with(item: Any) -> Fault:
    error = refusal("ConditionalCheckFailedException", "UpdateItem")
    if item is not None:
        error.response["Item"] = item  # type: ignore[typeddict-unknown-key]
    return raises(error)


FOREIGN_KEY = {"PK": {"S": "Other.1"}, "SK": {"S": "2025"}, "count": {"N": "9"}}
OWN_KEY = {"PK": {"S": GROUP[0]}, "SK": {"S": GROUP[1]}, "count": {"N": "9"}}
COVERING = {SHARD: {"B": b"\x01\x09\x00\x00\x00"}}  # of record 9


@pytest.mark.parametrize(
    "item",
    [
        None,
        {},
        OWN_KEY,
        FOREIGN_KEY | COVERING,
        OWN_KEY | COVERING | {"SK": {"S": "2024"}},
        OWN_KEY | {SHARD: {"B": b"\x01\x00\x00\x00\x00"}},  # of a record before
    ],
    ids=["no item", "empty", "no position", "other partition", "other group", "not covered"],
)
def test_a_refusal_without_the_position_of_this_group_leaves_nothing_out(item: Any) -> None:
    table = FaultyTable(refuse_with(item), refuse_with(item))
    outcome = apply(table, update(change(1)))
    assert counts(table) == {"2025": 1}
    assert (outcome.updates, outcome.covered) == (1, 0)
    assert [*outcome.errors] == ["ConditionalCheckFailedException"]


@pytest.mark.parametrize(
    "response",
    [
        lambda _: {},
        lambda _: {"Attributes": {}},
        lambda response: {"Attributes": response["Attributes"] | {"SK": {"S": "2024"}}},
        lambda response: {
            "Attributes": response["Attributes"] | {SHARD: {"B": b"\x01\x00\x00\x00\x00"}}
        },
    ],
)
def test_a_response_that_is_not_about_this_update_counts_as_none(response: Any) -> None:
    table = FaultyTable(answers(response))
    outcome = apply(table, update(change(1)))
    assert counts(table) == {"2025": 1}
    assert [*outcome.errors] == ["NotFromAwsError"]
    assert (outcome.updates, outcome.covered) == (0, 1)


def is_trial(request: dict[str, Any]) -> bool:
    return bool(request["Key"]["PK"]["S"] == TRIAL[0])


def refuses(*bad: int) -> Fault:
    """Refuse each call with one of the *bad* records, by its amount."""

    def check(call: Call, request: dict[str, Any]) -> dict[str, Any]:
        if is_trial(request):
            return call(request)
        amount = int(request["ExpressionAttributeValues"][":a1"]["N"])
        if any(amount & 1 << record for record in bad):
            raise refusal("ValidationException", "UpdateItem")
        return call(request)

    return check


@pytest.mark.parametrize("bad", [(0,), (7,), (3,), (0, 7), (2, 3, 4), tuple(range(8))])
def test_an_update_is_halved_until_the_change_that_dynamodb_refuses_is_alone(
    bad: tuple[int, ...],
) -> None:
    table = FaultyTable(*[refuses(*bad)] * 100)
    changes = [change(record, a=1 << record) for record in range(8)]
    outcome = apply(table, update(*changes))
    good = [record for record in range(8) if record not in bad]
    assert outcome.refused == len(bad)
    assert outcome.unfinished == []
    if good:
        assert int(table.items[GROUP]["a"]["N"]) == sum(1 << record for record in good)
        assert counts(table) == {"2025": len(good)}
    assert len(table.requests) <= 15 + 1  # one trial


REFUSED = refusal("ValidationException", "UpdateItem")


def test_a_table_that_refuses_every_update_fails_the_batch_and_no_change_is_skipped() -> None:
    table = FaultyTable(*[raises(REFUSED)] * 100)
    with pytest.raises(ServiceError, match="refuses every update"):
        apply(table, group("a", change(1), change(2)), group("b", change(3)))
    assert [is_trial(request) for request in table.requests] == [False, False, True]
    assert table.items == {}


@pytest.mark.parametrize("trouble", [NO_RESPONSE, refusal("ThrottlingException", "UpdateItem")])
def test_a_trial_without_a_result_is_repeated_before_anything_is_skipped(
    trouble: Exception,
) -> None:
    table = FaultyTable(raises(REFUSED), raises(trouble), raises(REFUSED))
    outcome = apply(table, update(change(1)))
    assert [is_trial(request) for request in table.requests] == [False, True, False, True]
    assert (outcome.refused, outcome.unfinished) == (1, [])


def test_a_refused_change_is_unfinished_if_no_trial_is_possible() -> None:
    clock = iter([0.0, 0.0, 9.0, 9.0, 9.0, 9.0])
    table = FaultyTable(raises(REFUSED))
    outcome = apply(table, update(change(1)), deadline=Deadline(1.0, lambda: next(clock)))
    assert outcome.refused == 0
    assert [left.first_record for left in outcome.unfinished] == [1]


def test_a_change_that_boto3_refuses_is_skipped_too() -> None:
    table = FaultyTable(raises(ParamValidationError(report="x")))
    assert apply(table, update(change(1))).refused == 1


def test_an_overflow_is_skipped_and_the_other_changes_count() -> None:
    table = FaultyTable()
    apply(table, update(change(1, a="1E+28")))
    outcome = apply(table, update(change(2, a=1), change(3, a="1E-28"), change(4, a=2)))
    assert outcome.refused == 1
    assert int(table.items[GROUP]["a"]["N"]) == 10**28 + 3
    assert counts(table) == {"2025": 3}


def test_amounts_that_do_not_fit_one_call_are_sent_in_two() -> None:
    """Only what does not fit the total itself is refused."""
    table = FaultyTable()
    apply(table, update(change(1, a="-1E+28")))
    outcome = apply(table, update(change(2, a="1E+28"), change(3, a="1E-28")))
    assert outcome.refused == 0
    assert table.items[GROUP]["a"] == {"N": f"{Decimal('1E-28'):f}"}


def test_the_changes_behind_a_refused_one_are_unfinished_if_time_is_over() -> None:
    clock = iter(range(100))
    table = FaultyTable(*[refuses(0)] * 3, raises(NO_RESPONSE))
    ends = Deadline(8.0, lambda: float(next(clock)))
    outcome = apply(table, update(change(0, a=1), change(1, a=2), change(2, a=4)), deadline=ends)
    assert outcome.refused == 1
    assert [left.first_record for left in outcome.unfinished] == [1]


def test_nothing_is_sent_when_time_is_over() -> None:
    table = FaultyTable()
    outcome = apply(table, update(change(1)), deadline=Deadline.after(-1))
    assert table.requests == []
    assert [left.first_record for left in outcome.unfinished] == [1]


def test_a_call_that_is_not_started_in_time_is_unfinished() -> None:
    moments = iter([0.0, 0.0, 2.0, 2.0, 2.0, 2.0])
    outcome = apply(
        table := FaultyTable(),
        group("a", change(1)),
        group("b", change(2)),
        deadline=Deadline(1.0, lambda: next(moments)),
    )
    assert counts(table) == {"a": 1}
    assert [left.group[1] for left in outcome.unfinished] == ["b"]


def test_throttling_to_the_end_leaves_the_updates_unfinished() -> None:
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    throttled = raises(refusal("ThrottlingException", "UpdateItem"))
    table = FaultyTable(*[throttled] * 1000)
    outcome = apply(
        table,
        group("a", change(4)),
        group("b", change(2)),
        deadline=Deadline(60.0, lambda: now[0]),
        backoff=Backoff(sleep, lambda _, longest: longest),
    )
    assert sorted(left.first_record for left in outcome.unfinished) == [2, 4]
    assert len(table.requests) < 60
    assert now[0] == pytest.approx(60)


def test_one_group_that_fails_does_not_hold_up_the_others() -> None:
    def only_b(call: Call, request: dict[str, Any]) -> dict[str, Any]:
        if request["Key"]["SK"]["S"] == "b":
            raise refusal("ThrottlingException", "UpdateItem")
        return call(request)

    table = FaultyTable(*[only_b] * 6)
    outcome = apply(table, *(group(sort, change(1)) for sort in "abc"))
    assert counts(table) == {"a": 1, "b": 1, "c": 1}
    assert outcome.unfinished == []


def test_many_groups_are_sent_in_rounds() -> None:
    sizes: list[int] = []

    class Counting(Boto3Updater):
        def send(self, requests: Sequence[Any], deadline: Deadline) -> Sequence[Any]:
            sizes.append(len(requests))
            return super().send(requests, deadline)

    table = FaultyTable()
    updates = [group(str(number), change(1)) for number in range(250)]
    updater = Counting(table)  # type: ignore[arg-type]
    outcome = TotalsTable(updater, "T", lambda: AT, NO_WAIT).apply(iter(updates), LATER)
    assert sizes == [totals_table.CALLS_PER_ROUND] * 2 + [50]
    assert outcome.updates == 250
    assert len(table.items) == 250


def test_upkeep_that_fails_fails_nothing() -> None:
    table = FaultyTable(None, None, raises(NO_RESPONSE), None)
    apply(table, update(change(1)))
    outcome = apply(table, update(change(2, -1)))
    assert outcome == TotalsOutcome(updates=1)
    assert "expires" not in table.items[GROUP]
    apply(table, update(change(3, 0)))
    assert "expires" in table.items[GROUP]


def test_old_positions_are_removed_after_an_update() -> None:
    table = FaultyTable()
    for number in range(8):
        days_ago = change(1, at=AT - 48 * HOUR)
        apply(table, update(days_ago, shard=position_name(f"old-{number}")))
    apply(table, update(change(9)))
    assert [name for name in table.items[GROUP] if name[0] == "@"] == [SHARD]
    assert counts(table) == {"2025": 9}


def test_positions_are_stored_as_bytes() -> None:
    table = FaultyTable()
    apply(table, update(change(258)))
    stored = table.items[GROUP][SHARD]["B"]
    assert stored[:3] == b"\x02\x01\x02"
    assert len(stored) == 6
    assert encode_position(258, AT)["B"]
