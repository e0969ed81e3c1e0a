"""Follow the streams of any endpoint with the real sync, until stopped."""

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import boto3
from botocore.exceptions import ClientError

from cli.event_source import EventSource
from cli.mail import LetterFile, on_failure
from cli.tables import create, source_table, view_table
from lambdas.aws.runtime import Clients, Invocation, Runtime, make_runtime
from lambdas.aws.settings import Settings
from lambdas.model import Registry
from lambdas.model.errors import SettingsError
from lambdas.pipeline.letter import Letter
from lambdas.pipeline.tally import Tally
from lambdas.sync import sync

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

ENDPOINTS = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB")
VIEW_TYPE = "NEW_AND_OLD_IMAGES"


@dataclass(frozen=True, slots=True)
class Teller:
    """An observer that says a line per batch."""

    say: Callable[[str], None]

    def invoked(self, context: Invocation) -> None:
        """Hear of an invocation."""

    def synced(self, tally: Tally, letters: Sequence[Letter], trouble: Collection[str]) -> None:
        """Say what a batch came to."""
        skipped = tally.unchanged + tally.unclaimed
        self.say(
            f"{tally.source or 'unknown source'}: {tally.records} read = {tally.written} written "
            f"+ {skipped} skipped + {tally.set_aside} set aside + {tally.returned} returned; "
            f"{tally.rows_put} rows put, {tally.rows_deleted} deleted"
        )
        for letter in letters:
            self.say(f"  set aside {letter.sequence}: {letter.error}: {letter.reason}")
        if trouble:
            self.say(f"  in the way: {', '.join(sorted(trouble))}")


def settings_for(
    registry: Registry, environ: Mapping[str, str], view_table: str, queue_url: str
) -> Settings:
    """Say where everything is; refuse to follow real streams by mistake."""
    if not any(environ.get(name) for name in ENDPOINTS):
        msg = (
            f"set {ENDPOINTS[0]} to the endpoint to follow, such as http://127.0.0.1:8000: "
            "on AWS itself the deployed function does this"
        )
        raise SettingsError(msg)
    names = {source.name: source.name for source in registry.sources}
    return Settings(view_table, queue_url, names, registry.fingerprint)


def stream_of(dynamodb: "DynamoDBClient", table: str) -> str:
    """Find the stream of a source table, or say how to turn it on."""
    try:
        found = dynamodb.describe_table(TableName=table)["Table"]
    except ClientError as error:
        if error.response["Error"]["Code"] != "ResourceNotFoundException":
            raise
        msg = f"there is no table {table!r}; create it, or run with --create"
        raise SettingsError(msg) from error
    stream = found.get("StreamSpecification", {})
    if not stream.get("StreamEnabled") or stream.get("StreamViewType") != VIEW_TYPE:
        has = stream.get("StreamViewType", "no stream")
        msg = (
            f"table {table!r} has {has}, and needs a stream of {VIEW_TYPE}: aws dynamodb "
            f"update-table --table-name {table} --stream-specification "
            f"StreamEnabled=true,StreamViewType={VIEW_TYPE}"
        )
        raise SettingsError(msg)
    return found["LatestStreamArn"]


def follow(
    registry: Registry, settings: Settings, letters: Path, say: Callable[[str], None], stop: Event
) -> None:
    """Follow every source until *stop* is set; letters go to the queue, or to a file."""
    clients = Clients()
    runtime = make_runtime(registry, settings, clients, Teller(say))
    if not settings.dead_letter_queue_url:
        runtime = replace(runtime, dead_letters=LetterFile(letters))
    streams = [stream_of(clients.dynamodb, table) for table in settings.sources.values()]
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
        streams=boto3.client("dynamodbstreams"),
        stream_arn=stream_arn,
        handler=lambda event, context: sync({"Records": event["Records"]}, context, runtime),
        on_failure=on_failure(runtime.dead_letters),
    )
