"""`connect` finds the deployment or engine; errors of the Python API state what to do."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import boto3
import pytest
from botocore.exceptions import NoCredentialsError, ProfileNotFound

from adminview import AdminViewError, PatternNotReadyError, QueryError, ViewClient, connect
from adminview.aws.aws_calls import AwsCallError
from adminview.aws.endpoints import EndpointUrlError
from adminview.aws.error_hints import describe_error
from adminview.aws.settings import Settings
from adminview.model.errors import DeclarationError, ServiceError, SettingsError
from tests.support.fakes import refusal
from tests.support.model import registry
from tests.support.query_table import FakeTable, Lab, make_registry
from tests.support.readiness import record_item

ROOT = Path(__file__).parents[2]
SETTINGS = Settings("the-view", "https://queue", {"Orders": "prod-Orders"}, "abc")


class FakeAws:
    """Stacks with outputs, and the options that clients were created with."""

    def __init__(self) -> None:
        self.stacks: dict[str, dict[str, str]] = {}
        self.error: Exception | None = None
        self.options: dict[str, dict[str, Any]] = {}
        self.built: Any = record_item(registry())
        self.deploy("AdminView-prod")

    def deploy(self, name: str, **patterns: Any) -> None:
        reported = {"model": registry().fingerprint, "pending": {}} | patterns
        self.stacks[f"{name}-Sync"] = {"Settings": json.dumps(SETTINGS.to_env())}
        self.stacks[f"{name}-Api"] = {"AccessPatterns": json.dumps(reported)}

    def client(self, service: str, config: Any, **options: Any) -> "FakeAws":
        assert config.retries
        self.options[service] = {name: value for name, value in options.items() if value}
        return self

    def get_item(self, TableName: str, **_: Any) -> Any:  # noqa: N803 - boto3's
        assert TableName == "the-viewProgress"
        return {"Item": self.built} if self.built else {}

    def describe_stacks(self, StackName: str) -> Any:  # noqa: N803 - boto3's
        if self.error:
            raise self.error
        if StackName not in self.stacks:
            raise refusal("ValidationError", "DescribeStacks")
        outputs = self.stacks[StackName].items()
        return {"Stacks": [{"Outputs": [{"OutputKey": k, "OutputValue": v} for k, v in outputs]}]}


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Begin with no settings."""
    for name in [*os.environ]:
        if name.startswith(("AWS_", "ADMINVIEW_")) and name != "ADMINVIEW_VIEWS":
            monkeypatch.delenv(name)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> FakeAws:
    fake = FakeAws()
    monkeypatch.setattr(boto3, "client", fake.client)
    monkeypatch.setattr("adminview.aws.boto3_clients.check_responses", lambda _: None)
    return fake


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> str:
    """Let every endpoint count as one that responds."""
    monkeypatch.setattr("adminview.aws.endpoints._check_answers", lambda *_: None)
    return "http://127.0.0.1:8000"


# Where `connect` connects to.


def test_a_stage_is_found_by_the_outputs_of_its_stacks(aws: FakeAws) -> None:
    assert connect(stage="prod").table == connect("prod").table == "the-view"
    assert aws.options == {"cloudformation": {}, "dynamodb": {}}


def test_access_patterns_that_are_not_ready_are_those_of_the_deployed_api(aws: FakeAws) -> None:
    aws.deploy("team-AdminView-prod", pending={"orders-of-user": None})
    with pytest.raises(PatternNotReadyError, match="is not ready"):
        connect(stage="prod", prefix="team-").query("orders-of-user", user_id="u")
    assert connect(stage="prod").query("orders-of-user", user_id="u")


@pytest.mark.parametrize("recorded", [True, False])
def test_an_access_pattern_whose_rows_are_not_built_is_not_ready(
    aws: FakeAws,
    recorded: bool,  # noqa: FBT001 - a case
) -> None:
    aws.built = record_item(registry(), without=("orders-of-user",)) if recorded else None
    view = connect(stage="prod")
    with pytest.raises(PatternNotReadyError):
        view.query("orders-of-user", user_id="u")


