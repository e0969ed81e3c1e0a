"""`adminview cost`: what a load costs a month, beside the usual way."""

import json
import os
import sys
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Final

import boto3
import typer

from adminview.aws.settings import SYNC_FUNCTION_OUTPUT
from adminview.cli.costing.comparison import Comparison, compare_load, compare_observed
from adminview.cli.costing.load import EXAMPLE, read_loads
from adminview.cli.costing.observed import observe
from adminview.cli.costing.prices import Prices
from adminview.cli.costing.sampled import describe, parse_items
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.find import find_settings, known_source
from adminview.cli.deployment.stacks import SYNC
from adminview.cli.options import Json, Prefix, Stage
from adminview.cli.output.cost import as_data, show
from adminview.cli.output.printing import Console, print_json
from adminview.model.errors import SettingsError
from adminview.views import registry

LONGEST_HOURS: Final = 24 * 14
STDIN: Final = "-"
EXPECTED: Final = "say the load in one way: --load FILE, --source NAME --changes N, or --measured"

Entry = dict[str, Any]  # one source, as a description has it


def cost(  # noqa: PLR0913 - the command's options
    *,
    load: Annotated[
        str | None, typer.Option(help=f"A file such as {EXAMPLE}; - is the standard input.")
    ] = None,
    source: Annotated[str | None, typer.Option(help="Describe one source, here.")] = None,
    changes: Annotated[float | None, typer.Option(min=0, help="Its changes a second.")] = None,
    item_bytes: Annotated[float | None, typer.Option(min=0, help="The size of its items.")] = None,
    items: Annotated[float | None, typer.Option(min=0, help="How many items it has.")] = None,
    rows: Annotated[float | None, typer.Option(min=0, help="Rows of an item.")] = None,
    row_bytes: Annotated[float | None, typer.Option(min=0, help="The size of a row.")] = None,
    unchanged: Annotated[
        float | None, typer.Option(min=0, max=1, help="The share of changes that no row shows.")
    ] = None,
    repeated: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="The share that a later one of its batch overrules."),
    ] = None,
    appearing: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="The share with which an item comes or goes."),
    ] = None,
    index: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=ROWS[:MOVES]",
            help="Rows of an item in an index, and the share of writes that move them there.",
        ),
    ] = None,
    sample: Annotated[
        str | None,
        typer.Option(
            help="A file of items in JSON (- is the input): the views tell their rows and indexes."
        ),
    ] = None,
    measured: Annotated[
        bool, typer.Option("--measured", help="Take what a deployment has used.")
    ] = False,
    hours: Annotated[
        int, typer.Option(min=1, max=LONGEST_HOURS, help="How long to look back, with --measured.")
    ] = 24,
    prices: Annotated[
        Path | None, typer.Option(help="A file of prices in JSON, for those that differ.")
    ] = None,
    as_json: Json = False,
    stage: Stage = None,
    prefix: Prefix = "",
) -> None:
    """Print the monthly bill of a load, line by line, beside that of the usual way.

    What is not told is assumed, and said. Examples:

    adminview cost --source Orders --changes 100 --sample orders.json

    adminview cost --source Orders --changes 100 --rows 3 --unchanged 0.25 --index GSI1=1:0.5

    adminview cost --load load.json --prices eu-west-1.json

    adminview cost --measured --stage prod --hours 168
    """
    told: Entry = {
        "changesPerSecond": changes,
        "itemBytes": item_bytes,
        "items": items,
        "rows": rows,
        "rowBytes": row_bytes,
        "unchanged": unchanged,
        "repeated": repeated,
        "appearing": appearing,
        "indexes": dict(map(_member, index)) if index else None,
    }
    told = {name: value for name, value in told.items() if value is not None}
    if [load is not None, source is not None, measured].count(True) != 1:
        raise typer.BadParameter(EXPECTED, param_hint="load")
    if source is None and (told or sample is not None):
        msg = "--changes, --rows and the like describe the one source that --source names"
        raise typer.BadParameter(msg, param_hint="source")
    asked = Prices().override(_read(str(prices), "prices")) if prices else Prices()
    notes: list[str] = []
    if measured:
        compared = [_measured(stage, prefix, hours)]
        if (region := boto3.Session().region_name) != asked.region:
            notes.append(f"The deployment is in {region}, and these are prices of {asked.region}")
    else:
        if sample is not None:
            notes.append(_add_sample(str(source), told, sample))
        given = _read(load, "load") if load is not None else {source: told}
        compared = [compare_load(one, registry()) for one in read_loads(given, registry())]
    if as_json:
        print_json(json.dumps(as_data(compared, asked, notes), indent=2))
    else:
        show(compared, asked, notes, Console())


def _member(given: str) -> tuple[str, dict[str, float]]:
    """Read such as GSI1=1:0.5, of which the last part may be left out."""
    name, _, numbers = given.partition("=")
    rows, colon, moves = numbers.partition(":")
    try:
        return name, {"rows": float(rows)} | ({"moves": float(moves)} if colon else {})
    except ValueError as error:
        msg = f"{given!r} is not such as GSI1=1 or GSI1=1:0.5"
        raise typer.BadParameter(msg, param_hint="index") from error


def _add_sample(source: str, told: Entry, file: str) -> str:
    """Add what items tell to what was told, which counts more; and say what that was."""
    items = parse_items(_read(file, "sample"))
    try:
        found = describe(known_source(registry(), source), items, registry())
    except (ArithmeticError, AttributeError, TypeError, ValueError) as error:
        msg = f"sample: {file} has an item that DynamoDB would not give: a value is not of its type"
        raise SettingsError(msg) from error
    taken = [name for name in found if name not in told]
    told |= {name: found[name] for name in taken}
    return f"From {len(items)} sampled: {', '.join(taken) or 'nothing'}"


def _measured(stage: str | None, prefix: str, hours: int) -> Comparison:
    deployment = Deployment.from_options(stage, prefix, os.environ)
    settings = find_settings(registry(), deployment)
    function = deployment.output(SYNC, SYNC_FUNCTION_OUTPUT)
    return compare_observed(
        observe(deployment.aws, settings, function, hours, datetime.now(tz=UTC))
    )


def _read(file: str, what: str) -> Any:
    """Read JSON; numbers keep their digits, for items have them."""
    try:
        text = sys.stdin.read() if file == STDIN else Path(file).read_text(encoding="utf-8")
        return json.loads(text, parse_float=Decimal if what == "sample" else float)
    except UnicodeDecodeError as error:
        msg = f"{what}: {file} is not text in UTF-8"
        raise SettingsError(msg) from error
    except (ValueError, RecursionError) as error:  # its text names a place, and quotes nothing
        msg = f"{what}: {file} is not JSON: {error}"
        raise SettingsError(msg) from error
