"""The metrics of a deployment. Names of our own come from the code that counts."""

from collections.abc import Mapping
from typing import Any

from aws_cdk import aws_cloudwatch as cloudwatch

from adminview.aws.settings import NAMESPACE
from adminview.aws.stream_metrics import polled_metric, returned_metric, written_metric

# A source is silent if records were handed out and we saw none, or if it was written and nobody
# asks its stream. Units alone would not do: a write that changes nothing takes them, and leaves no
# record. Where others follow the stream too, they ask it, but then it also hands records out.
SILENT = (
    "IF(FILL(records, 0) == 0 AND (FILL(returned, 0) > 0 OR "
    "(FILL(written, 0) > 0 AND FILL(polled, 0) == 0)), 1, 0)"
)
WAITING = ("Visible", "NotVisible", "Delayed")  # a replay hides letters, and new ones are delayed


def metric(
    namespace: str, name: str, dimensions: Mapping[str, str], statistic: str = "Sum"
) -> cloudwatch.Metric:
    """Name one metric."""
    return cloudwatch.Metric(
        namespace=namespace,
        metric_name=name,
        dimensions_map=dict(dimensions),
        statistic=statistic,
    )


def pulse(named: Mapping[str, Any]) -> cloudwatch.Metric:
    """Take a metric as the health of the API names it."""
    found = named["Metric"]
    dimensions = {one["Name"]: one["Value"] for one in found["Dimensions"]}
    return metric(found["Namespace"], found["MetricName"], dimensions, named["Stat"])


def ours(
    service: str, name: str, source: str | None = None, statistic: str = "Sum"
) -> cloudwatch.Metric:
    """Name what our functions count: in one deployment, of one source or of all together."""
    dimensions = {"service": service} | ({"source": source} if source else {})
    return metric(NAMESPACE, name, dimensions, statistic)


def silence(service: str, source: str, table: str, label: str) -> cloudwatch.MathExpression:
    """Find periods in which a source had changes, and our sync saw none."""
    return cloudwatch.MathExpression(
        expression=SILENT,
        label="silent",
        using_metrics={
            "records": ours(service, "Records", source),
            "returned": pulse(returned_metric(table, label)),
            "written": pulse(written_metric(table)),
            "polled": pulse(polled_metric(table, label)),
        },
    )


def refused(table: str, index: str | None = None) -> dict[str, cloudwatch.IMetric]:
    """Name the reads and writes that a table refused, or one of its indexes: neither tells both."""
    dimensions = {"TableName": table} | ({"GlobalSecondaryIndexName": index} if index else {})
    names = {"reads": "ReadThrottleEvents", "writes": "WriteThrottleEvents"}
    return {
        which: metric("AWS/DynamoDB", name, dimensions).with_(label=f"{index or table} {which}")
        for which, name in names.items()
    }


def throttled(table: str, index: str | None = None) -> cloudwatch.MathExpression:
    """Count the reads and writes that a table refused, or one of its indexes."""
    return cloudwatch.MathExpression(
        expression="FILL(reads, 0) + FILL(writes, 0)",
        label="refused",
        using_metrics=refused(table, index),
    )


def letters(queue: str) -> cloudwatch.MathExpression:
    """Count all letters of a queue, whether they can be seen now or not."""
    names = {name.lower(): f"ApproximateNumberOfMessages{name}" for name in WAITING}
    return cloudwatch.MathExpression(
        # SQS tells a count only while there is something to count, and a sum needs all of them.
        expression=" + ".join(f"FILL({id_}, 0)" for id_ in names),
        label="letters",
        using_metrics={id_: of_queue(queue, name) for id_, name in names.items()},
    )


def of_queue(queue: str, name: str) -> cloudwatch.Metric:
    """Name what SQS counts."""
    return metric("AWS/SQS", name, {"QueueName": queue}, "Maximum")


def of_function(function: str, name: str) -> cloudwatch.Metric:
    """Name what Lambda counts."""
    return metric("AWS/Lambda", name, {"FunctionName": function})


def of_api(api: str, name: str) -> cloudwatch.Metric:
    """Name what API Gateway counts."""
    return metric("AWS/ApiGateway", name, {"ApiId": api})


def of_machine(machine: str, name: str) -> cloudwatch.Metric:
    """Name what Step Functions counts."""
    return metric("AWS/States", name, {"StateMachineArn": machine})


def unverified(service: str, run: str) -> cloudwatch.Metric:
    """Count verifications that did not end."""
    return ours(service, "VerifyUnfinished", run, "Maximum")
