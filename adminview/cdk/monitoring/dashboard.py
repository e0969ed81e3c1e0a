"""One page: what is wrong, each source from change to row, and what all of them share."""

from collections.abc import Iterator, Sequence
from typing import Final

from aws_cdk import aws_cloudwatch as cloudwatch

from adminview.aws.concurrency import batched
from adminview.aws.observability import LAG
from adminview.aws.stream_metrics import age_metric
from adminview.cdk.monitoring import metrics
from adminview.cdk.monitoring.alarms import MonitoredResources

Row = list[cloudwatch.IWidget]

WIDTH: Final = 6  # of 24 columns
ALARMS_SHOWN: Final = 100  # in one widget, set by CloudWatch
# From left to right as a record travels: title, metrics, statistic.
STATIONS: Final = (
    ("lag", (LAG,), "Maximum"),
    ("records", ("Records", "Unchanged", "NoView"), "Sum"),
    ("rows", ("RowsPut", "RowsDeleted"), "Sum"),
    ("dead-lettered or redelivered", ("DeadLettered", "Redelivered"), "Sum"),
)


def rows(resources: MonitoredResources, alarms: Sequence[cloudwatch.IAlarm]) -> Iterator[Row]:
    """Lay the page out, from the most pressing to the rest."""
    for number, share in enumerate(batched(alarms, ALARMS_SHOWN)):
        title = "Alarms" if number == 0 else "More alarms"
        yield [cloudwatch.AlarmStatusWidget(title=title, alarms=list(share), width=24, height=6)]
    for source in (stream.source for stream in resources.streams):
        yield [
            _graph(
                f"{source}: {title}",
                [metrics.ours(resources.service, name, source, statistic) for name in names],
            )
            for title, names, statistic in STATIONS
        ]
    yield from _shared(resources)


def _shared(resources: MonitoredResources) -> Iterator[Row]:
    """Show what the sources have in common."""
    ages = [metrics.pulse(age_metric(resources.sync))]
    functions = resources.functions.items()
    refused = [
        one
        for index in (None, *resources.indexes)
        for one in metrics.refused(resources.view_table, index).values()
    ]
    yield [
        _graph("Dead letters", [metrics.letters(resources.queue)]),
        _graph("Age of records given to the sync", ages),
        _graph("View: refused reads and writes", refused),
        _graph("API", [metrics.of_api(resources.api, name) for name in ("Count", "4xx", "5xx")]),
    ]
    yield [
        _graph(
            f"Functions: {name.lower()}",
            [metrics.of_function(one.name, name).with_(label=which) for which, one in functions],
        )
        for name in ("Invocations", "Errors", "Throttles")
    ]


def _graph(title: str, shown: Sequence[cloudwatch.IMetric]) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(title=title, left=list(shown), width=WIDTH)
