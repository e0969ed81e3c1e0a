"""`adminview local`: follow the streams of an endpoint with the deployed functions, until stopped.

The sync follows the sources. If the model has totals, the totals function follows AdminViewTable.
"""

from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from time import time
from typing import TYPE_CHECKING, Any

from adminview.aws.boto3_clients import streams_client
from adminview.aws.call_errors import CallErrors
from adminview.aws.clients import Clients
from adminview.aws.settings import Settings
from adminview.aws.table_description import Key, TableDescription, TableIndex
from adminview.aws.totals_table import Boto3Updater, TotalsTable
from adminview.bulk.lease_table import progress_table as progress_name
from adminview.cli.dead_letters.files import LetterFile
from adminview.cli.endpoints import IGNORED, check_endpoints
from adminview.handlers.sync import sync
from adminview.handlers.totals import TotalsRuntime, add_up
from adminview.local.engines import ENGINES, EngineName, free_port, moto_engine
from adminview.local.event_source import EventSource
from adminview.local.event_source.on_failure import no_destination, on_failure
from adminview.local.local_cloud import QUEUE, environment_of
from adminview.local.settings import ENDPOINT, declared
from adminview.local.tables import (
    add_indexes,
    create,
    progress_table,
    source_table,
    totals_table,
    view_table,
)
from adminview.model import Registry
from adminview.model.dead_letter import InDoubtLetter, OutgoingLetter, RecordLetter, from_json
from adminview.model.delivery import TOTALS_DELIVERY
from adminview.model.errors import SettingsError
from adminview.model.stream import VIEW_TYPE, turn_on
from adminview.model.stream import replace as replace_stream
from adminview.model.total import totals_table as totals_name
from adminview.runtime import Runtime, make_runtime
from adminview.sync.counts import BatchCounts

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

PORT = 8000  # of an engine that it starts, if it is free: the exported variables stay valid
READ_ONCE = "view files are read once: restart this command after you change one"


@dataclass(frozen=True, slots=True)
class BatchPrinter:
    """An observer of both functions that prints a line per batch."""

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
            self.notify(f"  dead letter: {_item_of(letter)}: {letter.error}: {letter.reason}")
        if errors:
            self.notify(f"  failed calls: {', '.join(errors)}")

    def counted(self, counts: Mapping[str, Any], errors: CallErrors) -> None:
        skipped = counts["malformed"] + counts["refused"]
        self.notify(
            f"totals: {counts['records']} rows changed; {counts['updates']} totals updated, "
            f"{skipped} contributions skipped, {counts['redelivered']} records redelivered"
        )
        if errors:
            self.notify(f"  failed calls: {', '.join(errors)}")


def _item_of(outgoing: OutgoingLetter) -> str:
    """Name the items of a dead letter, with the record's sequence number if it is known."""
    letter = from_json(outgoing.body)
    items = [letter.owner] if isinstance(letter, RecordLetter) else []
    if isinstance(letter, InDoubtLetter):
        items = [item.owner for item in letter.items]
    names = ", ".join(item or "unknown item" for item in items) or "unknown items"
    return f"{names} (record {outgoing.sequence})" if outgoing.sequence else names


@contextmanager
def start_engine(name: EngineName, environ: MutableMapping[str, str]) -> Iterator[dict[str, str]]:
    """Run an engine with a dead-letter queue, and let *environ* name it and nothing else.

    Yields the variables that another terminal needs.
    """
    running = moto_engine(free_port(PORT)) if name is EngineName.MOTO else ENGINES[name]()
    with running as engine:
        for variable in [*environ]:
            if variable.startswith(ENDPOINT) or variable == IGNORED:
                del environ[variable]
        queue_url = engine.sqs().create_queue(QueueName=QUEUE)["QueueUrl"]
        variables = environment_of(engine, queue_url)
        environ.update(variables)
        yield variables


def export_line(variables: Mapping[str, str]) -> str:
    return "export " + " ".join(f"{name}={value}" for name, value in variables.items())


