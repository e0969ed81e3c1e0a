"""`adminview smoke` on the local cloud: what that cannot show is unknown, and nothing is left."""

import json
import signal
import subprocess
import sys
from typing import Any

from tests.support.e2e.api_client import Api
from tests.support.e2e.cloud import Checkout, surroundings
from tests.support.model import FAVOURITE, PAYMENT, PRODUCT, USER, order

SAMPLE = {
    "Users": [USER],
    "Products": [PRODUCT],
    "Payments": [PAYMENT],
    "Orders": [order(TransactionId="txn-abc-456"), FAVOURITE],
}
TABLES = (*SAMPLE, "AdminViewTable")
# What a deployment on this cloud shows by itself; all else is about AWS.
PASSED = {1, 2, 9}


def keys(checkout: Checkout) -> set[str]:
    """Read the keys of all items and rows."""
    dynamodb = checkout.client("dynamodb")
    return {
        json.dumps(item, sort_keys=True, default=str)
        for table in TABLES
        for page in dynamodb.get_paginator("scan").paginate(TableName=table)
        for item in page["Items"]
    }


def command(checkout: Checkout, *words: str) -> list[str]:
    """Write the sample items, and return the command on the deployment without a prefix."""
    sample = checkout.folder / "items.jsonl"
    lines = [
        json.dumps({"source": source, "item": item})
        for source, items in SAMPLE.items()
        for item in items
    ]
    sample.write_text("\n".join(lines))
    options = ("--prefix", "", "--items-file", str(sample), "--json", *words)
    return [sys.executable, "-m", "adminview.cli.main", "smoke", *options]


def test_every_check_passes_or_is_unknown_and_cleans_up(checkout: Checkout) -> None:
    before = keys(checkout)
    # This cloud names an API by path, not by host.
    done = checkout.run(*command(checkout, "--api-url", Api(checkout).url))
    report: Any = json.loads(done.stdout)
    statuses = {check["number"]: check["status"] for check in report["checks"]}
    assert {n for n, status in statuses.items() if status == "passed"} == PASSED, done.stdout
    assert {status for number, status in statuses.items() if number not in PASSED} == {"unknown"}
    assert (done.returncode, report["counts"]["failed"]) == (1, 0)
    assert "000000000000" not in done.stdout
    checkout.deadline(lambda: keys(checkout) == before, "smoke leaves items or rows behind")


def test_ctrl_c_deletes_what_was_written(checkout: Checkout) -> None:
    """Disable a mapping, so that the first check waits for rows that never come."""
    before, functions = keys(checkout), checkout.client("lambda")
    mapping = json.loads(checkout.outputs("Sync")["Mappings"])["Orders"]
    functions.update_event_source_mapping(UUID=mapping, Enabled=False)
    try:
        with subprocess.Popen(
            command(checkout, "--only", "1"),
            cwd=checkout.folder,
            env=surroundings() | dict(checkout.environment),
            stdout=subprocess.PIPE,
            text=True,
        ) as smoke:
            checkout.deadline(lambda: keys(checkout) != before, "smoke writes an item")
            smoke.send_signal(signal.SIGINT)
            printed, _ = smoke.communicate(timeout=60)
        assert keys(checkout) == before
        assert smoke.returncode == 1
        (check,) = json.loads(printed)["checks"]
        assert (check["status"], check["seen"]) == ("unknown", "the run was interrupted")
    finally:
        functions.update_event_source_mapping(UUID=mapping, Enabled=True)
