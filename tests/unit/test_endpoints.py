"""An endpoint that is wrong or silent is reported at once, with the variable that names it."""

import os
import socket
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from time import perf_counter, sleep

import boto3
import pytest

from adminview.aws import endpoints
from adminview.aws.endpoints import check_endpoints, use_local_defaults, use_region
from adminview.aws.error_hints import describe_error
from adminview.cli import main
from adminview.model.errors import ServiceError, SettingsError

SURROUNDINGS = ("ADMINVIEW_TABLE", "ADMINVIEW_STAGE", "ADMINVIEW_PREFIX", "AWS_PROFILE")
COMMANDS = [
    ("query", "user-profile", "--user-id", "1"),
    ("sql", "SELECT * FROM AdminViewTable WHERE PK = 'a'"),
    ("dlq", "list"),
    ("dlq", "replay"),
    ("explain", "a", "b"),
    ("reconcile", "Users", "1"),
    ("verify",),
    ("backfill",),
    ("sweep",),
    ("migrate", "orders-delivery-date", "--dry-run"),
    ("plan",),
    ("apply", "--stage", "dev"),
    ("doctor",),
    ("dev",),
    ("serve", "--port", "0"),
    ("cost", "--measured"),
    ("model", "diff", "--stage", "dev"),
]
# An exit status of 1 means something else to these.
TROUBLE = {"verify": 2, "migrate": 2, "backfill": 2, "sweep": 2, "model": 2}


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin with no endpoint, and with none that was checked before."""
    for name in [*os.environ]:
        if name.startswith("AWS_") or name.lower().endswith("_proxy") or name in SURROUNDINGS:
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "local")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "local")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setenv("ADMINVIEW_DEAD_LETTER_QUEUE_URL", "http://queue.example/1/letters")
    monkeypatch.setenv("COLUMNS", "400")
    endpoints._check_answers.cache_clear()


@pytest.fixture
def closed() -> str:
    """Find a port where nothing listens."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{sock.getsockname()[1]}"


@pytest.fixture
def silent() -> Iterator[str]:
    """Listen, and never answer."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


@pytest.fixture
def alive() -> Iterator[str]:
    """Answer everything with an error, as an engine answers what it does not know."""
    handler = type("Handler", (BaseHTTPRequestHandler,), {"log_message": lambda *_: None})
    server = HTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["adminview", *words])
    with pytest.raises(SystemExit) as ended:
        main.main()
    return int(ended.value.code or 0)


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words[:2]))
def test_a_closed_port_is_reported_within_three_seconds(
    words: tuple[str, ...],
    closed: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", closed)
    begun = perf_counter()
    assert run(monkeypatch, *words) == TROUBLE.get(words[0], 1)
    assert perf_counter() - begun < 3
    messages = capsys.readouterr().err
    assert f"no connection to {closed}, which AWS_ENDPOINT_URL names" in messages
    assert "Traceback" not in messages


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words[:2]))
def test_a_port_that_never_answers_is_reported_soon(
    words: tuple[str, ...],
    silent: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert endpoints.CONNECT_SECONDS + endpoints.ANSWER_SECONDS < 10
    monkeypatch.setattr(endpoints, "ANSWER_SECONDS", 0.1)
    monkeypatch.setenv("AWS_ENDPOINT_URL", silent)
    begun = perf_counter()
    assert run(monkeypatch, *words) == TROUBLE.get(words[0], 1)
    assert perf_counter() - begun < 3
    assert f"no response from {silent}, which AWS_ENDPOINT_URL names" in capsys.readouterr().err


@pytest.mark.parametrize(
    "url", ["127.0.0.1:8000", "localhost", "ftp://host", "http://", "http://h:x"]
)
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words[:2]))
def test_an_endpoint_that_is_no_url_is_a_usage_error(
    words: tuple[str, ...],
    url: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)
    assert run(monkeypatch, *words) == 2
    messages = capsys.readouterr().err
    assert f"Invalid value for AWS_ENDPOINT_URL: '{url}' is not a URL" in messages
    assert "such as http://127.0.0.1:8000" in messages
    assert "Traceback" not in messages


def test_a_url_is_repeated_without_its_password(
    monkeypatch: pytest.MonkeyPatch, closed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for url in (closed.replace("//", "//me:secret@"), "me:secret@host"):
        monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        assert run(monkeypatch, "verify") == 2
        assert "secret" not in capsys.readouterr().err


def test_the_variable_of_the_service_comes_first(closed: str, alive: str) -> None:
    environ = {"AWS_ENDPOINT_URL": alive, "AWS_ENDPOINT_URL_SQS": closed}
    check_endpoints(environ, "DYNAMODB")
    with pytest.raises(SettingsError, match="which AWS_ENDPOINT_URL_SQS names"):
        check_endpoints(environ, "DYNAMODB", "SQS")
    check_endpoints({"AWS_ENDPOINT_URL": closed, "AWS_ENDPOINT_URL_SQS": alive}, "SQS")


def test_dlq_names_the_queue_endpoint_that_does_not_answer(
    alive: str, closed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", alive)
    monkeypatch.setenv("AWS_ENDPOINT_URL_SQS", closed)
    assert run(monkeypatch, "dlq", "list") == 1
    assert f"{closed}, which AWS_ENDPOINT_URL_SQS names" in capsys.readouterr().err


def test_without_an_endpoint_nothing_is_checked(closed: str) -> None:
    check_endpoints({}, "DYNAMODB")
    check_endpoints({"AWS_ENDPOINT_URL": ""}, "DYNAMODB")
    ignored = {"AWS_ENDPOINT_URL": closed, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "True"}
    check_endpoints(ignored, "DYNAMODB")


def test_help_needs_no_endpoint(closed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", closed)
    for words in (("--help",), ("query", "--help"), ("verify", "--help")):
        assert run(monkeypatch, *words) == 0


def test_a_proxy_on_the_way_is_checked_instead(
    closed: str, alive: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = {"AWS_ENDPOINT_URL": "http://engine.example:8000"}
    monkeypatch.setenv("http_proxy", alive)
    check_endpoints(environ, "DYNAMODB")
    endpoints._check_answers.cache_clear()
    monkeypatch.setenv("http_proxy", closed.replace("//", "//me:secret@"))
    with pytest.raises(SettingsError, match=r"the proxy 127\.0\.0\.1:\d+ for ") as refused:
        check_endpoints(environ, "DYNAMODB")
    assert "secret" not in str(refused.value)


def test_a_name_that_takes_long_to_look_up_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def look_up(*_: object) -> socket.socket:
        sleep(1)
        raise OSError

    monkeypatch.setattr(endpoints, "CONNECT_SECONDS", 0.1)
    monkeypatch.setattr(endpoints, "create_connection", look_up)
    with pytest.raises(SettingsError, match=r"within 0\.1 s"):
        check_endpoints({"AWS_ENDPOINT_URL": "http://slow.example"}, "DYNAMODB")


@pytest.mark.parametrize(
    ("environ", "region"),
    [
        ({"AWS_REGION": "eu-north-1"}, "eu-north-1"),
        ({"AWS_DEFAULT_REGION": "eu-west-2"}, "eu-west-2"),
        ({"AWS_REGION": "eu-north-1", "AWS_DEFAULT_REGION": "eu-west-2"}, "eu-north-1"),
        ({"AWS_REGION": "", "AWS_DEFAULT_REGION": "eu-west-2"}, "eu-west-2"),
    ],
)
def test_the_region_is_read_from_aws_region_first(
    environ: dict[str, str], region: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    regions: list[str | None] = []
    monkeypatch.setenv("AWS_DEFAULT_REGION", "")
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(main, "app", lambda: regions.append(boto3.Session().region_name))
    main.main()
    assert regions == [region]


def test_without_aws_region_the_environment_stays_as_it_is() -> None:
    environ: dict[str, str] = {}
    use_region(environ)
    assert environ == {}


LOCAL = {
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
}


@pytest.fixture
def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a file of the AWS CLI that is still empty, and no region or credentials elsewhere."""
    for name in LOCAL:
        monkeypatch.delenv(name)
    file = tmp_path / "config"
    file.touch()
    monkeypatch.setenv("AWS_CONFIG_FILE", str(file))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    return file


