"""A source table that exists already, as cdk.json describes it.

Synthesis calls nobody, so the table cannot be asked: the context has to say where its stream is
and what the stream carries, and a contradiction is found here rather than by the first record.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from aws_cdk import aws_dynamodb as dynamodb

from adminview.cdk.options.context import given_or, is_nothing
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
    """A table that others own, and the stream that we follow."""

    table_name: str
    table_arn: str
    stream_arn: str

    @classmethod
    def of(cls, source: Source, table: dynamodb.ITable | dynamodb.ITableV2) -> "ImportedTable":
        """Take a table of the same CDK app, or raise a SettingsError if it has no usable stream."""
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
    def read(cls, source: str, given: object) -> "ImportedTable":
        """Read one entry of the context's `sources`, or say what is wrong and what to do."""
        for problem in _problems(given):
            msg = f"context sources.{source}: {problem}"
            raise SettingsError(msg)
        assert isinstance(given, Mapping)
        stream_arn = given["streamArn"]
        return cls(_table_of(given), stream_arn.partition("/stream/")[0], stream_arn)


def _view_type(table: dynamodb.ITable | dynamodb.ITableV2) -> str | None:
    """Return what a table's stream carries; None if that is not known before it is deployed.

    `TableV2` sets it only when the app is synthesized.
    """
    made = table.node.default_child
    if not isinstance(made, dynamodb.CfnTable):
        return None
    return str(getattr(made.stream_specification, "stream_view_type", VIEW_TYPE))


def _problems(given: object) -> Iterator[str]:
    if not isinstance(given, Mapping):
        yield f"expected an object with {', '.join(KEYS)}; found {type(given).__name__}"
        return
    if unknown := sorted(set(given) - set(KEYS)):
        yield f"unknown {', '.join(map(repr, unknown))}; there are {', '.join(KEYS)}"
    yield from _table_problems(given)
    yield from _stream_problems(given)


def _table_problems(given: Mapping[str, Any]) -> Iterator[str]:
    named = [key for key in ("tableName", "tableArn") if not is_nothing(given.get(key))]
    if len(named) != 1:
        yield f"give either tableName or tableArn; {' and '.join(named) or 'neither'} was given"
        return
    if named == ["tableArn"] and not TABLE_ARN.fullmatch(str(given["tableArn"])):
        yield (
            f"tableArn {given['tableArn']!r} is not the ARN of a DynamoDB table, such as "
            "arn:aws:dynamodb:<region>:<account>:table/<name>"
        )
    if named == ["tableName"] and not TABLE_NAME.fullmatch(str(given["tableName"])):
        yield f"tableName {given['tableName']!r}: it has 3 to 255 of A-Z a-z 0-9 _ . -"


def _stream_problems(given: Mapping[str, Any]) -> Iterator[str]:
    table, stream = _table_of(given), given.get("streamArn")
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
    table_arn = given_or(given.get("tableArn"), arn["table_arn"])
    if arn["table"] != table or table_arn != arn["table_arn"]:
        other = given_or(given.get("tableArn"), table)
        yield f"streamArn belongs to {arn['table_arn']}, not to {other}. {_look_up(table)}"
    yield from _view_type_problems(table, given.get("streamViewType"))


def _view_type_problems(table: str, view_type: object) -> Iterator[str]:
    why = "Nothing calls AWS during synthesis, so the context has to state it"
    if not view_type:
        yield f'streamViewType is missing; "{VIEW_TYPE}" is needed. {why}. {_look_up(table)}'
    elif view_type != VIEW_TYPE:
        yield (
            f"streamViewType is {view_type!r}; {VIEW_TYPE} is needed, for a change is told by both "
            f"images. {replace(table)}"
        )


def _table_of(given: Mapping[str, Any]) -> str:
    """Name the table, by whichever of its two names was given."""
    return str(given_or(given.get("tableName"), str(given.get("tableArn")).rpartition("/")[2]))


def _look_up(table: str) -> str:
    return (
        f"Look it up with: aws dynamodb describe-table --table-name {table} "
        "--query 'Table.[LatestStreamArn,StreamSpecification]'"
    )
