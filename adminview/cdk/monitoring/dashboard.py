"""The dashboard: alarms, then each source from change to row, then what the sources share."""

from collections.abc import Iterator, Sequence
from typing import Final

from aws_cdk import aws_cloudwatch as cloudwatch

from adminview.aws.concurrency import batched
from adminview.aws.observability import LAG, NOT_READY, TOTALS_LAG, TOTALS_SKIPPED, TOTALS_UPDATED
from adminview.aws.stream_metrics import age_metric
from adminview.cdk.monitoring import metrics
from adminview.cdk.monitoring.alarms import MonitoredResources, MonitoredTotals
from adminview.model.total import RANKING

Row = list[cloudwatch.IWidget]

WIDTH: Final = 6  # of 24 columns
ALARMS_SHOWN: Final = 100  # in one widget, set by CloudWatch
# From left to right as a record is processed: title, metrics, statistic.
SOURCE_GRAPHS: Final = (
    ("lag", (LAG,), "Maximum"),
    ("records", ("Records", "Unchanged", "NoView"), "Sum"),
    ("rows", ("RowsPut", "RowsDeleted"), "Sum"),
    ("dead-lettered or redelivered", ("DeadLettered", "Redelivered"), "Sum"),
)


def rows(resources: MonitoredResources, alarms: Sequence[cloudwatch.IAlarm]) -> Iterator[Row]:
    """Yield the rows of widgets, the most urgent first."""
    for number, share in enumerate(batched(alarms, ALARMS_SHOWN)):
        title = "Alarms" if number == 0 else "More alarms"
        yield [cloudwatch.AlarmStatusWidget(title=title, alarms=list(share), width=24, height=6)]
    for source in (stream.source for stream in resources.streams):
        yield [
            _graph(
                f"{source}: {title}",
                [metrics.own_metric(resources.service, name, source, statistic) for name in names],
            )
            for title, names, statistic in SOURCE_GRAPHS
        ]
    if resources.totals:
        yield _of_totals(resources.service, resources.totals)
    yield from _shared(resources)


def _of_totals(service: str, totals: MonitoredTotals) -> Row:
    throttled = [
        metric
        for index in (None, RANKING.name)
        for metric in metrics.throttle_events(totals.table, index).values()
    ]
    return [
        _graph("Totals: lag", [metrics.own_metric(service, TOTALS_LAG, statistic="Maximum")]),
        _graph(
            "Age of records delivered to the totals function",
            [metrics.from_query(age_metric(totals.function))],
        ),
        _graph(
            "Totals: updates and skipped contributions",
            [metrics.own_metric(service, name) for name in (TOTALS_UPDATED, TOTALS_SKIPPED)],
        ),
        _graph("Totals table: throttled reads and writes", throttled),
    ]


def _shared(resources: MonitoredResources) -> Iterator[Row]:
    ages = [metrics.from_query(age_metric(resources.sync))]
    throttled = [
        metric
        for index in (None, *resources.indexes)
        for metric in metrics.throttle_events(resources.view_table, index).values()
    ]
    yield [
        _graph("Dead letters", [metrics.dead_letters(resources.queue)]),
        _graph("Age of records delivered to the sync", ages),
        _graph("View table: throttled reads and writes", throttled),
        _graph("API", [metrics.of_api(resources.api, name) for name in ("Count", "4xx", "5xx")]),
    ]
    functions: Row = [
        _graph(
            f"Functions: {name.lower()}",
            [
                metrics.of_function(function.name, name).with_(label=label)
                for label, function in resources.functions.items()
            ],
        )
        for name in ("Invocations", "Errors", "Throttles")
    ]
    waited = metrics.own_metric(resources.service, NOT_READY, statistic="Maximum")
    yield [*functions, _graph("Access patterns: seconds not ready", [waited])]


def _graph(title: str, left: Sequence[cloudwatch.IMetric]) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(title=title, left=list(left), width=WIDTH)
