"""The sync function may do what it must and no more, and nothing it is given gets lost."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from infra.stages import DEV, STAGES
from lambdas.aws.settings import Settings
from lambdas.model.delivery import Delivery
from tests.infra.synthesis import Assembly, synthesize
from tests.shop import registry

STREAMS = ["Orders.StreamArn", "Payments.StreamArn", "Products.StreamArn", "Users.StreamArn"]
ALLOWED = [
    (["logs:CreateLogStream", "logs:PutLogEvents"], ["AWS::Logs::LogGroup.Arn"]),
    (["dynamodb:BatchWriteItem"], ["AdminViewTable.Arn"]),
    (["sqs:SendMessage"], ["AWS::SQS::Queue.Arn"]),
    (
        [
            "dynamodb:DescribeStream",
            "dynamodb:GetRecords",
            "dynamodb:GetShardIterator",
            "dynamodb:ListStreams",
        ],
        STREAMS,
    ),
]


def function(assembly: Assembly) -> dict[str, Any]:
    (found,) = assembly.resources("AWS::Lambda::Function")
    return dict(found["Properties"])


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_the_function_may_do_exactly_this(stage: str, request: pytest.FixtureRequest) -> None:
    assembly: Assembly = request.getfixturevalue(stage)
    assert sorted(assembly.statements()) == sorted(ALLOWED)


def test_only_lambda_may_take_the_functions_role(dev: Assembly) -> None:
    (role,) = dev.resources("AWS::IAM::Role")
    assert role["Properties"]["AssumeRolePolicyDocument"]["Statement"] == [
        {
            "Action": "sts:AssumeRole",
            "Effect": "Allow",
            "Principal": {"Service": "lambda.amazonaws.com"},
        }
    ]


def test_each_stream_is_delivered_as_delivery_says_and_without_a_filter(dev: Assembly) -> None:
    assert sorted(dev.mappings()) == STREAMS
    delivery = Delivery()
    for mapping in dev.mappings().values():
        settings = mapping.keys() - {"Tags", "EventSourceArn", "FunctionName"}
        assert {name: mapping[name] for name in settings} == {
            "StartingPosition": "TRIM_HORIZON",
            "BatchSize": delivery.batch_size,
            "MaximumBatchingWindowInSeconds": delivery.window_seconds,
            "ParallelizationFactor": delivery.parallelization,
            "FunctionResponseTypes": ["ReportBatchItemFailures"],
            "BisectBatchOnFunctionError": delivery.bisect,
            "MaximumRetryAttempts": delivery.retries,
            "MaximumRecordAgeInSeconds": delivery.max_age_seconds,
            "DestinationConfig": {"OnFailure": {"Destination": queue_arn(dev)}},
        }
        assert dev.name(mapping["FunctionName"]) == "AWS::Lambda::Function"
    assert len(asdict(delivery)) == 6, "a new rule of delivery has to reach the mapping"


def test_lambda_retries_until_shortly_before_the_stream_forgets(dev: Assembly) -> None:
    for mapping in dev.mappings().values():
        assert mapping["MaximumRetryAttempts"] == -1
        assert 23 * 3600 <= mapping["MaximumRecordAgeInSeconds"] < 24 * 3600


def queue_arn(assembly: Assembly) -> dict[str, list[str]]:
    resources = assembly.stack("Sync")["Resources"]
    (id_,) = [name for name, one in resources.items() if one["Type"] == "AWS::SQS::Queue"]
    return {"Fn::GetAtt": [id_, "Arn"]}


def test_letters_are_kept_for_14_days_encrypted_and_are_not_tried_at_once(dev: Assembly) -> None:
    (queue,) = dev.resources("AWS::SQS::Queue")
    assert {name: value for name, value in queue["Properties"].items() if name != "Tags"} == {
        "MessageRetentionPeriod": 14 * 24 * 3600,
        "SqsManagedSseEnabled": True,
        "DelaySeconds": 30,
        "VisibilityTimeout": 360,
    }


def test_the_queue_refuses_whoever_comes_without_tls(dev: Assembly) -> None:
    (policy,) = dev.resources("AWS::SQS::QueuePolicy")
    assert policy["Properties"]["PolicyDocument"]["Statement"] == [
        {
            "Action": "sqs:*",
            "Effect": "Deny",
            "Principal": {"AWS": "*"},
            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
            "Resource": queue_arn(dev),
        }
    ]
    assert [dev.name(queue) for queue in policy["Properties"]["Queues"]] == ["AWS::SQS::Queue"]


def test_letters_and_logs_of_prod_outlive_their_stack(dev: Assembly, prod: Assembly) -> None:
    for type_ in ("AWS::SQS::Queue", "AWS::Logs::LogGroup"):
        assert [one["DeletionPolicy"] for one in prod.resources(type_)] == ["Retain"]
        assert [one["DeletionPolicy"] for one in dev.resources(type_)] == ["Delete"]


def test_logs_are_kept_as_long_as_the_stage_says(dev: Assembly, prod: Assembly) -> None:
    (dev_log,), (prod_log,) = (one.resources("AWS::Logs::LogGroup") for one in (dev, prod))
    assert dev_log["Properties"]["RetentionInDays"] == 7
    assert prod_log["Properties"]["RetentionInDays"] == 90


def test_the_function_runs_our_handler_on_arm_and_writes_to_its_own_log(dev: Assembly) -> None:
    found = function(dev)
    assert found["Handler"] == "lambdas.sync.handler"
    assert found["Runtime"] == "python3.13"
    assert found["Architectures"] == ["arm64"]
    assert (found["MemorySize"], found["Timeout"]) == (512, 120)
    assert dev.name(found["LoggingConfig"]["LogGroup"]) == "AWS::Logs::LogGroup"


def test_the_environment_is_the_settings_and_powertools_own(dev: Assembly) -> None:
    variables = dict(function(dev)["Environment"]["Variables"])
    url = variables["ADMINVIEW_DEAD_LETTER_QUEUE_URL"]
    assert dev.name(url) == "AWS::SQS::Queue"
    settings = Settings(
        view_table="AdminViewTable",
        dead_letter_queue_url=url,
        sources={name: name for name in ("Orders", "Payments", "Products", "Users")},
        model=registry().fingerprint,
    )
    assert variables == settings.to_env() | {
        "POWERTOOLS_SERVICE_NAME": "adminview",
        "POWERTOOLS_METRICS_NAMESPACE": "AdminView",
    }


def test_no_stage_traces_unless_it_says_so(dev: Assembly, prod: Assembly) -> None:
    assert "TracingConfig" not in function(dev)
    assert "TracingConfig" not in function(prod)


def test_a_stage_that_traces_may_send_traces_and_tells_the_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(STAGES, "dev", replace(DEV, tracing=True))
    traced = synthesize(registry(), tmp_path)
    assert function(traced)["TracingConfig"] == {"Mode": "Active"}
    assert function(traced)["Environment"]["Variables"]["ADMINVIEW_TRACING"] == "true"
    xray = (["xray:PutTelemetryRecords", "xray:PutTraceSegments"], ["*"])
    assert sorted(traced.statements()) == sorted([*ALLOWED, xray])
