"""`adminview local`: follow the streams of an endpoint with the sync function, until stopped."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from adminview.aws.boto3_clients import streams_client
from adminview.aws.call_errors import CallErrors
from adminview.aws.clients import Clients
from adminview.aws.settings import Settings
from adminview.aws.table_description import Key, TableDescription
from adminview.cli.dead_letters.files import LetterFile
from adminview.cli.endpoints import check_endpoints
from adminview.handlers.sync import sync
from adminview.local.event_source import EventSource
from adminview.local.event_source.on_failure import on_failure
from adminview.local.settings import ENDPOINT, declared
from adminview.local.tables import create, source_table, view_table
from adminview.model import Registry
from adminview.model.dead_letter import OutgoingLetter
from adminview.model.errors import SettingsError
from adminview.model.stream import VIEW_TYPE, turn_on
from adminview.model.stream import replace as replace_stream
from adminview.runtime import Runtime, make_runtime
from adminview.sync.counts import BatchCounts

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


@dataclass(frozen=True, slots=True)
class BatchPrinter:
    """An observer that prints a line per batch."""

    notify: Callable[[str], None]

    def invoked(self, request_id: str) -> None: ...

    def synced(
        self, counts: BatchCounts, letters: Sequence[OutgoingLetter], errors: CallErrors
    ) -> None:
        skipped = counts.unchanged + counts.no_view
        source = counts.source or "unknown source"
        self.notify(
            f"{source}: {counts.records} read = {counts.written} written + {skipped} skipped + "
            f"{counts.dead_lettered} dead-lettered + {counts.redelivered} redelivered; "
            f"{counts.rows_put} rows put, {counts.rows_deleted} deleted"
        )
        for letter in letters:
            self.notify(f"  dead letter {letter.sequence}: {letter.error}: {letter.reason}")
        if errors:
            self.notify(f"  failed calls: {', '.join(errors)}")


def settings_for(
    registry: Registry, environ: Mapping[str, str], view_table: str, queue_url: str
) -> Settings:
    """Return the settings of the declared tables.

    Raises a SettingsError without a custom endpoint: AWS itself has the deployed function.
    """
    if not environ.get(ENDPOINT):
        msg = (
            f"set {ENDPOINT} to the endpoint to follow, such as http://127.0.0.1:8000: "
            "on AWS, the deployed function does this"
        )
        raise SettingsError(msg)
    check_endpoints(environ, "DYNAMODB", "DYNAMODB_STREAMS", *(["SQS"] if queue_url else []))
    return declared(registry, queue_url, view_table)


def check_tables(registry: Registry, settings: Settings, dynamodb: "DynamoDBClient") -> list[str]:
    """Return the streams to follow. Raises a SettingsError if a table differs from the model."""
    _check_table(dynamodb, TableDescription.of(view_table(registry, settings.view_table)))
    streams = []
    for source in registry.sources:
        expected = TableDescription.of(source_table(source, settings.sources[source.name]))
        streams.append(_stream_of(_check_table(dynamodb, expected)))
    return streams


def _check_table(dynamodb: "DynamoDBClient", expected: TableDescription) -> TableDescription:
    name = expected.name
    try:
        actual = TableDescription.of(dynamodb.describe_table(TableName=name)["Table"])
    except dynamodb.exceptions.ResourceNotFoundException as error:
        msg = f"there is no table {name!r}; create it, or run with --create"
        raise SettingsError(msg) from error
    keys = [("the table", expected.key, actual.key), *_index_keys(expected, actual)]
    for what, declared_key, key in keys:
        if declared_key != key:
            has = f"has {_key(key)}" if key else "does not exist"
            msg = f"table {name!r}: {what} is declared with {_key(declared_key)}, but {has}"
            raise SettingsError(msg)
    return actual


def _index_keys(
    expected: TableDescription, actual: TableDescription
) -> Iterator[tuple[str, Key, Key]]:
    for index in expected.indexes:
        existing = actual.index(index.name)
        key = existing.partition + existing.sort if existing else ()
        yield f"index {index.name!r}", index.partition + index.sort, key


def _key(key: Key) -> str:
    return "key (" + ", ".join(name for name, _ in key) + ")"


def _stream_of(table: TableDescription) -> str:
    """Return the stream of a source table, or raise a SettingsError that says how to enable it."""
    name = table.name
    if table.stream_type is None:
        msg = f"table {name!r} has no stream. {turn_on(name)}"
        raise SettingsError(msg)
    if table.stream_type != VIEW_TYPE:
        msg = f"table {name!r} has a stream of {table.stream_type}. {replace_stream(name)}"
        raise SettingsError(msg)
    return table.stream_arn or ""


def follow(
    registry: Registry,
    settings: Settings,
    letters: Path,
    notify: Callable[[str], None],
    stop: Event,
) -> None:
    """Sync every source until *stop* is set. Dead letters go to the queue, or to a file."""
    clients = Clients()
    runtime = make_runtime(registry, settings, clients, BatchPrinter(notify))
    if not settings.dead_letter_queue_url:
        file = LetterFile(letters)
        file.create()  # fail now if the file cannot be written, not at the first dead letter
        runtime = replace(runtime, dead_letters=file)
    streams = check_tables(registry, settings, clients.dynamodb)
    notify(f"following {', '.join(settings.sources)}; Ctrl-C to stop")
    with ThreadPoolExecutor(len(streams)) as pool:
        running = [pool.submit(_event_source(stream, runtime).run, stop) for stream in streams]
        done, _ = wait(running, return_when=FIRST_EXCEPTION)
        stop.set()  # one failure stops the others
    for future in done:
        future.result()


def create_missing(registry: Registry, settings: Settings) -> list[str]:
    """Create missing tables and return their names."""
    dynamodb = Clients().dynamodb
    tables = [view_table(registry, settings.view_table)]
    tables += [source_table(source, settings.sources[source.name]) for source in registry.sources]
    created = []
    for arguments in tables:
        with suppress(dynamodb.exceptions.ResourceInUseException):
            create(dynamodb, arguments)
            created.append(arguments["TableName"])
    return created


def _event_source(stream_arn: str, runtime: Runtime) -> EventSource:
    return EventSource(
        streams=streams_client(),
        stream_arn=stream_arn,
        handler=lambda event, context: sync({"Records": event["Records"]}, context, runtime),
        on_failure=on_failure(runtime.dead_letters),
    )
