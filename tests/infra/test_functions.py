"""Every function may do what it must and no more, and is told the same as the others."""

from json import dumps

import pytest

from lambdas.aws.settings import Settings
from tests.infra.synthesis import Assembly
from tests.shop import registry

SOURCES = ("Orders", "Payments", "Products", "Users")
TABLES = [f"{name}.Arn" for name in SOURCES]
STREAMS = [f"{name}.StreamArn" for name in SOURCES]
VIEW, OWNERS, LETTERS = "AdminViewTable.Arn", "AdminViewTable.Arn/index/Owner", "DeadLetters.Arn"
ASKED = [f"{VIEW}/index/{name}" for name in ("Featured", "GSI1", "GSI2", "GSI3", "OrderDashboard")]
METRICS = ("cloudwatch:GetMetricData",)  # CloudWatch knows no resources
ALLOWED = {
    "Sync": {
        ("logs:CreateLogStream", "logs:PutLogEvents"): ["SyncLogs.Arn"],
        ("dynamodb:BatchWriteItem",): [VIEW],
        ("sqs:SendMessage",): [LETTERS],
        (
            "dynamodb:DescribeStream",
            "dynamodb:GetRecords",
            "dynamodb:GetShardIterator",
            "dynamodb:ListStreams",
        ): STREAMS,
    },
    "Replay": {
        ("logs:CreateLogStream", "logs:PutLogEvents"): ["ReplayLogs.Arn"],
        (
            "sqs:ChangeMessageVisibility",
            "sqs:DeleteMessage",
            "sqs:ReceiveMessage",
            "sqs:SendMessage",
        ): [LETTERS],
        ("dynamodb:GetItem",): TABLES,
        ("dynamodb:BatchGetItem", "dynamodb:DeleteItem", "dynamodb:PutItem"): [VIEW],
        ("dynamodb:Query",): [OWNERS],
        ("dynamodb:GetRecords", "dynamodb:GetShardIterator"): STREAMS,
    },
    "Verify": {
        ("logs:CreateLogStream", "logs:PutLogEvents"): ["VerifyLogs.Arn"],
        ("dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:Scan"): TABLES,
        ("dynamodb:BatchGetItem", "dynamodb:Scan"): [VIEW],
        ("dynamodb:Query",): [OWNERS],
    },
    "Api": {
        ("logs:CreateLogStream", "logs:PutLogEvents"): ["ApiLogs.Arn"],
        ("dynamodb:Query",): [VIEW, *ASKED],
        ("dynamodb:BatchGetItem",): [VIEW],
        METRICS: ["*"],
    },
}
# What a function is told besides.
TOLD = {
    "Api": {
        "ADMINVIEW_SYNC_FUNCTION": "SyncFunction",
        "ADMINVIEW_STREAMS": dumps(dict(zip(SOURCES, STREAMS, strict=True))),
    }
}

each_function = pytest.mark.parametrize("function", ALLOWED)


def allowed(assembly: Assembly, function: str) -> dict[tuple[str, ...], list[str]]:
    found = [(tuple(actions), resources) for actions, resources in assembly.statements(function)]
    assert len(dict(found)) == len(found), "the same is said twice"
    return dict(found)


@each_function
@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_a_function_may_do_exactly_this(
    stage: str, function: str, request: pytest.FixtureRequest
) -> None:
    assembly: Assembly = request.getfixturevalue(stage)
    assert allowed(assembly, function) == ALLOWED[function]


@pytest.mark.parametrize("stage", ["dev", "prod", "mixed"])
def test_nobody_may_do_everything_or_touch_everything_or_look_at_a_tables_settings(
    stage: str, request: pytest.FixtureRequest
) -> None:
    assembly: Assembly = request.getfixturevalue(stage)
    for function in ALLOWED:
        for actions, resources in assembly.statements(function):
            if tuple(actions) == METRICS:
                continue
            assert "*" not in "".join([*actions, *resources])
            assert "dynamodb:DescribeTable" not in actions


def test_there_is_no_role_but_one_for_each_function(dev: Assembly) -> None:
    assert dev.named("AWS::Lambda::Function").keys() == {f"{name}Function" for name in ALLOWED}
    assert dev.named("AWS::IAM::Role").keys() == {f"{name}Role" for name in ALLOWED}
    assert {name: dev.name(dev.function(name)["Role"]) for name in ALLOWED} == {
        name: f"{name}Role.Arn" for name in ALLOWED
    }
    assert not dev.resources("AWS::IAM::Policy")


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
    found = dev.function(function)
    assert found["Runtime"] == "python3.13"
    assert found["Architectures"] == ["arm64"]
    assert dev.name(found["LoggingConfig"]["LogGroup"]) == f"{function}Logs"


@each_function
def test_logs_are_kept_as_long_as_the_stage_says_and_outlive_the_stack_in_prod(
    dev: Assembly, prod: Assembly, function: str
) -> None:
    dev_log, prod_log = (one.named("AWS::Logs::LogGroup")[f"{function}Logs"] for one in (dev, prod))
    assert (dev_log["Properties"]["RetentionInDays"], dev_log["DeletionPolicy"]) == (7, "Delete")
    assert (prod_log["Properties"]["RetentionInDays"], prod_log["DeletionPolicy"]) == (90, "Retain")


@each_function
def test_the_environment_is_the_settings_and_powertools_own(dev: Assembly, function: str) -> None:
    variables = dev.function(function)["Environment"]["Variables"]
    settings = Settings(
        view_table="AdminViewTable",
        dead_letter_queue_url="DeadLetters",
        sources={name: name for name in SOURCES},
        model=registry().fingerprint,
    )
    told = settings.to_env() | TOLD.get(function, {})
    assert {name: dev.name(value) for name, value in variables.items()} == told | {
        "POWERTOOLS_SERVICE_NAME": "adminview",
        "POWERTOOLS_METRICS_NAMESPACE": "AdminView",
    }


@each_function
def test_no_stage_traces_unless_it_says_so(dev: Assembly, prod: Assembly, function: str) -> None:
    assert "TracingConfig" not in dev.function(function)
    assert "TracingConfig" not in prod.function(function)


@each_function
def test_a_stage_that_traces_may_send_traces_and_tells_the_function(
    traced: Assembly, function: str
) -> None:
    found = traced.function(function)
    assert found["TracingConfig"] == {"Mode": "Active"}
    assert found["Environment"]["Variables"]["ADMINVIEW_TRACING"] == "true"
    # X-Ray knows no resources.
    xray = {("xray:PutTelemetryRecords", "xray:PutTraceSegments"): ["*"]}
    assert allowed(traced, function) == ALLOWED[function] | xray
