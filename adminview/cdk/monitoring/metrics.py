"""The metrics of a deployment. The names of our own metrics come from the code that emits them."""

from collections.abc import Mapping
from typing import Any

from aws_cdk import aws_cloudwatch as cloudwatch

from adminview.aws.settings import NAMESPACE

# A replay hides the dead letters it works on, and new ones are delayed.
WAITING = ("Visible", "NotVisible", "Delayed")


def metric(
    namespace: str, name: str, dimensions: Mapping[str, str], statistic: str = "Sum"
) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace=namespace,
        metric_name=name,
        dimensions_map=dict(dimensions),
        statistic=statistic,
    )


def from_query(query: Mapping[str, Any]) -> cloudwatch.Metric:
    """Return the metric of a GetMetricData query."""
    queried = query["Metric"]
    dimensions = {dimension["Name"]: dimension["Value"] for dimension in queried["Dimensions"]}
    return metric(queried["Namespace"], queried["MetricName"], dimensions, query["Stat"])


def own_metric(
    service: str, name: str, source: str | None = None, statistic: str = "Sum"
) -> cloudwatch.Metric:
    """Return a metric that our functions emit, for one source or for all together."""
    dimensions = {"service": service} | ({"source": source} if source else {})
    return metric(NAMESPACE, name, dimensions, statistic)


def throttle_events(table: str, index: str | None = None) -> dict[str, cloudwatch.IMetric]:
    """Return the throttled reads and writes of a table without its indexes, or of one index."""
    dimensions = {"TableName": table} | ({"GlobalSecondaryIndexName": index} if index else {})
    names = {"reads": "ReadThrottleEvents", "writes": "WriteThrottleEvents"}
    return {
        kind: metric("AWS/DynamoDB", name, dimensions).with_(label=f"{index or table} {kind}")
        for kind, name in names.items()
    }


def throttled(table: str, index: str | None = None) -> cloudwatch.MathExpression:
    """Return the sum of `throttle_events`."""
    return cloudwatch.MathExpression(
        expression="FILL(reads, 0) + FILL(writes, 0)",
        label="throttled",
        using_metrics=throttle_events(table, index),
    )


def dead_letters(queue: str) -> cloudwatch.MathExpression:
    """Return the number of messages in a queue: visible, in flight and delayed."""
    names = {name.lower(): f"ApproximateNumberOfMessages{name}" for name in WAITING}
    return cloudwatch.MathExpression(
        # SQS reports a count only while it is not zero, and a sum needs all three.
        expression=" + ".join(f"FILL({id_}, 0)" for id_ in names),
        label="dead letters",
        using_metrics={id_: of_queue(queue, name) for id_, name in names.items()},
    )


def of_queue(queue: str, name: str) -> cloudwatch.Metric:
    return metric("AWS/SQS", name, {"QueueName": queue}, "Maximum")


def of_function(function: str, name: str) -> cloudwatch.Metric:
    return metric("AWS/Lambda", name, {"FunctionName": function})


def of_api(api: str, name: str) -> cloudwatch.Metric:
    return metric("AWS/ApiGateway", name, {"ApiId": api})


def of_machine(machine: str, name: str) -> cloudwatch.Metric:
    return metric("AWS/States", name, {"StateMachineArn": machine})


def unverified(service: str, run: str) -> cloudwatch.Metric:
    """Return 1 for each period with a verification that did not finish, 0 for one that did."""
    return own_metric(service, "VerifyUnfinished", run, "Maximum")
