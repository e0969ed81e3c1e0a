"""A record is decoded completely and routed by its exact table name, or dead-lettered."""

import re
from typing import Any

import pytest

from adminview.model.errors import SettingsError
from adminview.sync.decode import routes
from adminview.sync.plan import RecordOutcome
from tests.support.batches import letters, prepared
from tests.support.fakes import planned
from tests.support.model import USER, registry
from tests.support.stream_records import record

users = registry().source("Users")


@pytest.mark.parametrize(
    ("invalidate", "reason"),
    [
        (lambda r: r.update(eventSourceARN="arn:x:table/Nope/stream/1"), "no source .* 'Nope'"),
        (lambda r: r.pop("eventSourceARN"), "does not name its stream"),
        (lambda r: r["dynamodb"].pop("NewImage"), "must be NEW_AND_OLD_IMAGES"),
        (lambda r: r.update(eventName="MODIFY"), "must be NEW_AND_OLD_IMAGES"),
        (lambda r: r.update(eventName="WHAT"), "must be NEW_AND_OLD_IMAGES"),
        (lambda r: r["dynamodb"].pop("Keys"), "not a valid stream"),
        (lambda r: r["dynamodb"].update(Keys="x"), "not a valid stream"),
        (
            lambda r: r["dynamodb"].update(Keys={"userId": {"N": "1"}}),
            "'userId' .* must be text, but is a number",
        ),
        (
            lambda r: r["dynamodb"].update(ApproximateCreationDateTime=10**400),
            "not a valid stream",
        ),
        (
            lambda r: r["dynamodb"].update(ApproximateCreationDateTime=-1),
            "not a valid stream",
        ),
        (lambda r: r["dynamodb"].update(Keys={}), "'userId' .* must be text, but is missing"),
        (lambda r: r.pop("dynamodb"), "not a valid stream"),
        (lambda r: r.clear(), "does not name its stream"),
    ],
)
def test_an_invalid_record_is_dead_lettered_with_the_reason(invalidate: Any, reason: str) -> None:
    spoiled = record(users, None, USER, 1)
    invalidate(spoiled)
    batch = prepared(spoiled, record(users, None, USER, 2))
    assert batch.outcomes == [RecordOutcome.DEAD_LETTERED, RecordOutcome.WRITTEN]
    (letter,) = letters(batch)
    assert letter["error"]["kind"] == "UnreadableRecordError"
    assert re.search(reason, letter["error"]["reason"])
    assert "ada@shop.example" not in batch.letters[0].body


def test_a_batch_of_unreadable_records_still_says_whose_it_is() -> None:
    spoiled = record(users, None, USER)
    del spoiled["dynamodb"]["Keys"]
    assert prepared(spoiled).source == "Users"
    assert prepared({}).source == ""


def test_routing_is_by_the_exact_name_of_the_table() -> None:
    followed = routes(registry(), {"Users": "prod-Users"})
    assert set(followed) == {"prod-Users", "Orders", "Products", "Payments"}
    for table in ("Users", "my-prod-Users", "prod-Users2"):
        batch = planned([record(users, None, USER, table=table)], followed, "m")
        assert batch.outcomes == [RecordOutcome.DEAD_LETTERED]
    batch = planned([record(users, None, USER, table="prod-Users")], followed, "m")
    assert batch.outcomes == [RecordOutcome.WRITTEN]


def test_two_sources_of_one_table_and_tables_of_no_source_are_refused() -> None:
    with pytest.raises(SettingsError, match="sources 'Orders' and 'Users' share table 'same'"):
        routes(registry(), {"Users": "same", "Orders": "same"})
    with pytest.raises(SettingsError, match="map a table to Userz, which no view file declares"):
        routes(registry(), {"Userz": "prod-Users"})
