"""`adminview cost` of a described load: in options, in a file, or by a sample."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from adminview.aws.table_description import TableDescription
from adminview.cli.costing.load import EXAMPLE
from adminview.cli.costing.prices import Prices
from adminview.cli.costing.sampled import describe
from adminview.cli.costing.warm_up import WarmUpCost
from adminview.cli.errors import UsageError
from adminview.cli.main import app
from adminview.item_files import line_of, parse_items
from adminview.model.errors import SettingsError
from adminview.model.item import encode
from tests.support.model import FAVOURITE, order, registry

ORDERS = ("--source", "Orders", "--changes", "100")


def run(*words: str, stdin: str | None = None) -> Any:
    return CliRunner().invoke(app, ["cost", *words], input=stdin, env={"COLUMNS": "100"})


def estimate(*words: str, stdin: str | None = None) -> Any:
    done = run(*words, "--json", stdin=stdin)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_a_load_in_options_is_the_same_as_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "load.json"
    file.write_text(EXAMPLE)
    options = ("--rows", "3", "--row-bytes", "600", "--unchanged", "0.25", "--index", "GSI1=1:0.5")
    estimated = estimate(*ORDERS, *options)
    assert estimated == estimate("--load", str(file)) == estimate("--load", "-", stdin=EXAMPLE)
    (bill,) = estimated["bills"]
    assert bill["name"] == "Orders"
    assert bill["lines"]["writes to GSI1"]["adminview"] == pytest.approx(182.25)
    assert bill["lines"]["writes to Owner"] == {"adminview": pytest.approx(48.6), "baseline": None}


def test_what_is_printed_can_be_given_again() -> None:
    estimated = estimate("--load", "-", stdin=EXAMPLE)
    loads = {bill["name"]: bill["load"] for bill in estimated["bills"]}
    again = estimate("--load", "-", stdin=json.dumps(loads))
    assert again["bills"] == estimated["bills"]
    assert again["assumed"] == []


def test_lines_add_up_to_the_sums() -> None:
    loads = '{"Orders": {"changesPerSecond": 100}, "Users": {"changesPerSecond": 3, "items": 1e7}}'
    estimated = estimate("--load", "-", stdin=loads)
    for bill in (*estimated["bills"], estimated["total"]):
        for side in ("adminview", "baseline"):
            lines = sum(line[side] or 0 for line in bill["lines"].values())
            assert bill["month"][side] == pytest.approx(lines)
        assert bill["ratio"] == pytest.approx(
            bill["month"]["baseline"] / bill["month"]["adminview"]
        )
    months = [bill["month"]["adminview"] for bill in estimated["bills"]]
    assert estimated["total"]["month"]["adminview"] == pytest.approx(sum(months))
    assert estimated["total"]["changesPerSecond"] == 103


def test_people_see_each_source_the_sum_the_prices_and_what_was_assumed() -> None:
    loads = '{"Orders": {"changesPerSecond": 100}, "Users": {"changesPerSecond": 3, "rows": 2}}'
    done = run("--load", "-", stdin=loads)
    assert done.exit_code == 0
    shown = " ".join(done.stdout.split())
    for words in (
        "Orders: 100 changes per second, US dollars per month",
        "Users: 3 changes per second",
        "all sources: 103 changes per second",
        "reads of the stream (free for Lambda) 0.00 0.00",
        "writes to the table 162.00 162.00",
        "Assumed for Users: items of 1,024 bytes; no items, so no storage; rows of 1,024",
        f"Prices: us-east-1, {Prices().as_of}, on demand",
        "Not counted: free tiers",
    ):
        assert words in shown


def test_nothing_at_all_costs_nothing_a_change() -> None:
    (bill,) = estimate("--source", "Orders", "--changes", "0")["bills"]
    assert bill["perMillionChanges"] == {"adminview": None, "baseline": None}
    assert bill["month"]["baseline"] == 0
    assert run("--source", "Orders", "--changes", "0").exit_code == 0


@pytest.mark.parametrize(
    ("changes", "shown"), [("0.5", "0.5"), ("3", "3"), ("12345", "12,345"), ("1e6", "1,000,000")]
)
def test_a_rate_is_shown_as_people_write_it(changes: str, shown: str) -> None:
    done = run("--source", "Orders", "--changes", changes)
    assert f"Orders: {shown} changes per second" in done.stdout


def test_other_prices_are_used_and_printed(tmp_path: Path) -> None:
    file = tmp_path / "prices.json"
    file.write_text('{"region": "eu-west-1", "write_units": 0}')
    estimated = estimate(*ORDERS, "--prices", str(file))
    assert estimated["prices"]["region"] == "eu-west-1"
    assert estimated["prices"]["log_bytes"] == Prices().log_bytes
    assert estimated["bills"][0]["lines"]["writes to the table"] == {"adminview": 0, "baseline": 0}


def test_a_sample_gives_rows_sizes_and_indexes_and_options_override_it(
    tmp_path: Path,
) -> None:
    file = tmp_path / "orders.json"
    file.write_text(json.dumps([order(), FAVOURITE]))
    estimated = estimate(*ORDERS, "--row-bytes", "2000", "--items-file", str(file))
    load = estimated["bills"][0]["load"]
    assert load["rows"] == 2  # an order with two products, and a favourite
    assert load["rowBytes"] == 2000
    members = {name: index["rows"] for name, index in load["indexes"].items()}
    assert members == {"GSI1": 0.5, "GSI2": 1.0, "OrderDashboard": 0.5}
    assert "From 2 sampled items: itemBytes, rows, indexes" in estimated["assumed"]
    assert "user-123" not in run(*ORDERS, "--items-file", str(file)).output


def test_a_file_of_items_of_several_sources_gives_those_of_one(tmp_path: Path) -> None:
    """The file that tests write, and that `check`, `dev` and `smoke` read."""
    file = tmp_path / "items.jsonl"
    lines = [line_of("Users", {"userId": {"S": "u"}}), line_of("Orders", encode(order())["M"])]
    file.write_text("\n".join(lines))
    notes = estimate(*ORDERS, "--items-file", str(file))["assumed"]
    assert "From 1 sampled item: itemBytes, rows, rowBytes, indexes" in notes
    done = run("--source", "Products", "--changes", "1", "--items-file", str(file))
    assert "has no item of the source 'Products'" in str(done.exception)


def test_items_are_read_as_people_write_them_and_as_aws_prints_them() -> None:
    encoded = {name: encode(value) for name, value in order().items()}
    for document in (
        order(),
        [order()],
        encoded,
        {"Item": encoded},
        {"Items": [encoded], "Count": 1},
    ):
        assert parse_items(document) == [encoded]


@pytest.mark.parametrize("document", [None, [], {}, 3, [3], {"Items": []}, [{}]])
def test_what_is_no_item_is_refused(document: object) -> None:
    with pytest.raises(SettingsError, match="expected an item or a list of items"):
        parse_items(document)


def test_items_that_no_view_is_for_have_no_rows() -> None:
    strange = {"CustomerId": encode("user-123"), "SK": encode("BASKET#1")}
    load = describe(registry().source("Orders"), [strange], registry())
    assert (load["rows"], load["rowBytes"], load["indexes"]) == (0, 0, {})


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ((), "give exactly one of --load"),
        ((*ORDERS, "--measured"), "give exactly one of --load"),
        (("--changes", "100"), "give exactly one of --load"),
        (("--measured", "--rows", "3"), "name it with --source"),
        (("--load", "-", "--items-file", "-"), "name it with --source"),
        ((*ORDERS, "--index", "GSI1"), "'GSI1' is not of the form GSI1=1"),
        ((*ORDERS, "--unchanged", "25"), "less than or equal to 1"),
        (("--measured", "--hours", "0"), "greater than or equal to 1"),
    ],
)
def test_options_that_make_no_sense_are_refused(words: tuple[str, ...], reason: str) -> None:
    done = run(*words)
    assert done.exit_code == 2
    assert reason in " ".join(done.output.replace("│", " ").split())


# A number that is none; the rest is an order.
ODD = json.dumps(
    {
        "CustomerId": {"S": "user-123"},
        "SK": {"S": "2025-03-01#1"},
        "OrderId": {"S": "1"},
        "Status": {"S": "PENDING"},
        "OrderDate": {"S": "2025-03-01"},
        "CreatedAt": {"S": "2025-03-01T10:00:00Z"},
        "Items": {"L": []},
        "Total": {"N": "secret"},
    }
)


@pytest.mark.parametrize(
    ("words", "stdin", "reason"),
    [
        (("--source", "Orders"), "", "Orders: changesPerSecond is missing"),
        (("--source", "Order", "--changes", "1"), "", "unknown source 'Order'"),
        ((*ORDERS, "--index", "GSI9=1"), "", "unknown index"),
        ((*ORDERS, "--index", "GSI1=2"), "", "GSI1.rows is 2.0; an item has 1 rows"),
        ((*ORDERS, "--index", "GSI1=nan"), "", "GSI1.rows is nan; expected a number"),
        (("--load", "-"), "{", "load: - is not JSON"),
        (("--load", "-"), "[]", "load: expected an object such as"),
        (("--load", "-"), '{"Orders": {"changesPerSecond": 1e999}}', "is inf; expected a number"),
        ((*ORDERS, "--items-file", "-"), "[]", "items-file: expected an item"),
        ((*ORDERS, "--items-file", "-"), "[" * 100_000, "items-file: not JSON"),
        ((*ORDERS, "--items-file", "-"), ODD, "a value that does not match its DynamoDB type"),
        (
            ("--source", "Order", "--changes", "1", "--items-file", "-"),
            "{}",
            "items-file: expected",
        ),
        (
            (*ORDERS, "--items-file", "-"),
            '{"CustomerId": "secret"}',
            "key attribute 'SK' of source 'Orders' must be text, but is missing",
        ),
        ((*ORDERS, "--prices", "absent.json"), "", "absent.json"),
    ],
)
def test_what_cannot_be_estimated_is_reported(
    words: tuple[str, ...], stdin: str, reason: str
) -> None:
    done = run(*words, stdin=stdin)
    assert isinstance(done.exception, UsageError)
    assert reason in str(done.exception)
    assert "secret" not in str(done.exception)


def test_warm_throughput_is_charged_once_for_the_table_and_each_index(tmp_path: Path) -> None:
    assert "warmThroughput" not in estimate(*ORDERS)
    estimated = estimate(*ORDERS, "--peak-wcu", "20000")
    names = ["the view table", *(index.name for index in registry().indexes)]
    raised = dict.fromkeys(names, 16_000)
    dollars = len(names) * 16 * Prices().warm_throughput
    assert estimated["warmThroughput"] == {
        "peakWriteUnits": 20_000,
        "raised": raised,
        "dollars": pytest.approx(dollars),
    }
    assert estimated["bills"] == estimate(*ORDERS)["bills"], "it is no monthly cost"
    assert f"${dollars:,.2f}" in run(*ORDERS, "--peak-wcu", "20000").output
    file = tmp_path / "prices.json"
    file.write_text('{"warm_throughput": 1}')
    other = estimate(*ORDERS, "--peak-wcu", "20000", "--prices", str(file))
    assert other["warmThroughput"]["dollars"] == len(names) * 16


def test_a_peak_that_a_new_table_takes_costs_nothing() -> None:
    assert estimate(*ORDERS, "--peak-wcu", "4000")["warmThroughput"]["dollars"] == 0
    assert "already" in run(*ORDERS, "--peak-wcu", "4000").output


def test_a_deployed_table_is_charged_for_what_it_lacks() -> None:
    table = TableDescription.of(
        {
            "KeySchema": [],
            "WarmThroughput": {"WriteUnitsPerSecond": 12_000},
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": name,
                    "KeySchema": [],
                    "Projection": {"ProjectionType": "ALL"},
                    "WarmThroughput": {"WriteUnitsPerSecond": units},
                }
                for name, units in {"GSI1": 30_000, "GSI2": 19_000}.items()
            ],
        }
    )
    assert WarmUpCost.of_table(20_000, table).raised == {"the view table": 8_000, "GSI2": 1_000}
