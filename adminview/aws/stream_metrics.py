"""CloudWatch metrics of the functions that follow streams, and of their event source mappings."""

from typing import Any, Final

PERIOD: Final = 60  # seconds, the resolution of these metrics


def polls_metric(mapping: str) -> dict[str, Any]:
    """Return the number of times a mapping polled its stream.

    Lambda counts the records of each poll, 0 of an empty one: an idle mapping has samples, and a
    stopped one has none.
    """
    return _of_mapping("PolledEventCount", "SampleCount", mapping)


def dropped_metric(mapping: str) -> dict[str, Any]:
    """Return the number of records that Lambda gave up and sent to no on-failure destination.

    Records that the stream itself dropped are not included.
    """
    return _of_mapping("DroppedEventCount", "Sum", mapping)


def unsent_metric(function: str) -> dict[str, Any]:
    """Return the number of messages that Lambda could not send to an on-failure destination."""
    return _metric("DestinationDeliveryFailures", "Sum", FunctionName=function)


def age_metric(function: str) -> dict[str, Any]:
    """Return the metric of the age of a function's records, in milliseconds."""
    return _metric("IteratorAge", "Maximum", FunctionName=function)


def _of_mapping(name: str, statistic: str, mapping: str) -> dict[str, Any]:
    return _metric(name, statistic, EventSourceMappingUUID=mapping)


def _metric(name: str, statistic: str, **dimensions: str) -> dict[str, Any]:
    where = [{"Name": dimension, "Value": value} for dimension, value in dimensions.items()]
    return {
        "Metric": {"Namespace": "AWS/Lambda", "MetricName": name, "Dimensions": where},
        "Stat": statistic,
    }
