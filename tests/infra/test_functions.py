"""Every function has its own role and its own log, and all have the same settings."""

import re
from pathlib import Path

import pytest

from adminview.aws.manifest import Manifest
from adminview.aws.settings import Settings
from adminview.cdk import DeploymentOptions
from adminview.model.errors import SettingsError
from infra.stages import DEV
from tests.infra.roles import held
from tests.support.shop import registry
from tests.support.synthesis import Assembly
from tests.support.written_app import written_app

SOURCES = ("Orders", "Payments", "Products", "Users")
TABLES = [f"{name}.Arn" for name in SOURCES]
MAPPINGS = [f"Follow{name}Mapping" for name in SOURCES]
FUNCTIONS = ("Api", "Backfill", "Build", "Migrate", "Replay", "Sync", "Totals", "Verify")
MACHINES = ("BackfillSegmentsMachine", "MigrateSegmentsMachine")
OWN_VARIABLES = {
    "Backfill": {"ADMINVIEW_VIEW_STREAM": "AdminViewTable.StreamArn"},
    "Build": {"ADMINVIEW_BACKFILL_MACHINE": "BackfillSegmentsMachine"},
}
ALARMS = ("cloudwatch:DescribeAlarms", "*")  # found by state and prefix

each_function = pytest.mark.parametrize("function", FUNCTIONS)


@pytest.mark.parametrize("stage", ["dev", "prod", "mixed"])
def test_nobody_may_do_everything_or_touch_everything_or_look_at_a_tables_settings(
    stage: str, request: pytest.FixtureRequest
) -> None:
    assembly: Assembly = request.getfixturevalue(stage)
    names = {name.removesuffix("Function") for name in assembly.named("AWS::Lambda::Function")}
    assert names >= {*FUNCTIONS} - {"Migrate"}
    for function in names:
        for action, resource in held(assembly, f"{function}Role") - {ALARMS}:
            assert "*" not in action + resource
            assert action != "dynamodb:DescribeTable"


def test_nobody_but_a_migration_may_write_to_a_source(dev: Assembly) -> None:
    writes = re.compile(r"dynamodb:.*(Put|Update|Delete|Write|PartiQL)")
    for function in FUNCTIONS:
        may = held(dev, f"{function}Role")
        sources = {resource for action, resource in may if writes.match(action)} & {*TABLES}
        assert sources == ({"Orders.Arn"} if function == "Migrate" else set())


def test_there_is_no_role_but_one_for_each_function_and_machine(dev: Assembly) -> None:
    assert dev.named("AWS::Lambda::Function").keys() == {f"{name}Function" for name in FUNCTIONS}
    roles = {f"{name}Role" for name in (*FUNCTIONS, *MACHINES)}
    assert dev.named("AWS::IAM::Role").keys() == roles
    assert {name: dev.name(dev.function(name)["Role"]) for name in FUNCTIONS} == {
        name: f"{name}Role.Arn" for name in FUNCTIONS
    }
    policies = dev.resources("AWS::IAM::Policy")
    added = {dev.name(role) for policy in policies for role in policy["Properties"]["Roles"]}
    assert added == {f"{name}Role" for name in MACHINES}


@each_function
def test_only_lambda_may_take_a_functions_role(dev: Assembly, function: str) -> None:
    role = dev.named("AWS::IAM::Role")[f"{function}Role"]
    assert role["Properties"]["AssumeRolePolicyDocument"]["Statement"] == [
        {
            "Action": "sts:AssumeRole",
            "Effect": "Allow",
            "Principal": {"Service": "lambda.amazonaws.com"},
        }
    ]


@each_function
def test_a_function_runs_on_arm_and_writes_to_its_own_log(dev: Assembly, function: str) -> None:
    properties = dev.function(function)
    assert properties["Runtime"] == "python3.13"
    assert properties["Architectures"] == ["arm64"]
    assert dev.name(properties["LoggingConfig"]["LogGroup"]) == f"{function}Logs"


@each_function
def test_logs_are_kept_as_long_as_the_stage_says_and_outlive_the_stack_in_prod(
    dev: Assembly, prod: Assembly, function: str
) -> None:
    dev_log, prod_log = (
        assembly.named("AWS::Logs::LogGroup")[f"{function}Logs"] for assembly in (dev, prod)
    )
    assert (dev_log["Properties"]["RetentionInDays"], dev_log["DeletionPolicy"]) == (7, "Delete")
    assert (prod_log["Properties"]["RetentionInDays"], prod_log["DeletionPolicy"]) == (
        90,
        "RetainExceptOnCreate",
    )


@pytest.mark.parametrize("function", [name for name in FUNCTIONS if name != "Totals"])
def test_the_environment_is_the_settings_and_powertools_own(dev: Assembly, function: str) -> None:
    variables = dev.function(function)["Environment"]["Variables"]
    settings = Settings(
        view_table="AdminViewTable",
        dead_letter_queue_url="DeadLetters",
        sources={name: name for name in SOURCES},
        model=registry().fingerprint,
        service="AdminView-dev",
    )
    reported = settings.to_env()
    del reported["ADMINVIEW_SOURCES"]
    assert dev.manifest_of(function) == Manifest(
        model=settings.model,
        views=tuple(f"lambdas.views.{name.lower()}" for name in SOURCES),
        migrations=("lambdas.migrations.orders_delivery_date",),
        sources=settings.sources,
    )
    assert {name: dev.name(value) for name, value in variables.items()} == reported | {
        "POWERTOOLS_METRICS_NAMESPACE": "AdminView",
        **OWN_VARIABLES.get(function, {}),
    }


@each_function
def test_a_stage_that_traces_may_send_traces_and_tells_the_function(
    dev: Assembly, traced: Assembly, function: str
) -> None:
    properties = traced.function(function)
    assert properties["TracingConfig"] == {"Mode": "Active"}
    assert properties["Environment"]["Variables"]["ADMINVIEW_TRACING"] == "true"
    # X-Ray knows no resources.
    xray = {("xray:PutTelemetryRecords", "*"), ("xray:PutTraceSegments", "*")}
    assert held(traced, f"{function}Role") == held(dev, f"{function}Role") | xray


def test_synthesis_refuses_an_app_that_lacks_a_handler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with written_app(tmp_path, monkeypatch) as app:
        app.write("sync.py", "")
        options = DeploymentOptions(views=registry(), stage=DEV, handlers=app.name)
        assert options.handler("sync") == f"{app.name}.sync.handler"
        with pytest.raises(SettingsError, match=f"{app.name}/build.py is missing.*adminview init"):
            options.handler("build")