@pytest.mark.usefixtures("configured")
@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8000", "http://localhost:8000", "http://[::1]:8000"]
)
def test_an_endpoint_on_this_machine_needs_no_region_and_no_credentials(url: str) -> None:
    environ = {"AWS_ENDPOINT_URL": url}
    use_local_defaults(environ)
    assert environ == LOCAL | {"AWS_ENDPOINT_URL": url}


@pytest.mark.usefixtures("configured")
@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"AWS_ENDPOINT_URL": "https://dynamodb.eu-west-1.amazonaws.com"},
        {"AWS_ENDPOINT_URL": "http://engine.example:8000"},
        {"AWS_ENDPOINT_URL": "127.0.0.1:8000"},
        {"AWS_ENDPOINT_URL": "http://[::1"},
        {
            "AWS_ENDPOINT_URL": "http://127.0.0.1:8000",
            "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true",
        },
        {
            "AWS_ENDPOINT_URL": "http://127.0.0.1:8000",
            "AWS_DEFAULT_REGION": "eu-west-1",
            "AWS_ACCESS_KEY_ID": "mine",
            "AWS_SECRET_ACCESS_KEY": "mine",
        },
    ],
)
def test_another_endpoint_or_own_settings_get_no_defaults(environ: dict[str, str]) -> None:
    before = dict(environ)
    use_local_defaults(environ)
    assert environ == before


def test_what_the_files_of_the_aws_cli_set_is_kept(configured: Path) -> None:
    configured.write_text("[default]\nregion = eu-north-1\naws_access_key_id = mine\n")
    environ = {"AWS_ENDPOINT_URL": "http://127.0.0.1:8000"}
    use_local_defaults(environ)
    assert environ == {"AWS_ENDPOINT_URL": "http://127.0.0.1:8000"}


@pytest.mark.usefixtures("configured")
def test_commands_have_these_defaults(alive: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", alive)
    regions: list[str | None] = []
    monkeypatch.setattr(main, "app", lambda: regions.append(boto3.Session().region_name))
    main.main()
    assert regions == ["us-east-1"]


@pytest.mark.usefixtures("configured")
def test_a_profile_that_does_not_exist_is_one_message(
    alive: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", alive)
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    assert run(monkeypatch, "verify") == 1
    assert capsys.readouterr().err.startswith("adminview: The config profile (nobody)")


@pytest.mark.usefixtures("configured")
def test_without_a_region_the_variable_that_boto3_reads_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "explain", "a", "b") == 1
    assert "set AWS_DEFAULT_REGION (or AWS_REGION)" in capsys.readouterr().err


def test_the_engine_is_mentioned_only_if_there_is_to_be_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    error = ServiceError("EndpointConnectionError", "query it", answered=False)
    assert describe_error(error).endswith("; check the network and the region")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:8000")
    assert describe_error(error).endswith("; is the engine at AWS_ENDPOINT_URL running?")
