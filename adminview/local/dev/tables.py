"""Create the tables of a model, add indexes, and replace tables if this command owns the engine."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from adminview.aws.settings import Settings
from adminview.aws.table_description import Key, TableDescription, TableIndex
from adminview.local.dev.items import scan
from adminview.local.tables import (
    add_indexes,
    create,
    progress_table,
    source_table,
    totals_table,
    view_table,
)
from adminview.model import Registry
from adminview.model.errors import SettingsError
from adminview.model.readiness import progress_table as progress_name
from adminview.model.row import Attributes
from adminview.model.source import Source
from adminview.model.stream import VIEW_TYPE, turn_on
from adminview.model.stream import replace as replace_stream
from adminview.model.total import totals_table as totals_name

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


@dataclass(slots=True)
class Prepared:
    """The streams to follow, and what was changed."""

    streams: list[str] = field(default_factory=list)
    view_stream: str | None = None  # None: the model has no totals
    created: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)  # about tables that were replaced
    items: dict[str, list[Attributes]] = field(default_factory=dict)  # of sources replaced
    deleted_streams: list[str] = field(default_factory=list)
    existed: bool = False  # whether the view table existed before
    emptied: bool = False  # whether the view table was replaced


@dataclass(frozen=True, slots=True)
class DevTables:
    dynamodb: "DynamoDBClient"
    owned: bool  # this command started the engine, so it may replace tables

    def prepare(self, registry: Registry, settings: Settings) -> Prepared:
        """Create what is missing, and return the streams to follow.

        Replaces a table that differs from the model if this command started the engine. Otherwise
        changes nothing, and raises a SettingsError that says what to do.
        """
        done = Prepared()
        view = view_table(registry, settings.view_table)
        if not self.owned:
            self._refuse_others(registry, settings, view)
        for source in registry.sources:
            table = source_table(source, settings.sources[source.name])
            self._prepare_source(source, table, done)
        self._prepare_view(view, done)
        self._create(progress_table(progress_name(settings.view_table)), done)
        if registry.totals:
            self._create(totals_table(totals_name(settings.view_table)), done)
        for source in registry.sources:
            done.streams.append(self._stream(settings.sources[source.name]))
        if registry.totals:
            done.view_stream = self._stream(settings.view_table)
        return done

    def describe(self, name: str) -> TableDescription | None:
        """Describe a table; None if there is none."""
        try:
            return TableDescription.of(self.dynamodb.describe_table(TableName=name)["Table"])
        except self.dynamodb.exceptions.ResourceNotFoundException:
            return None

    def _refuse_others(self, registry: Registry, settings: Settings, view: dict[str, Any]) -> None:
        """Raise a SettingsError for the first table that cannot be changed to its declaration."""
        sources = (source_table(s, settings.sources[s.name]) for s in registry.sources)
        for table in (view, *sources):
            expected = TableDescription.of(table)
            actual = self.describe(expected.name)
            problem = next(differences(expected, actual), None) if actual else None
            if problem:
                msg = f"{problem}: {_delete(expected.name)}"
                raise SettingsError(msg)
            if actual and expected.stream_type:
                _check_stream(actual)

    def _prepare_source(self, source: Source, table: dict[str, Any], done: Prepared) -> None:
        name = table["TableName"]
        actual = self.describe(name)
        problem = next(differences(TableDescription.of(table), actual), None) if actual else None
        if actual is None or problem is None:
            self._create(table, done)
            return
        items = list(scan(self.dynamodb, name))
        self._delete(actual, done)
        create(self.dynamodb, table)
        done.lines.append(f"{problem}: created the table again")
        done.items[source.name] = items

    def _prepare_view(self, table: dict[str, Any], done: Prepared) -> None:
        """Create or extend the view table; if needed, replace it with its totals and progress."""
        name = table["TableName"]
        actual, expected = self.describe(name), TableDescription.of(table)
        done.existed = actual is not None
        if actual is not None and self.owned:
            problems = [*differences(expected, actual), *leftovers(expected, actual)]
            if problems:
                for old in (name, totals_name(name), progress_name(name)):
                    if described := self.describe(old):
                        self._delete(described, done)
                done.emptied = True
                create(self.dynamodb, table)
                done.lines.append(f"{problems[0]}: created the table again")
                return
        self._create(table, done)

    def _create(self, table: dict[str, Any], done: Prepared) -> None:
        """Create a table, or the global indexes that it lacks."""
        name = table["TableName"]
        if self.describe(name) is None:
            create(self.dynamodb, table)
            # No line about tables that were deleted together with the view table.
            done.created += [] if done.emptied else [name]
        else:
            added = add_indexes(self.dynamodb, table)
            done.created += [f"index {index} of {name}" for index in added]

    def _delete(self, table: TableDescription, done: Prepared) -> None:
        self.dynamodb.delete_table(TableName=table.name)
        self.dynamodb.get_waiter("table_not_exists").wait(TableName=table.name)
        if table.stream_arn:
            done.deleted_streams.append(table.stream_arn)

    def _stream(self, name: str) -> str:
        table = self.describe(name)
        assert table
        return _check_stream(table)


def differences(expected: TableDescription, actual: TableDescription) -> Iterator[str]:
    """Yield the differences that an update cannot remove; a new global index is not one."""
    if expected.key != actual.key:
        yield (
            f"table {expected.name!r} is declared with {_key(expected.key)}, but has "
            f"{_key(actual.key)}"
        )
    for index in expected.indexes:
        actual_index = actual.index(index.name)
        if actual_index is None and not index.local:
            continue
        if actual_index is None or not index.is_equivalent(actual_index):
            has = f"has {_shape(actual_index)}" if actual_index else "does not exist"
            yield (
                f"table {expected.name!r}: index {index.name!r} is declared with {_shape(index)}, "
                f"but {has}"
            )


def leftovers(expected: TableDescription, actual: TableDescription) -> Iterator[str]:
    """Yield differences that only a new table removes, and that most models tolerate.

    An index that is no longer declared may refuse new rows, because of its key types.
    """
    if expected.stream_type and not actual.stream_type:
        yield f"table {expected.name!r} has no stream, which totals need"
    for index in actual.indexes:
        if expected.index(index.name) is None:
            yield f"table {expected.name!r}: index {index.name!r} is no longer declared"


def _check_stream(table: TableDescription) -> str:
    """Return the stream of a table, or raise a SettingsError that says how to enable it."""
    name = table.name
    if table.stream_type is None:
        msg = f"table {name!r} has no stream. {turn_on(name)}"
        raise SettingsError(msg)
    if table.stream_type != VIEW_TYPE:
        msg = f"table {name!r} has a stream of {table.stream_type}. {replace_stream(name)}"
        raise SettingsError(msg)
    return table.stream_arn or ""


def _delete(table: str) -> str:
    return (
        f"correct the declaration, or delete the table (aws dynamodb delete-table --table-name "
        f"{table}) and start `adminview dev` again, which creates it and rebuilds its rows"
    )


def _key(key: Key) -> str:
    kinds = {"N": " (number)", "B": " (binary)"}
    return "key (" + ", ".join(f"{name}{kinds.get(kind, '')}" for name, kind in key) + ")"


def _shape(index: TableIndex) -> str:
    included = f" {', '.join(index.include)}" if index.include else ""
    return f"{_key(index.partition + index.sort)} and projection {index.projection}{included}"
