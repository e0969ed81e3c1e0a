"""Follow the streams of any endpoint with the real sync, until stopped."""

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
from adminview.cli.dead_letters.post import LetterFile
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
from adminview.runtime import Invocation, Runtime, make_runtime
from adminview.sync.counts import BatchCounts

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


@dataclass(frozen=True, slots=True)
class Teller:
    """An observer that says a line per batch."""

    say: Callable[[str], None]

    def invoked(self, context: Invocation) -> None:
        """Hear of an invocation."""

    def synced(
        self, tally: BatchCounts, letters: Sequence[OutgoingLetter], errors: CallErrors
    ) -> None:
        """Say what a batch came to."""
        skipped = tally.unchanged + tally.no_view
        self.say(
            f"{tally.source or 'unknown source'}: {tally.records} read = {tally.written} written "
            f"+ {skipped} skipped + {tally.dead_lettered} dead-lettered + {tally.redelivered} "
            f"redelivered; {tally.rows_put} rows put, {tally.rows_deleted} deleted"
        )
        for letter in letters:
            self.say(f"  dead letter {letter.sequence}: {letter.error}: {letter.reason}")
        if errors:
            self.say(f"  failed calls: {', '.join(errors)}")


def settings_for(
    registry: Registry, environ: Mapping[str, str], view_table: str, queue_url: str
) -> Settings:
    """Say where everything is; refuse to follow real streams by mistake."""
    if not environ.get(ENDPOINT):
        msg = (
            f"set {ENDPOINT} to the endpoint to follow, such as http://127.0.0.1:8000: "
            "on AWS itself the deployed function does this"
        )
        raise SettingsError(msg)
    check_endpoints(environ, "DYNAMODB", "DYNAMODB_STREAMS", *(["SQS"] if queue_url else []))
    return declared(registry, queue_url, view_table)


def check_tables(registry: Registry, settings: Settings, dynamodb: "DynamoDBClient") -> list[str]:
    """Compare the endpoint's tables with the declarations, and give the streams to follow."""
    _check_table(dynamodb, TableDescription.of(view_table(registry, settings.view_table)))
    streams = []
    for source in registry.sources:
        expected = TableDescription.of(source_table(source, settings.sources[source.name]))
        streams.append(_stream_of(_check_table(dynamodb, expected)))
    return streams


def _check_table(dynamodb: "DynamoDBClient", expected: TableDescription) -> TableDescription:
    """Find a table, or say how it differs from what is declared."""
    name = expected.name
    try:
        found = TableDescription.of(dynamodb.describe_table(TableName=name)["Table"])
    except dynamodb.exceptions.ResourceNotFoundException as error:
        msg = f"there is no table {name!r}; create it, or run with --create"
        raise SettingsError(msg) from error
    keys = [("the table", expected.key, found.key), *_index_keys(expected, found)]
    for what, declared_key, key in keys:
        if declared_key != key:
            has = _key(key) if key else "nothing of that name"
            msg = f"table {name!r}: {what} is declared with {_key(declared_key)}, and has {has}"
            raise SettingsError(msg)
    return found


def _index_keys(
    expected: TableDescription, found: TableDescription
) -> Iterator[tuple[str, Key, Key]]:
    for index in expected.indexes:
        there = found.index(index.name)
        key = there.partition + there.sort if there else ()
        yield f"index {index.name!r}", index.partition + index.sort, key


def _key(key: Key) -> str:
    return "key (" + ", ".join(name for name, _ in key) + ")"


def _stream_of(table: TableDescription) -> str:
    """Find the stream of a source table, or say how to turn it on."""
    name = table.name
    if table.stream_type is None:
        msg = f"table {name!r} has no stream. {turn_on(name)}"
        raise SettingsError(msg)
    if table.stream_type != VIEW_TYPE:
        msg = f"table {name!r} has a stream of {table.stream_type}. {replace_stream(name)}"
        raise SettingsError(msg)
    return table.stream_arn or ""


def follow(
    registry: Registry, settings: Settings, letters: Path, say: Callable[[str], None], stop: Event
) -> None:
    """Follow every source until *stop* is set; letters go to the queue, or to a file."""
    clients = Clients()
    runtime = make_runtime(registry, settings, clients, Teller(say))
    if not settings.dead_letter_queue_url:
        file = LetterFile(letters)
        file.create()  # now, not when the first letter is written
        runtime = replace(runtime, dead_letters=file)
    streams = check_tables(registry, settings, clients.dynamodb)
    say(f"following {', '.join(settings.sources)}; Ctrl-C to stop")
    with ThreadPoolExecutor(len(streams)) as pool:
        running = [pool.submit(_event_source(stream, runtime).run, stop) for stream in streams]
        done, _ = wait(running, return_when=FIRST_EXCEPTION)
        stop.set()  # one that failed takes the others with it
    for one in done:
        one.result()


def create_missing(registry: Registry, settings: Settings) -> list[str]:
    """Create the tables that the endpoint does not have yet, and name them."""
    dynamodb = Clients().dynamodb
    wanted = [view_table(registry, settings.view_table)]
    wanted += [source_table(source, settings.sources[source.name]) for source in registry.sources]
    made = []
    for arguments in wanted:
        with suppress(dynamodb.exceptions.ResourceInUseException):
            create(dynamodb, arguments)
            made.append(arguments["TableName"])
    return made


def _event_source(stream_arn: str, runtime: Runtime) -> EventSource:
    return EventSource(
        streams=streams_client(),
        stream_arn=stream_arn,
        handler=lambda event, context: sync({"Records": event["Records"]}, context, runtime),
        on_failure=on_failure(runtime.dead_letters),
    )