def test_the_environment_has_the_defaults_of_stage_and_prefix(
    aws: FakeAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    aws.deploy("team-AdminView-test")
    monkeypatch.setenv("ADMINVIEW_STAGE", "test")
    monkeypatch.setenv("ADMINVIEW_PREFIX", "team-")
    assert connect().table == "the-view"
    assert connect(stage="prod", prefix="").table == "the-view"
    with pytest.raises(SettingsError, match="there is no stack 'team-AdminView-prod-Sync'"):
        connect(stage="prod")


def test_the_table_of_a_function_is_used_unless_a_deployment_is_named(
    aws: FakeAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADMINVIEW_TABLE", "own")
    assert connect().table == "own"
    assert "cloudformation" not in aws.options
    assert connect(stage="prod").table == "the-view"


def test_an_endpoint_on_this_machine_needs_no_settings(aws: FakeAws, engine: str) -> None:
    view = connect(endpoint=engine)
    assert (view.table, view.endpoint) == ("AdminViewTable", engine)
    assert aws.options == {
        "dynamodb": {
            "endpoint_url": engine,
            "region_name": "us-east-1",
            "aws_access_key_id": "local",
            "aws_secret_access_key": "local",
        }
    }


def test_what_the_environment_sets_for_a_local_engine_is_kept(
    aws: FakeAws, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", engine)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "mine")
    monkeypatch.setenv("AWS_REGION", "eu-north-1")
    assert connect().endpoint == engine
    assert aws.options == {"dynamodb": {"region_name": "eu-north-1"}}, "boto3 reads the rest"


def test_an_endpoint_that_is_passed_wins_over_the_environment(
    aws: FakeAws, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:2")
    monkeypatch.setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")
    monkeypatch.setenv("ADMINVIEW_STAGE", "prod")
    assert connect(endpoint=engine).table == "AdminViewTable"
    assert aws.options["dynamodb"]["endpoint_url"] == engine
    assert aws.options["dynamodb"]["region_name"] == "us-east-1"


def test_an_engine_that_was_deployed_to_has_stages(aws: FakeAws, engine: str) -> None:
    assert connect(stage="prod", endpoint=engine).table == "the-view"
    assert aws.options["cloudformation"]["endpoint_url"] == engine


def test_nothing_that_connect_does_changes_the_environment(aws: FakeAws, engine: str) -> None:
    before = dict(os.environ)
    connect(endpoint=engine)
    connect(stage="prod")
    assert os.environ == before
    assert aws.options


# What it says if it cannot.


def test_a_stack_that_does_not_exist_is_named_with_what_to_pass(aws: FakeAws) -> None:
    text = (
        r"there is no stack 'AdminView-dev-Sync' in this account and region: name the deployment "
        r"with stage= and prefix=, or pass only endpoint="
    )
    with pytest.raises(SettingsError, match=text):
        connect()
    assert aws.options


def test_view_files_of_another_model_are_refused(aws: FakeAws) -> None:
    aws.deploy("AdminView-prod", model="another")
    with pytest.raises(SettingsError, match="model another is deployed: check out the deployed"):
        connect(stage="prod")


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (NoCredentialsError(), "NoCredentialsError; sign in again, or set AWS_PROFILE"),
        (refusal("ExpiredToken"), "ExpiredToken; sign in again, or set AWS_PROFILE"),
        (refusal("AccessDenied"), "AccessDenied; allow cloudformation:DescribeStacks"),
    ],
)
def test_credentials_that_do_not_suffice_are_reported_with_advice(
    aws: FakeAws, error: Exception, advice: str
) -> None:
    aws.error = error
    with pytest.raises(AwsCallError, match=advice):
        connect(stage="prod")


def test_a_stage_on_a_local_engine_is_explained(aws: FakeAws, engine: str) -> None:
    aws.error = refusal("UnknownOperationException")
    with pytest.raises(AwsCallError, match=f"at {engine} has no stacks: leave out stage") as raised:
        connect(stage="prod", endpoint=engine)
    assert "unset AWS_ENDPOINT_URL to query a deployment" in str(raised.value)


def test_view_files_that_are_not_found_are_reported_with_how_to_find_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ADMINVIEW_VIEWS", "nowhere.views")
    with pytest.raises(DeclarationError, match=r"no package nowhere\.views .*; .* PYTHONPATH=\."):
        connect()
    (tmp_path / "broken_views").mkdir()
    (tmp_path / "broken_views/orders.py").write_text("import nothing_like_it")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("ADMINVIEW_VIEWS", "broken_views")
    with pytest.raises(DeclarationError, match=r"named 'nothing_like_it'$"):
        connect()


def test_without_a_region_the_settings_are_named() -> None:
    with pytest.raises(SettingsError, match=r"no AWS region is set: .* `adminview dev` prints"):
        connect(stage="prod")


def test_a_profile_that_does_not_exist_is_an_error_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(SettingsError, match=r"profile \(nobody\)") as raised:
        connect(stage="prod")
    assert isinstance(raised.value.__cause__, ProfileNotFound)


def test_without_credentials_a_query_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    monkeypatch.setenv("ADMINVIEW_TABLE", "own")
    rows = connect().query("orders-of-user", user_id="u")
    for read in (rows.first, rows.count):
        with pytest.raises(ServiceError, match=r"^query own: .*; sign in again, or set AWS_PROF"):
            read()


def test_an_endpoint_that_is_no_url_or_does_not_respond_is_reported() -> None:
    with pytest.raises(EndpointUrlError, match=r"^endpoint: 'localhost:8000' is not a URL .* such"):
        connect(endpoint="localhost:8000")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(SettingsError, match=f"no connection to {closed}, which endpoint names"):
            connect(endpoint=closed)


def test_an_engine_that_has_ended_is_named() -> None:
    error = ServiceError("EndpointConnectionError", "query it", answered=False)
    view = ViewClient("Table", cast("Any", None), "http://127.0.0.1:8000")
    with pytest.raises(ServiceError) as raised, view.hints():
        raise error
    text = str(raised.value)
    assert text.endswith("EndpointConnectionError; is the engine at http://127.0.0.1:8000 running?")
    assert describe_error(error) == text, "a command adds no second hint"


# What a query says and does.


def client_of(table: FakeTable, pending: dict[str, str | None] | None = None) -> ViewClient:
    return ViewClient.of(table.registry, "Table", cast("Any", table), pending or {})


@pytest.fixture
def lab() -> Lab:
    """Put 120 red things into a table."""
    lab = Lab(make_registry())
    for number in range(120):
        lab.put(f"{number:03}", "red", number)
    return lab


@pytest.mark.parametrize(
    ("query", "text"),
    [
        (("of-color", {}), r"no access pattern is named 'of-color'; declared are heavy, of-colour"),
        (("heavy", {"color": "red"}), r"takes \(colour, least\); colour is missing, least is"),
        (("of-colour", {"colour": 1}), "'of-colour': colour must be text, not int"),
        (("heavy", {"colour": "red", "least": 2.5}), r"a number \(int or Decimal\), not float"),
        (("of-colour", {"colour": "red", "order": "up"}), "order must be asc or desc"),
        (("of-colour", {"colour": "red", "limit": 5}), r"write query\(…\)\.page\(limit=…\)"),
        (("of-colour", {"colour": "red", "cursor": "c"}), r"write query\(…\)\.page\(cursor=…\)"),
    ],
)
def test_a_wrong_query_is_refused_before_a_row_is_read(
    lab: Lab, query: tuple[str, dict[str, Any]], text: str
) -> None:
    name, parameters = query
    with pytest.raises(QueryError, match=text) as raised:
        client_of(lab.table).query(name, **parameters)
    assert isinstance(raised.value, AdminViewError)
    assert next(lab.table.calls) == 0


def test_a_query_that_is_not_ready_is_refused_or_served_by_the_older_index(lab: Lab) -> None:
    view = client_of(lab.table, {"heavy": None, "of-colour": "ByColour"})
    with pytest.raises(PatternNotReadyError, match="'heavy' is not ready"):
        view.query("heavy", colour="red", least=1)
    assert view.query("of-colour", colour="red").count() == 120


def test_a_page_of_a_wrong_size_or_a_foreign_cursor_is_refused(lab: Lab) -> None:
    rows = client_of(lab.table).query("of-colour", colour="red")
    with pytest.raises(QueryError, match="limit must be a whole number from 1 to 1000"):
        rows.page(limit=1001)
    with pytest.raises(QueryError, match="the cursor was truncated or changed"):
        rows.page("cursor")


def test_rows_are_read_when_they_are_needed(lab: Lab) -> None:
    rows = iter(client_of(lab.table).query("of-colour", colour="red"))
    assert next(lab.table.calls) == 0, "a query reads nothing yet"
    for _ in range(50):
        next(rows)
    assert next(lab.table.calls) == 2, "one page"
    assert len([*rows]) == 70
    assert next(lab.table.calls) == 4, "and one that is larger"


def test_a_repr_has_no_parameters(lab: Lab) -> None:
    rows = client_of(lab.table).query("of-colour", colour="secret")
    assert repr(rows) == "Rows('of-colour')"
    assert repr(rows.view) == "ViewClient(table='Table', endpoint='')"


def test_the_access_patterns_can_be_listed(lab: Lab) -> None:
    names = [pattern.name for pattern in client_of(lab.table).patterns]
    assert names == ["of-colour", "heavy"]


# What a view file does not load.


@pytest.mark.parametrize("statement", ["import adminview", "from tests.support.views import sales"])
def test_a_view_file_does_not_load_the_client(statement: str) -> None:
    """Each of these modules would slow down a cold start."""
    code = f"import sys\n{statement}\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    loaded = {*done.stdout.split()}
    assert "adminview.model" in loaded
    slow = {"boto3", "botocore", "rich", "typer", "adminview.client", "adminview.aws"}
    assert loaded & slow == set()


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(ImportError, match="cannot import name 'connected' from 'adminview'"):
        exec("from adminview import connected")  # noqa: S102 - the mistake
