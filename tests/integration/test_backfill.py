"""A backfill fills the view from existing tables while the stream is live."""

from typing import Any

import pytest

from adminview.aws.deadline import Deadline
from adminview.local.local_cloud import LocalCloud
from tests.support.backfill_workers import (
    LATER,
    Traffic,
    begin_and_kill,
    bulk_of,
    difference,
    done_by,
    fill,
    work,
    work_and_die,
)

ITEMS = 20_000  # minutes on moto, which looks through a whole table for every page and owner
SEGMENTS = 2
RUN = "backfill/Users"


def user(number: int) -> dict[str, Any]:
    return {
        "userId": {"S": f"user-{number}"},
        "name": {"S": "Ada"},
        "email": {"S": "ada@shop.example"},
        "createdAt": {"S": "2025-01-02T10:00:00Z"},
        "isActive": {"BOOL": True},
    }


@pytest.mark.slow
def test_a_backfill_that_is_killed_twice_ends_exact_beside_a_service_that_goes_on_writing(
    cloud: LocalCloud,
) -> None:
    """Kill a process of the command, then the work of another; nothing deleted may come back."""
    users = [user(number) for number in range(ITEMS)]
    fill(cloud, "Users", users)
    assert not cloud.settle()  # the view is empty, and the stream has nothing to tell
    with Traffic(cloud, "Users", users).flowing() as traffic:
        begin_and_kill(cloud, "Users", SEGMENTS, after=1)
        first = done_by(bulk_of(cloud), RUN)
        work_and_die(cloud, RUN, after=first + ITEMS // 2, later=LATER)
        second = done_by(bulk_of(cloud), RUN)
        outcome = work(bulk_of(cloud, later=2 * LATER), RUN)
    assert outcome.finished, outcome.trouble
    assert 0 < first < second < outcome.counts["items"]  # each went on where the last one ended
    assert traffic.written > SEGMENTS
    assert difference(cloud) == ""
    assert (
        bulk_of(cloud).built(deadline=Deadline.after(600))[RUN]["model"]
        == cloud.registry.fingerprint
    )
