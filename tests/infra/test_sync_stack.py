"""Every stream reaches the sync function, and no record is lost."""

import json
from dataclasses import asdict

from adminview.aws.settings import SETTINGS_OUTPUT
from adminview.model.delivery import Delivery
from tests.support.synthesis import Assembly, Resource

STREAMS = ["Orders.StreamArn", "Payments.StreamArn", "Products.StreamArn", "Users.StreamArn"]


def test_each_stream_is_delivered_as_delivery_says_and_without_a_filter(dev: Assembly) -> None:
    assert sorted(dev.mappings()) == ["AdminViewTable.StreamArn", *STREAMS]
    delivery = Delivery()
    for mapping in of_sources(dev):
        settings = mapping.keys() - {"Tags", "EventSourceArn", "FunctionName"}
        assert {name: mapping[name] for name in settings} == {
            "StartingPosition": "TRIM_HORIZON",
            "MetricsConfig": {"Metrics": ["EventCount"]},
            "BatchSize": delivery.batch_size,
            "MaximumBatchingWindowInSeconds": delivery.window_seconds,
            "ParallelizationFactor": delivery.parallelization,
            "FunctionResponseTypes": ["ReportBatchItemFailures"],
            "BisectBatchOnFunctionError": delivery.bisect,
            "MaximumRetryAttempts": delivery.retries,
            "MaximumRecordAgeInSeconds": delivery.max_age_seconds,
            "DestinationConfig": {"OnFailure": {"Destination": queue_arn(dev)}},
        }
        assert dev.name(mapping["FunctionName"]) == "SyncFunction"
    assert delivery.tumbling_seconds == 0, "a window would only cut batches"
    assert len(asdict(delivery)) == 7, "a new rule of delivery has to reach the mapping"


def test_lambda_retries_until_shortly_before_the_stream_forgets(dev: Assembly) -> None:
    for mapping in of_sources(dev):
        assert mapping["MaximumRetryAttempts"] == -1
        assert mapping["MaximumRecordAgeInSeconds"] == 22 * 3600  # two hours for the replay


def of_sources(assembly: Assembly) -> list[Resource]:
    """Return the mappings of the sync, without that of the totals."""
    return [assembly.mappings()[stream] for stream in STREAMS]


def queue_arn(assembly: Assembly) -> dict[str, list[str]]:
    resources = assembly.stack("Sync")["Resources"]
    (id_,) = [name for name, resource in resources.items() if resource["Type"] == "AWS::SQS::Queue"]
    return {"Fn::GetAtt": [id_, "Arn"]}


def test_dead_letters_are_kept_for_14_days_encrypted_and_are_not_tried_at_once(
    dev: Assembly,
) -> None:
    (queue,) = dev.resources("AWS::SQS::Queue")
    assert {name: value for name, value in queue["Properties"].items() if name != "Tags"} == {
        "MessageRetentionPeriod": 14 * 24 * 3600,
        "SqsManagedSseEnabled": True,
        "DelaySeconds": 30,
        "VisibilityTimeout": 660,
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
    assert [dev.name(queue) for queue in policy["Properties"]["Queues"]] == ["DeadLetters"]


def test_dead_letters_of_prod_outlive_their_stack(dev: Assembly, prod: Assembly) -> None:
    assert [queue["DeletionPolicy"] for queue in prod.resources("AWS::SQS::Queue")] == [
        "RetainExceptOnCreate"
    ]
    assert [queue["DeletionPolicy"] for queue in dev.resources("AWS::SQS::Queue")] == ["Delete"]


def test_the_function_runs_our_handler(dev: Assembly) -> None:
    properties = dev.function("Sync")
    assert properties["Handler"] == "lambdas.sync.handler"
    assert (properties["MemorySize"], properties["Timeout"]) == (512, 120)


def test_a_deployment_tells_its_settings_as_its_functions_read_them(dev: Assembly) -> None:
    reported = json.loads(dev.outputs()[SETTINGS_OUTPUT])
    variables = dev.function("Sync")["Environment"]["Variables"]
    assert reported == {
        name: dev.name(value)
        for name, value in variables.items()
        if name != "POWERTOOLS_METRICS_NAMESPACE"
    } | {"ADMINVIEW_SOURCES": json.dumps(dict(dev.manifest_of("Sync").sources))}
    assert "Export" not in dev.stack("Sync")["Outputs"][SETTINGS_OUTPUT]