def settings_for(
    registry: Registry, environ: Mapping[str, str], view_table: str, queue_url: str
) -> Settings:
    """Return the settings of the declared tables.

    Raises a SettingsError without a custom endpoint: AWS itself has the deployed function.
    """
    if not environ.get(ENDPOINT):
        msg = (
            f"add --engine moto to start an engine here, or set {ENDPOINT} to the endpoint to "
            "follow, such as http://127.0.0.1:8000: on AWS, the deployed function does this"
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


def check_totals(registry: Registry, settings: Settings, dynamodb: "DynamoDBClient") -> str | None:
    """Return the view's stream, which totals need; None if the model has no totals.

    Raises a SettingsError if the totals table differs from the model, or if there is no stream.
    """
    if not registry.totals:
        return None
    _check_table(dynamodb, TableDescription.of(totals_table(totals_name(settings.view_table))))
    view = TableDescription.of(view_table(registry, settings.view_table))
    return _stream_of(_check_table(dynamodb, view))


def _check_table(dynamodb: "DynamoDBClient", expected: TableDescription) -> TableDescription:
    name = expected.name
    try:
        actual = TableDescription.of(dynamodb.describe_table(TableName=name)["Table"])
    except dynamodb.exceptions.ResourceNotFoundException as error:
        msg = f"there is no table {name!r}; create it, or run with --create"
        raise SettingsError(msg) from error
    if expected.key != actual.key:
        msg = (
            f"table {name!r} is declared with {_key(expected.key)}, but has {_key(actual.key)}: "
            f"correct the declaration, or delete the table ({_delete(name)}) and run with --create"
        )
        raise SettingsError(msg)
    for index in expected.indexes:
        _check_index(name, index, actual.index(index.name))
    return actual


def _check_index(table: str, expected: TableIndex, actual: TableIndex | None) -> None:
    if actual and expected.key == actual.key:
        return
    problem = f"has {_key(actual.partition + actual.sort)}" if actual else "does not exist"
    remedy = "run with --create, which adds it"
    if actual or expected.local:  # neither can be changed in an existing table
        remedy = (
            f"delete the table ({_delete(table)}) and run with --create, which writes its rows "
            "again from the streams"
        )
    msg = (
        f"table {table!r}: index {expected.name!r} is declared with "
        f"{_key(expected.partition + expected.sort)}, but {problem}: {remedy}"
    )
    raise SettingsError(msg)


def _delete(table: str) -> str:
    return f"aws dynamodb delete-table --table-name {table}"


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
    printer = BatchPrinter(notify)
    runtime = make_runtime(registry, settings, clients, printer)
    if not settings.dead_letter_queue_url:
        file = LetterFile(letters)
        file.create()  # fail now if the file cannot be written, not at the first dead letter
        runtime = replace(runtime, dead_letters=file)
    streams = check_tables(registry, settings, clients.dynamodb)
    sources = [_event_source(stream, runtime) for stream in streams]
    followed = [*settings.sources]
    if view_stream := check_totals(registry, settings, clients.dynamodb):
        table = TotalsTable(Boto3Updater(clients.dynamodb), totals_name(settings.view_table), time)
        sources.append(_totals_source(view_stream, TotalsRuntime(table, printer)))
        followed.append(settings.view_table)
    notify(f"following {', '.join(followed)}; Ctrl-C to stop")
    notify(READ_ONCE)
    with ThreadPoolExecutor(len(sources)) as pool:
        running = [pool.submit(source.run, stop) for source in sources]
        done, _ = wait(running, return_when=FIRST_EXCEPTION)
        stop.set()  # one failure stops the others
    for future in done:
        future.result()


def create_missing(registry: Registry, settings: Settings) -> list[str]:
    """Create missing tables and global indexes, and return what was created."""
    dynamodb = Clients().dynamodb
    view = view_table(registry, settings.view_table)
    tables = [view, progress_table(progress_name(settings.view_table))]
    tables += [source_table(source, settings.sources[source.name]) for source in registry.sources]
    if registry.totals:
        tables.append(totals_table(totals_name(settings.view_table)))
    created = []
    for arguments in tables:
        name = arguments["TableName"]
        try:
            create(dynamodb, arguments)
            created.append(name)
        except dynamodb.exceptions.ResourceInUseException:
            indexes = add_indexes(dynamodb, arguments)
            created += [f"index {index} of {name}" for index in indexes]
    return created


def _event_source(stream_arn: str, runtime: Runtime) -> EventSource:
    return EventSource(
        streams=streams_client(),
        stream_arn=stream_arn,
        handler=lambda event, context: sync({"Records": event["Records"]}, context, runtime),
        on_failure=on_failure(runtime.dead_letters),
    )


def _totals_source(stream_arn: str, runtime: TotalsRuntime) -> EventSource:
    return EventSource(
        streams=streams_client(),
        stream_arn=stream_arn,
        handler=lambda event, context: add_up(event, context, runtime),
        on_failure=no_destination,
        delivery=TOTALS_DELIVERY,
    )
