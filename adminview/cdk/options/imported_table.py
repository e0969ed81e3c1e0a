"""The option `sources`: an existing source table.

Synthesis makes no AWS calls, so the context states the stream's ARN and view type. A contradiction
is found here, before the first record is.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from aws_cdk import aws_dynamodb as dynamodb

from adminview.cdk.options.context import is_empty, value_or
from adminview.model import Source
from adminview.model.errors import SettingsError
from adminview.model.source import TABLE_NAME
from adminview.model.stream import VIEW_TYPE, replace, turn_on

KEYS: Final = ("tableName", "tableArn", "streamArn", "streamViewType")

_ARN = r"arn:[a-z-]+:dynamodb:[a-z0-9-]+:\d{12}:table/(?P<table>[A-Za-z0-9_.-]{3,255})"
TABLE_ARN: Final = re.compile(_ARN)
STREAM_ARN: Final = re.compile(rf"(?P<table_arn>{_ARN})/stream/[0-9T:.-]+")


@dataclass(frozen=True, slots=True)
class ImportedTable:
    """An existing table, and the stream that the sync reads."""

    table_name: str
    table_arn: str
    stream_arn: str

    @classmethod
    def of(cls, source: Source, table: dynamodb.ITable | dynamodb.ITableV2) -> "ImportedTable":
        """Use a table of the same CDK app, or raise a SettingsError if it has no usable stream."""
        if not table.table_stream_arn:
            msg = (
                f"the table of source {source.name!r} has no stream: create it with "
                f"stream=StreamViewType.{VIEW_TYPE}, or import it with its table_stream_arn"
            )
            raise SettingsError(msg)
        if (view_type := _view_type(table)) not in (None, VIEW_TYPE):
            msg = (
                f"the stream of source {source.name!r} carries {view_type}; a change is derived "
                f"from both images: create the table with stream=StreamViewType.{VIEW_TYPE}"
            )
            raise SettingsError(msg)
        return cls(table.table_name, table.table_arn, table.table_stream_arn)

    @classmethod
    def read(cls, source: str, value: object) -> "ImportedTable":
        """Read one entry of the context's `sources`, or raise a SettingsError."""
        for problem in _problems(value):
            msg = f"context sources.{source}: {problem}"
            raise SettingsError(msg)
        assert isinstance(value, Mapping)
        stream_arn = value["streamArn"]
        return cls(_table_of(value), stream_arn.partition("/stream/")[0], stream_arn)


def _view_type(table: dynamodb.ITable | dynamodb.ITableV2) -> str | None:
    """Return the view type of a table's stream; None if only the deployment knows it.

    `TableV2` sets it only when the app is synthesized.
    """
    resource = table.node.default_child
    if not isinstance(resource, dynamodb.CfnTable):
        return None
    return str(getattr(resource.stream_specification, "stream_view_type", VIEW_TYPE))


def _problems(value: object) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield f"expected an object with {', '.join(KEYS)}; found {type(value).__name__}"
        return
    if unknown := sorted(set(value) - set(KEYS)):
        yield f"unknown {', '.join(map(repr, unknown))}; there are {', '.join(KEYS)}"
    yield from _table_problems(value)
    yield from _stream_problems(value)


def _table_problems(entry: Mapping[str, Any]) -> Iterator[str]:
    named = [key for key in ("tableName", "tableArn") if not is_empty(entry.get(key))]
    if len(named) != 1:
        yield f"give either tableName or tableArn; {' and '.join(named) or 'neither'} was given"
        return
    if named == ["tableArn"] and not TABLE_ARN.fullmatch(str(entry["tableArn"])):
        yield (
            f"tableArn {entry['tableArn']!r} is not the ARN of a DynamoDB table, such as "
            "arn:aws:dynamodb:<region>:<account>:table/<name>"
        )
    if named == ["tableName"] and not TABLE_NAME.fullmatch(str(entry["tableName"])):
        yield f"tableName {entry['tableName']!r} must have 3 to 255 characters of A-Z a-z 0-9 _ . -"


def _stream_problems(entry: Mapping[str, Any]) -> Iterator[str]:
    table, stream = _table_of(entry), entry.get("streamArn")
    if not stream:
        yield f"streamArn is missing. {turn_on(table)}"
        return
    arn = STREAM_ARN.fullmatch(str(stream))
    if not arn:
        yield (
            f"streamArn {stream!r} is not the ARN of a DynamoDB stream, such as "
            f"arn:aws:dynamodb:<region>:<account>:table/{table}/stream/<time>. {_look_up(table)}"
        )
        return
    table_arn = value_or(entry.get("tableArn"), arn["table_arn"])
    if arn["table"] != table or table_arn != arn["table_arn"]:
        other = value_or(entry.get("tableArn"), table)
        yield f"streamArn belongs to {arn['table_arn']}, not to {other}. {_look_up(table)}"
    yield from _view_type_problems(table, entry.get("streamViewType"))


def _view_type_problems(table: str, view_type: object) -> Iterator[str]:
    why = "Synthesis makes no AWS calls, so the context has to state it"
    if not view_type:
        yield f'streamViewType is missing; "{VIEW_TYPE}" is needed. {why}. {_look_up(table)}'
    elif view_type != VIEW_TYPE:
        yield (
            f"streamViewType is {view_type!r}; {VIEW_TYPE} is needed, because a change is derived "
            f"from both images. {replace(table)}"
        )


def _table_of(entry: Mapping[str, Any]) -> str:
    """Return the table's name, from `tableName` or from `tableArn`."""
    return str(value_or(entry.get("tableName"), str(entry.get("tableArn")).rpartition("/")[2]))


def _look_up(table: str) -> str:
    return (
        f"Look it up with: aws dynamodb describe-table --table-name {table} "
        "--query 'Table.[LatestStreamArn,StreamSpecification]'"
    )
