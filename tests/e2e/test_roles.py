"""Every function works with its own role alone, and needs all of it: on a cloud that enforces IAM.

The checks are made from the policies as they are deployed. `grants` lists where this cloud
differs from AWS, and what it cannot show. The cloud does not enforce the roles of state machines.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from adminview.aws.settings import BACKFILL_MACHINE_OUTPUT, MIGRATE_MACHINE_OUTPUT
from tests.support.e2e.closed import Closed
from tests.support.e2e.grants import UNSHOWN, losses, without_unshown
from tests.support.e2e.role_scenarios import ITEMS, POISON, SCENARIOS, Lab

TRIES = 3  # without a right that nobody misses: some are needed only when two write at once
MACHINE_SECONDS = 60.0


@pytest.fixture(scope="module")
def the_lab(closed: Closed) -> Lab:
    """Keep one place in the streams for all tests."""
    return Lab(closed)


@pytest.fixture
def lab(the_lab: Lab) -> Iterator[Lab]:
    """Leave nothing behind."""
    the_lab.empty()
    yield the_lab
    the_lab.empty()


def test_the_queue_takes_nothing_that_does_not_come_over_tls(closed: Closed) -> None:
    """What is in front of a service tells it how a call came; so a call can say that it did not."""

    def in_the_open(request: Any, **_: Any) -> None:
        request.headers["X-Forwarded-Proto"] = "http"

    send = {"QueueUrl": closed.queue, "MessageBody": "hello"}
    sqs = closed.client("sqs")
    sqs.send_message(**send)
    sqs.meta.events.register("before-sign.sqs", in_the_open)
    try:
        with pytest.raises(ClientError, match="AccessDenied"):
            sqs.send_message(**send)
    finally:
        sqs.meta.events.unregister("before-sign.sqs", in_the_open)


def test_every_deployed_function_has_its_scenario(closed: Closed) -> None:
    assert sorted(closed.functions) == sorted(SCENARIOS)
    roles = [function.role.name for function in closed.functions.values()]
    assert len({*roles}) == len(roles), "two functions share a role"


def test_what_cannot_be_shown_is_granted_somewhere(closed: Closed) -> None:
    roles = [function.role for function in closed.functions.values()]
    lost = [loss for role in roles for loss in losses(role.deployed)]
    unknown = [right for right in UNSHOWN if not any(loss.is_like(right) for loss in lost)]
    assert unknown == []


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_function_works_with_its_role_alone_and_needs_all_of_it(
    name: str, lab: Lab, tmp_path: Path
) -> None:
    role, work = lab.closed.functions[name].role, SCENARIOS[name]
    with lab.closed.only(name):
        work(lab)
        role.let(without_unshown(role.deployed))
        if trouble := _trouble(name, lab):
            pytest.fail(f"{name} misses what UNSHOWN says cannot be shown: {trouble}")
        table, superfluous = [], []
        for loss in losses(role.deployed):
            if loss.unshown:
                continue
            role.let(loss.left)
            trouble = next(
                (trouble_now for _ in range(TRIES) if (trouble_now := _trouble(name, lab))), ""
            )
            line = f"{name:<9} {loss.statement:<18} {loss.what:<75} {trouble or 'NOT MISSED'}"
            table.append(line)
            if not trouble:
                superfluous.append(line)
        role.let(role.deployed)
        trouble = _trouble(name, lab)
    written = "\n".join(table)
    (tmp_path / "grants.txt").write_text(written)
    assert trouble == "", f"{name} does not work any more with all its rights: {trouble}"
    assert table, f"{name} has no rights"
    assert superfluous == [], f"taken away, and not missed:\n\n{written}\n"


def test_a_change_becomes_a_row_through_the_deployed_mapping(lab: Lab) -> None:
    with lab.closed.only("Sync"), lab.closed.followed():
        lab.put("Users", ITEMS["Users"])
        expected = {*lab.rows_of("Users", ITEMS["Users"])}
        deadline = time.monotonic() + MACHINE_SECONDS
        while not expected <= lab.rows and time.monotonic() < deadline:
            time.sleep(0.2)
        assert expected <= lab.rows


def test_the_state_machines_do_their_work_with_the_functions_roles(lab: Lab) -> None:
    for source, item in ITEMS.items():
        lab.put(source, item)
    lab.put("Orders", POISON)
    with lab.closed.only("Backfill", "Migrate"), lab.closed.followed():
        _execute(lab, BACKFILL_MACHINE_OUTPUT, {"segments": 1})
        migration = {"migration": "orders-delivery-date", "segments": 1}
        _execute(lab, MIGRATE_MACHINE_OUTPUT, migration)
    assert lab.rows == lab.all_rows
    assert lab.waiting()["delayed"] == 1  # the dead letter about the poison
    key = {name: {"S": ITEMS["Orders"][name]} for name in ("CustomerId", "SK")}
    assert "DeliveryDate" in lab.dynamodb.get_item(TableName="Orders", Key=key)["Item"]


def _trouble(name: str, lab: Lab) -> str:
    """Do a function's work from the beginning, and say why it was not done, if it was not."""
    lab.empty()
    try:
        SCENARIOS[name](lab)
    except Exception as error:  # noqa: BLE001 - whatever goes wrong is what is looked for
        return f"{type(error).__name__}: {error}".partition("\n")[0][:160]
    return ""


def _execute(lab: Lab, machine: str, request: dict[str, Any]) -> None:
    states = lab.closed.client("stepfunctions")
    arn = lab.closed.output("Recovery", machine)
    begun = states.start_execution(stateMachineArn=arn, input=json.dumps(request))
    deadline = time.monotonic() + MACHINE_SECONDS
    while time.monotonic() < deadline:
        execution = states.describe_execution(executionArn=begun["executionArn"])
        if execution["status"] != "RUNNING":
            break
        time.sleep(0.2)
    assert execution["status"] == "SUCCEEDED", execution
