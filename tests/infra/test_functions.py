"""Every function may do what it must and no more, and is told the same as the others."""

import re
from json import dumps

import pytest

from lambdas.aws.settings import Settings
from tests.infra.synthesis import Assembly
from tests.shop import registry

SOURCES = ("Orders", "Payments", "Products", "Users")
TABLES = [f"{name}.Arn" for name in SOURCES]
STREAMS = [f"{name}.StreamArn" for name in SOURCES]
VIEW, OWNERS, LETTERS = "AdminViewTable.Arn", "AdminViewTable.Arn/index/Owner", "DeadLetters.Arn"
INDEXES = ("DeliveryDate-Index", "Featured", "GSI1", "GSI2", "GSI3", "OrderDashboard")
ASKED = [f"{VIEW}/index/{name}" for name in INDEXES]
PROGRESS = "AdminViewTableProgress.Arn"
MAPPINGS = [f"Follow{name}Mapping" for name in SOURCES]
MAPPING_ARN = "arn:AWS::Partition:lambda:AWS::Region:AWS::AccountId:event-source-mapping:"
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
    "Backfill": {
        ("logs:CreateLogStream", "logs:PutLogEvents"): ["BackfillLogs.Arn"],
        (
            "dynamodb:BatchGetItem",
            "dynamodb:DescribeTable",
            "dynamodb:GetItem",
            "dynamodb:Scan",
        ): TABLES,
        (
            "dynamodb:BatchGetItem",
            "dynamodb:BatchWriteItem",
            "dynamodb:DeleteItem",
            "dynamodb:DescribeTable",
            "dynamodb:PutItem",
            "dynamodb:Scan",
        ): [VIEW],
        ("dynamodb:Query",): [OWNERS],
        ("sqs:SendMessage",): [LETTERS],
        ("lambda:GetEventSourceMapping",): [f"{MAPPING_ARN}{mapping}" for mapping in MAPPINGS],
        (
            "dynamodb:DeleteItem",
            "dynamodb:GetItem",
            "dynamodb:PutItem",
            "dynamodb:Query",
        ): [PROGRESS],
    },
    "Migrate": {
        ("logs:CreateLogStream", "logs:PutLogEvents"): ["MigrateLogs.Arn"],
        (
            "dynamodb:BatchGetItem",
            "dynamodb:DescribeTable",
            "dynamodb:GetItem",
            "dynamodb:Scan",
            "dynamodb:UpdateItem",
        ): ["Orders.Arn"],
        (
            "dynamodb:DeleteItem",
            "dynamodb:GetItem",
            "dynamodb:PutItem",
            "dynamodb:Query",
        ): [PROGRESS],
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
    },
    "Backfill": {"ADMINVIEW_MAPPINGS": dumps(dict(zip(SOURCES, MAPPINGS, strict=True)))},
}

BULK = ("Backfill", "Migrate")  # they count the items, to tell how much there is to do

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
    names = {name.removesuffix("Function") for name in assembly.named("AWS::Lambda::Function")}
    assert names >= ALLOWED.keys() - {"Migrate"}
    for function in names:
        for actions, resources in assembly.statements(function):
            if tuple(actions) == METRICS:
                continue
            assert "*" not in "".join([*actions, *resources])
            assert function in BULK or "dynamodb:DescribeTable" not in actions


def test_nobody_but_a_migration_may_write_to_a_source(dev: Assembly) -> None:
    writes = re.compile(r"dynamodb:.*(Put|Update|Delete|Write|PartiQL)")
    for function in ALLOWED:
        written = [
            on for actions, on in dev.statements(function) if any(map(writes.match, actions))
        ]
        sources = {one for on in written for one in on} & {*TABLES}
        assert sources == ({"Orders.Arn"} if function == "Migrate" else set())


def test_there_is_no_role_but_one_for_each_function_and_machine(dev: Assembly) -> None:
    assert dev.named("AWS::Lambda::Function").keys() == {f"{name}Function" for name in ALLOWED}
    roles = {f"{name}Role" for name in ALLOWED} | {f"{name}SegmentsMachineRole" for name in BULK}
    assert dev.named("AWS::IAM::Role").keys() == roles
    assert {name: dev.name(dev.function(name)["Role"]) for name in ALLOWED} == {
        name: f"{name}Role.Arn" for name in ALLOWED
    }
    policies = dev.resources("AWS::IAM::Policy")
    added = {dev.name(role) for one in policies for role in one["Properties"]["Roles"]}
    assert added == {f"{name}SegmentsMachineRole" for name in BULK}


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
def test_a_stage_that_traces_may_send_traces_and_tells_the_function(
    traced: Assembly, function: str
) -> None:
    found = traced.function(function)
    assert found["TracingConfig"] == {"Mode": "Active"}
    assert found["Environment"]["Variables"]["ADMINVIEW_TRACING"] == "true"
    # X-Ray knows no resources.
    xray = {("xray:PutTelemetryRecords", "xray:PutTraceSegments"): ["*"]}
    assert allowed(traced, function) == ALLOWED[function] | xray
