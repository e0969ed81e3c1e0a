"""`adminview cost`: the monthly cost of a workload, compared with the baseline."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import boto3
import typer

from adminview.aws.settings import SYNC_FUNCTION_OUTPUT, TOTALS_FUNCTION_OUTPUT
from adminview.aws.table_description import TableDescription
from adminview.cli.costing.comparison import CostComparison, compare_load, compare_observed
from adminview.cli.costing.load import EXAMPLE, read_loads
from adminview.cli.costing.observed import observe
from adminview.cli.costing.prices import Prices
from adminview.cli.costing.sampled import describe
from adminview.cli.costing.warm_up import WarmUpCost
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.find import find_settings, known_source
from adminview.cli.deployment.stacks import SYNC, TOTALS
from adminview.cli.errors import usage_errors
from adminview.cli.options import Json, Prefix, Stage
from adminview.cli.output.cost import as_data, show
from adminview.cli.output.printing import Console, doing, print_json
from adminview.item_files import items_of, read_text
from adminview.model.errors import SettingsError
from adminview.views import registry

LONGEST_HOURS: Final = 24 * 14
EXPECTED: Final = "give exactly one of --load FILE, --source NAME --changes N, and --measured"

Entry = dict[str, Any]  # one source of a load file


def cost(  # noqa: PLR0913 - the command's options
    *,
    load: Annotated[
        str | None,
        typer.Option(metavar="FILE", help=f"Load in JSON, such as {EXAMPLE}; - reads stdin."),
    ] = None,
    source: Annotated[
        str | None, typer.Option(help="Source that the following options describe.")
    ] = None,
    changes: Annotated[
        float | None, typer.Option(min=0, help="Changes per second of the source.")
    ] = None,
    item_bytes: Annotated[
        float | None, typer.Option(min=0, help="Average size of an item.")
    ] = None,
    items: Annotated[float | None, typer.Option(min=0, help="Number of items.")] = None,
    rows: Annotated[float | None, typer.Option(min=0, help="Average rows per item.")] = None,
    row_bytes: Annotated[float | None, typer.Option(min=0, help="Average size of a row.")] = None,
    unchanged: Annotated[
        float | None, typer.Option(min=0, max=1, help="Share of changes that change no row.")
    ] = None,
    repeated: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="Share of changes superseded by a later one in the same batch."
        ),
    ] = None,
    appearing: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Share of changes that create or delete an item."),
    ] = None,
    index: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=ROWS[:MOVES]",
            help="Rows per item in an index, and share of writes that change their index key.",
        ),
    ] = None,
    sample: Annotated[
        str | None,
        typer.Option(
            "--items-file",
            metavar="FILE",
            help="File of items from which the views derive rows and indexes: one per line, as for "
            "`adminview check`, or in JSON as `aws dynamodb scan` prints them; - reads stdin.",
        ),
    ] = None,
    measured: Annotated[
        bool, typer.Option("--measured", help="Use the measured usage of a deployment.")
    ] = False,
    hours: Annotated[
        int, typer.Option(min=1, max=LONGEST_HOURS, help="Hours of usage, with --measured.")
    ] = 24,
    prices: Annotated[
        Path | None, typer.Option(help="JSON file of prices that differ from the defaults.")
    ] = None,
    peak_wcu: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Add the one-time charge for raising the warm throughput to this many write units "
            "per second.",
        ),
    ] = None,
    as_json: Json = False,
    stage: Stage = None,
    prefix: Prefix = "",
) -> None:
    """Estimate the monthly cost of a workload and compare it with the baseline.

    Values that you leave out are assumed; the report lists them. Examples:

    adminview cost --source Orders --changes 100 --items-file orders.json

    adminview cost --source Orders --changes 100 --rows 3 --unchanged 0.25 --index GSI1=1:0.5

    adminview cost --load load.json --prices eu-west-1.json

    adminview cost --measured --stage prod --hours 168 --peak-wcu 20000
    """
    entry: Entry = {
        "changesPerSecond": changes,
        "itemBytes": item_bytes,
        "items": items,
        "rows": rows,
        "rowBytes": row_bytes,
        "unchanged": unchanged,
        "repeated": repeated,
        "appearing": appearing,
        "indexes": dict(map(_index_entry, index)) if index else None,
    }
    entry = {name: value for name, value in entry.items() if value is not None}
    if [load is not None, source is not None, measured].count(True) != 1:
        raise typer.BadParameter(EXPECTED, param_hint="load")
    if source is None and (entry or sample is not None):
        msg = "--changes, --rows and --items-file describe one source: name it with --source"
        raise typer.BadParameter(msg, param_hint="source")
    with usage_errors():
        price_list = Prices().override(_read(str(prices), "prices")) if prices else Prices()
    notes: list[str] = []
    once = WarmUpCost.of_new(peak_wcu, registry()) if peak_wcu else None
    if measured:
        doing("reading the measured usage")
        deployment = Deployment.from_options(stage, prefix, os.environ)
        compared = [_measured(deployment, hours)]
        once = _warm_up(deployment, peak_wcu) if peak_wcu else None
        if (region := boto3.Session().region_name) != price_list.region:
            notes.append(f"The deployment is in {region}; the prices are of {price_list.region}")
    else:
        with usage_errors():
            if sample is not None:
                notes.append(_add_sample(str(source), entry, sample))
            loads = _read(load, "load") if load is not None else {source: entry}
            compared = [compare_load(each, registry()) for each in read_loads(loads, registry())]
    if as_json:
        print_json(json.dumps(as_data(compared, price_list, notes, once), indent=2))
    else:
        show(compared, price_list, notes, Console(), once)


def _index_entry(text: str) -> tuple[str, dict[str, float]]:
    """Parse NAME=ROWS or NAME=ROWS:MOVES."""
    name, _, numbers = text.partition("=")
    rows, colon, moves = numbers.partition(":")
    try:
        return name, {"rows": float(rows)} | ({"moves": float(moves)} if colon else {})
    except ValueError as error:
        msg = f"{text!r} is not of the form GSI1=1 or GSI1=1:0.5"
        raise typer.BadParameter(msg, param_hint="index") from error


def _add_sample(source: str, entry: Entry, file: str) -> str:
    """Fill the gaps of *entry* from sampled items, and return a note that lists them."""
    text = _text(file, "items-file")
    try:
        items = items_of(source, text, file)
    except SettingsError as error:
        msg = f"items-file: {error}"
        raise SettingsError(msg) from error
    sampled = describe(known_source(registry(), source), items, registry())
    used = [name for name in sampled if name not in entry]
    entry |= {name: sampled[name] for name in used}
    sampled_items = "1 sampled item" if len(items) == 1 else f"{len(items)} sampled items"
    return f"From {sampled_items}: {', '.join(used) or 'nothing'}"


def _warm_up(deployment: Deployment, peak: int) -> WarmUpCost:
    table = find_settings(registry(), deployment).view_table
    described = deployment.aws.call("dynamodb", "DescribeTable", TableName=table)["Table"]
    return WarmUpCost.of_table(peak, TableDescription.of(described))


def _measured(deployment: Deployment, hours: int) -> CostComparison:
    settings = find_settings(registry(), deployment)
    function = deployment.output(SYNC, SYNC_FUNCTION_OUTPUT)
    totals = TOTALS_FUNCTION_OUTPUT if deployment.stack(TOTALS) else None
    return compare_observed(
        observe(
            deployment.aws,
            settings,
            function,
            hours,
            datetime.now(tz=UTC),
            totals_function=deployment.output(TOTALS, totals) if totals else None,
        )
    )


def _read(file: str, what: str) -> Any:
    """Read JSON from a file or stdin."""
    try:
        return json.loads(_text(file, what))
    except (ValueError, RecursionError) as error:  # the message quotes no data
        msg = f"{what}: {file} is not JSON: {error}"
        raise SettingsError(msg) from error


def _text(file: str, what: str) -> str:
    try:
        return read_text(file)
    except SettingsError as error:
        msg = f"{what}: {error}"
        raise SettingsError(msg) from error
