"""A checkout that the real CDK command deploys to a local cloud.

The cloud is ministack. It runs the functions in processes that do not see the virtual environment
of this one. Comments name where it differs from AWS.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import boto3
import pytest
from boto3.dynamodb.types import TypeSerializer

from adminview.model.readiness import FACTS, PATTERNS, READY, contents, progress_table
from adminview.model.row import VIEW_TABLE
from tests.support.shop import registry

ROOT = Path(__file__).parents[3]
COPIED = ("adminview", "app.py", "cdk.json", "infra", "lambdas", "model.lock.json")
REGION = "us-east-1"
PLACE = f"aws://000000000000/{REGION}"
START_SECONDS, END_SECONDS, SYNC_SECONDS = 60.0, 10.0, 60.0
COMMAND_SECONDS = 900.0  # no command takes a tenth of it
COMPLAINTS = 5  # are shown, at most
SERVES = "Running on http"
STARTS = 5  # a port that was free may be taken before the cloud has it


def surroundings() -> dict[str, str]:
    """Give this process's environment, without what would lead a command to another cloud."""
    others = ("AWS_", "ADMINVIEW_", "CDK_")
    return {name: value for name, value in os.environ.items() if not name.startswith(others)}


@dataclass(frozen=True)
class Checkout:
    """A checkout whose view files a test may change, and the cloud it is deployed to."""

    folder: Path
    environment: Mapping[str, str]

    def run(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the checkout, however it ends."""
        return subprocess.run(
            command,
            cwd=self.folder,
            env=surroundings() | dict(self.environment) | environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=COMMAND_SECONDS,
        )

    def adminview(self, *words: str) -> str:
        """Run the command of this checkout, which must end well."""
        return _well(self.run(sys.executable, "-m", "adminview.cli.main", *words, "--stage", "dev"))

    def refused(self, *words: str) -> str:
        """Run the command of this checkout, which must not end well."""
        done = self.run(sys.executable, "-m", "adminview.cli.main", *words, "--stage", "dev")
        assert done.returncode != 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def cdk(self, *words: str, **environment: str) -> str:
        """Run the CDK command, which must end well."""
        return _well(self.run("node_modules/.bin/cdk", *words, **environment))

    def bootstrap(self) -> None:
        """Prepare the cloud for CDK."""
        # It needs no app, and would synthesize one for nothing.
        self.cdk("bootstrap", PLACE, "--app", "")

    def client(self, service: str) -> Any:
        """Give a client of the cloud, with rights to everything."""
        return _client(service, *self._connection())

    def put(self, table: str, item: dict[str, Any]) -> None:
        """Write an item into a source table, as its service would."""
        stored = {name: TypeSerializer().serialize(value) for name, value in item.items()}
        self.client("dynamodb").put_item(TableName=table, Item=stored)

    def delete(self, table: str, **key: str) -> None:
        """Delete an item of a source table, as its service would."""
        stored = {name: {"S": value} for name, value in key.items()}
        self.client("dynamodb").delete_item(TableName=table, Key=stored)

    def row(self, partition: str, sort: str) -> dict[str, Any] | None:
        """Read a row of the view, in DynamoDB's own form."""
        key = {"PK": {"S": partition}, "SK": {"S": sort}}
        response = self.client("dynamodb").get_item(
            TableName="AdminViewTable", Key=key, ConsistentRead=True
        )
        row: dict[str, Any] | None = response.get("Item")
        return row

    def await_row(self, key: dict[str, Any]) -> None:
        """Wait until the deployed sync has written a row."""
        self.deadline(
            lambda: self.row(key["PK"]["S"], key["SK"]["S"]), "the sync function writes the row"
        )

    def deadline(
        self, seen: Callable[[], object], what: str, seconds: float = SYNC_SECONDS
    ) -> None:
        """Wait until something is seen."""
        deadline = time.monotonic() + seconds
        while not seen():
            if time.monotonic() > deadline:
                complaints = "\n".join(self.complaints()[-COMPLAINTS:])
                pytest.fail(
                    f"within {seconds:.0f} seconds it did not happen that {what}\n{complaints}"
                )
            time.sleep(0.2)

    def complaints(self) -> list[str]:
        """List what the cloud complains of: functions that fail, above all."""
        lines = (self.folder / "cloud.log").read_text().splitlines()
        return [line for line in lines if " ERROR " in line or " WARNING " in line]

    def outputs(self, stack: str) -> dict[str, str]:
        """Read what a stack tells."""
        response = self.client("cloudformation").describe_stacks(StackName=f"AdminView-dev-{stack}")
        return {
            output["OutputKey"]: output["OutputValue"]
            for output in response["Stacks"][0]["Outputs"]
        }

    def edit(self, file: str, *changes: tuple[str, str]) -> None:
        """Change a view file."""
        path = self.folder / file
        text = path.read_text()
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        path.write_text(text)

    def indexes(self) -> set[str]:
        """Name the indexes that the view has."""
        table = self.client("dynamodb").describe_table(TableName="AdminViewTable")["Table"]
        return {index["IndexName"] for index in table["GlobalSecondaryIndexes"]}

    def _connection(self) -> tuple[str, str, str]:
        names = ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
        endpoint, key, secret = (self.environment[name] for name in names)
        return endpoint, key, secret


def complete_totals(checkout: Checkout) -> None:
    """Do what this cloud leaves out of the Totals stack, and switch off what it does otherwise.

    It has no TTL of tables that CloudFormation creates, and no windows: without them, the totals
    function refuses every event (tests/e2e/test_totals.py).
    """
    outputs, functions = checkout.outputs("Totals"), checkout.client("lambda")
    checkout.client("dynamodb").update_time_to_live(
        TableName=outputs["TotalsTableName"],
        TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires"},
    )
    mappings = functions.list_event_source_mappings(FunctionName=outputs["TotalsFunctionName"])
    for mapping in mappings["EventSourceMappings"]:
        functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)


