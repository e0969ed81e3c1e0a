"""A checkout that is deployed with the real CDK command, to a cloud that runs here.

The cloud is ministack: functions really run in it, in processes that see nothing of this one's
virtual environment. It is no AWS; what it does otherwise is said where it matters.
"""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import BotoCoreError, ClientError

ROOT = Path(__file__).parents[2]
COPIED = ("app.py", "cdk.json", "cli", "infra", "lambdas", "model.lock.json")
REGION = "us-east-1"
PLACE = f"aws://000000000000/{REGION}"
START_SECONDS, SYNC_SECONDS = 60.0, 60.0


@dataclass(frozen=True)
class Checkout:
    """A checkout whose view files a test may change, and the cloud it is deployed to."""

    folder: Path
    environment: Mapping[str, str]

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the checkout, however it ends."""
        return subprocess.run(
            command,
            cwd=self.folder,
            env=os.environ | dict(self.environment),
            capture_output=True,
            text=True,
            check=False,
        )

    def adminview(self, *words: str) -> str:
        """Run the command of this checkout, which must end well."""
        return _well(self.run(sys.executable, "-m", "cli.main", *words, "--stage", "dev"))

    def cdk(self, *words: str) -> str:
        """Run the CDK command, which must end well."""
        return _well(self.run("node_modules/.bin/cdk", *words))

    def client(self, service: str) -> Any:
        """Make a client of the cloud, with rights to everything."""
        return boto3.client(service, **self._connection())

    def put(self, table: str, item: dict[str, Any]) -> None:
        """Write an item into a source table, as its service would."""
        boto3.resource("dynamodb", **self._connection()).Table(table).put_item(Item=item)

    def await_row(self, key: dict[str, Any]) -> None:
        """Wait until the deployed sync has written a row."""
        until = time.monotonic() + SYNC_SECONDS
        while time.monotonic() < until:
            if "Item" in self.client("dynamodb").get_item(TableName="AdminViewTable", Key=key):
                return
            time.sleep(0.5)
        pytest.fail("the sync function did not write the row")

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
        return {one["IndexName"] for one in table["GlobalSecondaryIndexes"]}

    def _connection(self) -> dict[str, Any]:
        return {
            "endpoint_url": self.environment["AWS_ENDPOINT_URL"],
            "region_name": REGION,
            "aws_access_key_id": self.environment["AWS_ACCESS_KEY_ID"],
            "aws_secret_access_key": self.environment["AWS_SECRET_ACCESS_KEY"],
        }


@contextmanager
def local_cloud(folder: Path, **settings: str) -> Iterator[Checkout]:
    """Copy what is deployed from into *folder*, and run an empty cloud for it."""
    for name in COPIED:
        copy: Callable[..., Any] = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    shutil.copy(Path(__file__).with_name("local_app.py"), folder / "app.py")
    (folder / "node_modules").symlink_to(ROOT / "node_modules")
    (folder / ".venv").symlink_to(ROOT / ".venv")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    told = {"BIND_HOST": "127.0.0.1", "IOT_MTLS_ENABLED": "0", "GATEWAY_PORT": port, **settings}
    with (folder / "cloud.log").open("w") as log:
        cloud = subprocess.Popen(
            [os.environ["ADMINVIEW_MINISTACK"]], env=os.environ | told, stdout=log, stderr=log
        )
        try:
            yield _answering(Checkout(folder, _environment(port)))
        finally:
            cloud.terminate()
            cloud.wait()


def _environment(port: str) -> dict[str, str]:
    return {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "CDK_DISABLE_CLI_TELEMETRY": "1",
    }


def _answering(checkout: Checkout) -> Checkout:
    """Wait until the cloud answers."""
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        with suppress(BotoCoreError, ClientError):
            checkout.client("dynamodb").list_tables()
            break
        time.sleep(0.5)
    return checkout


def _well(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
