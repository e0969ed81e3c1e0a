"""`adminview preview`: the rows that one item becomes."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from adminview.aws.clients import Clients
from adminview.aws.deadline import Deadline
from adminview.aws.source_tables import SourceReader
from adminview.cli.commands.item import key_of
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.find import find_settings, known_source
from adminview.cli.errors import UsageError, usage_errors
from adminview.cli.options import Json, Prefix, Stage
from adminview.cli.output.preview import as_data, show
from adminview.cli.output.printing import Console, print_json
from adminview.item_files import STDIN, parse_items, parse_json, read_text
from adminview.model import Registry, Source
from adminview.model.errors import QueryError, RecordError, SettingsError
from adminview.model.item import Image
from adminview.preview import preview_item
from adminview.reconcile.item_ref import target_by_key
from adminview.sync.decode import routes
from adminview.views import registry

SECONDS = 30.0


def preview(
    source: Annotated[str, typer.Argument(help="Name of the source, such as Orders.")],
    item: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE | - | KEY...",
            help="JSON file with the item, - for standard input, or the item's key: partition key, "
            "then sort key. A single value is a file if it exists or ends in .json.",
        ),
    ],
    *,
    as_json: Json = False,
    stage: Stage = None,
    prefix: Prefix = "",
) -> None:
    """Show the rows, index entries and totals of one item, and the views that apply to it.

    Give the item as plain JSON or DynamoDB JSON, or give its key. With a key, the
    command reads the item from the deployment or from the local engine. It writes
    nothing.

    Exit status: 0 the rows were derived (there may be none), 1 a view failed.
    """
    model = registry()
    declared = known_source(model, source)
    if _is_file(item):
        image = _read_file(item[0])
    else:
        deployment = Deployment.from_options(stage, prefix)
        image = _read_table(model, declared, item, deployment)
    with usage_errors():
        declared.key_of(image)
    derived = preview_item(model, declared, image)
    if as_json:
        print_json(json.dumps(as_data(derived, model), indent=2))
    else:
        show(derived, declared, model, Console())


def _is_file(words: Sequence[str]) -> bool:
    if len(words) > 1:
        return False
    return words[0] == STDIN or words[0].endswith(".json") or Path(words[0]).is_file()


def _read_file(file: str) -> Image:
    with usage_errors():
        text = read_text(file)
        try:
            items = parse_items(parse_json(text))
        except (SettingsError, RecordError) as error:
            if file == STDIN:
                raise
            msg = f"{file}: {error}"
            raise SettingsError(msg) from error
    if len(items) > 1:
        msg = f"{file} has {len(items)} items: preview takes one"
        raise UsageError(msg)
    return items[0]


def _read_table(
    model: Registry, source: Source, values: Sequence[str], deployment: Deployment
) -> Image:
    key = key_of(source, values)
    settings = find_settings(model, deployment)
    by_source = {route.source: route for route in routes(model, settings.sources).values()}
    target = target_by_key(by_source[source], key)
    image = SourceReader(Clients().dynamodb).read(
        target.route.table, dict(target.key), deadline=Deadline.after(SECONDS)
    )
    if image is None:
        msg = f"there is no item {target.owner} in table {target.route.table}"
        raise QueryError(msg)
    return image