BUILD_KEY = {"PK": {"S": READY}, "SK": {"S": PATTERNS}}


def end_build(checkout: Checkout) -> None:
    """Wait until the build of the deployment has made access patterns ready, and stop it.

    It would wait for the totals: nobody delivers the stream of the view here. So it is recorded
    that they are complete.
    """
    # On a busy machine, the cold starts of its 64 segments alone take minutes.
    checkout.deadline(lambda: _recorded(checkout)[PATTERNS], "the rows are built", seconds=400)
    stop_build(checkout)
    facts = {**_recorded(checkout), PATTERNS: contents(registry().shape())}
    item = {**BUILD_KEY, FACTS: {"S": json.dumps(facts)}}
    checkout.client("dynamodb").put_item(TableName=progress_table(VIEW_TABLE), Item=item)


def stop_build(checkout: Checkout) -> None:
    """Stop the build of the last deployment, which may wait for minutes until older code ends."""
    execution = _recorded(checkout)["execution"]
    checkout.client("stepfunctions").stop_execution(executionArn=execution)


def _recorded(checkout: Checkout) -> Any:
    """Return what the last deployment has recorded."""
    dynamodb, table = checkout.client("dynamodb"), progress_table(VIEW_TABLE)
    return json.loads(dynamodb.get_item(TableName=table, Key=BUILD_KEY)["Item"][FACTS]["S"])


def at_once(*calls: Callable[[], str]) -> list[str]:
    """Make calls beside each other: most of a command's time is its start."""
    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result() for future in [pool.submit(call) for call in calls]]


@contextmanager
def local_cloud(folder: Path, **settings: str) -> Iterator[Checkout]:
    """Copy what is deployed from into *folder*, and run an empty cloud for it."""
    for name in COPIED:
        copy: Callable[..., Any] = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    shutil.copy(Path(__file__).with_name("local_app.py"), folder / "app.py")
    (folder / "node_modules").symlink_to(ROOT / "node_modules")
    (folder / ".venv").symlink_to(ROOT / ".venv")
    for _ in range(STARTS):
        port = _free_port()
        with _process(folder, port, settings) as cloud:
            if _serves(folder, cloud):
                yield Checkout(folder, _environment(folder, port))
                return
    pytest.fail(f"the cloud did not start:\n{(folder / 'cloud.log').read_text()}")


@contextmanager
def _process(
    folder: Path, port: str, settings: Mapping[str, str]
) -> Iterator[subprocess.Popen[str]]:
    """Run the cloud in a session of its own; with it end the functions that it runs."""
    variables = {
        "BIND_HOST": "127.0.0.1",
        "IOT_MTLS_ENABLED": "0",
        "GATEWAY_PORT": port,
        "TMPDIR": str(folder / "tmp"),  # it unpacks every function, and leaves them behind
        **settings,
    }
    (folder / "tmp").mkdir()
    with (folder / "cloud.log").open("w") as log:
        cloud = subprocess.Popen(
            [os.environ["ADMINVIEW_MINISTACK"]],
            env=surroundings() | variables,
            stdout=log,
            stderr=log,
            text=True,
            start_new_session=True,
        )
        try:
            yield cloud
        finally:
            cloud.terminate()
            with suppress(subprocess.TimeoutExpired):
                cloud.wait(END_SECONDS)
            with suppress(ProcessLookupError):
                os.killpg(cloud.pid, signal.SIGKILL)
            cloud.wait()
            shutil.rmtree(folder / "tmp", ignore_errors=True)


def _free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def _environment(folder: Path, port: str) -> dict[str, str]:
    return {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "CDK_HOME": str(folder / "tmp"),
        "CDK_DISABLE_CLI_TELEMETRY": "1",
        "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20",
        "TMPDIR": str(folder / "tmp"),
    }


def _serves(folder: Path, cloud: subprocess.Popen[str]) -> bool:
    """Wait until the cloud serves its port; return False if it ended, as without a free port."""
    deadline = time.monotonic() + START_SECONDS
    while cloud.poll() is None and time.monotonic() < deadline:
        if SERVES in (folder / "cloud.log").read_text():  # its own word: others answer on ports too
            return True
        time.sleep(0.1)
    return False


@cache
def _client(service: str, endpoint: str, key: str, secret: str) -> Any:
    return boto3.client(
        service,
        endpoint_url=endpoint,
        region_name=REGION,
        aws_access_key_id=key,
        aws_secret_access_key=secret,
    )


def _well(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
