"""`adminview smoke` on the local cloud: what that cannot show is unknown, and nothing is left."""

import json
import sys
from typing import Any

from tests.support.e2e.api_client import Api
from tests.support.e2e.cloud import Checkout
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


def test_every_check_passes_or_is_unknown_and_cleans_up(checkout: Checkout) -> None:
    sample = checkout.folder / "sample.jsonl"
    lines = [
        json.dumps({"source": source, "item": item})
        for source, items in SAMPLE.items()
        for item in items
    ]
    sample.write_text("\n".join(lines))
    before = keys(checkout)
    # This cloud names an API by path, not by host.
    words = ("--prefix", "", "--items-file", str(sample), "--api-url", Api(checkout).url, "--json")
    command = (sys.executable, "-m", "adminview.cli.main", "smoke", *words)
    done = checkout.run(*command)
    report: Any = json.loads(done.stdout)
    statuses = {check["number"]: check["status"] for check in report["checks"]}
    assert {number for number, status in statuses.items() if status == "passed"} == PASSED, (
        done.stdout
    )
    assert {status for number, status in statuses.items() if number not in PASSED} == {"unknown"}
    assert (done.returncode, report["counts"]["failed"]) == (1, 0)
    assert "000000000000" not in done.stdout
    checkout.deadline(lambda: keys(checkout) == before, "smoke leaves items or rows behind")
