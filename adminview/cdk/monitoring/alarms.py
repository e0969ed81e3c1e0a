"""The alarms of a deployment: each rule on each resource that it applies to."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from adminview.aws.observability import DRIFT, LAG, NOT_READY, OLDEST_LETTER, TOTALS_SKIPPED
from adminview.aws.stream_metrics import (
    age_metric,
    dropped_metric,
    polls_metric,
    unsent_metric,
)
from adminview.cdk.monitoring import metrics, rules
from adminview.cdk.monitoring.rules import Rule
from adminview.cdk.options.stage import Stage
from adminview.model.source import UNKNOWN
from adminview.model.total import ALL_TOTALS, RANKING

MAX_WINDOW: Final = Duration.days(7)  # of an alarm, set by CloudWatch
MAX_NAME: Final = 255  # of an alarm; the name of a source or an index may be as long
HASH_DIGITS: Final = 8  # keep shortened names distinct
ROUNDS: Final = 6  # scheduled replays that may miss a dead letter


@dataclass(frozen=True, slots=True)
class MonitoredFunction:
    """A function by its name in AWS, and the rule for its errors."""

    name: str
    errors: Rule


@dataclass(frozen=True, slots=True)
class MonitoredStream:
    """A source by its name, and the mapping that reads its stream."""

    source: str
    mapping: str  # its UUID


@dataclass(frozen=True, slots=True)
class MonitoredTotals:
    """The totals function, its table, and the mapping that reads the stream of the view table."""

    function: str
    table: str
    mapping: str  # its UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitoredResources:
    """The monitored resources. Values are names in AWS, keys are our own names."""

    service: str
    stage: Stage
    streams: Sequence[MonitoredStream]
    view_table: str
    indexes: Sequence[str]
    queue: str
    api: str
    sync: str
    functions: Mapping[str, MonitoredFunction]
    machines: Mapping[str, str]  # to their ARNs
    totals: MonitoredTotals | None = None


@dataclass(frozen=True, slots=True)
class Alarm:
    """A rule on one metric."""

    rule: Rule
    metric: cloudwatch.IMetric
    subject: str = ""

    @property
    def name(self) -> str:
        """Return a name that is unique in the deployment."""
        return f"{self.rule.name}-{self.subject}" if self.subject else self.rule.name

    def name_in(self, deployment: str) -> str:
        """Return a name that is unique in the account, shortened to CloudWatch's limit."""
        name = f"{deployment}-{self.name}"
        if len(name) <= MAX_NAME:
            return name
        suffix = f"-{sha256(name.encode()).hexdigest()[:HASH_DIGITS]}"
        return name[: MAX_NAME - len(suffix)] + suffix


def alarms(resources: MonitoredResources) -> Iterator[Alarm]:
    """Yield all alarms. An alarm on a source names it, as the commands that repair it do."""
    yield from _of_sources(resources)
    yield from _of_letters(resources)
    yield from _of_functions(resources)
    yield from _of_verification(resources)
    if resources.totals:
        yield from _of_totals(resources, resources.totals)
    view = resources.view_table
    yield Alarm(rules.TABLE_THROTTLING, metrics.throttled(view), view)
    # One per index: the alarm must name it, and an alarm has at most ten metrics.
    for index in resources.indexes:
        yield Alarm(rules.INDEX_THROTTLING, metrics.throttled(view, index), index)
    yield Alarm(rules.API_ERRORS, metrics.of_api(resources.api, "5xx"))
    waited = metrics.own_metric(resources.service, NOT_READY, statistic="Maximum")
    yield Alarm(rules.UNBUILT, waited)
    for name, arn in resources.machines.items():
        failed = metrics.of_machine(arn, "ExecutionsFailed")
        yield Alarm(rules.FAILED_EXECUTION, failed, name)


def _of_sources(resources: MonitoredResources) -> Iterator[Alarm]:
    # Lambda reports one age for all sources; our own metric shows which source is behind.
    yield Alarm(rules.ITERATOR_AGE, metrics.from_query(age_metric(resources.sync)))
    yield Alarm(rules.UNSENT, metrics.from_query(unsent_metric(resources.sync)))
    for stream in resources.streams:
        lag = metrics.own_metric(resources.service, LAG, stream.source, "Maximum")
        polls = metrics.from_query(polls_metric(stream.mapping))
        dropped = metrics.from_query(dropped_metric(stream.mapping))
        yield Alarm(rules.LAG, lag, stream.source)
        yield Alarm(rules.SILENCE, polls, stream.source)
        yield Alarm(rules.DROPPED, dropped, stream.source)


def _of_totals(resources: MonitoredResources, totals: MonitoredTotals) -> Iterator[Alarm]:
    view, table = resources.view_table, totals.table
    yield Alarm(rules.TOTALS_LAG, metrics.from_query(age_metric(totals.function)))
    yield Alarm(rules.TOTALS_SILENCE, metrics.from_query(polls_metric(totals.mapping)), view)
    yield Alarm(rules.TOTALS_DROPPED, metrics.from_query(dropped_metric(totals.mapping)), view)
    yield Alarm(rules.TOTALS_SKIPPED, metrics.own_metric(resources.service, TOTALS_SKIPPED))
    yield Alarm(rules.TABLE_THROTTLING, metrics.throttled(table), table)
    # With the table's name: an index of the view may have the same name.
    index = metrics.throttled(table, RANKING.name)
    yield Alarm(rules.TOTALS_INDEX_THROTTLING, index, f"{table}-{RANKING.name}")


def _of_letters(resources: MonitoredResources) -> Iterator[Alarm]:
    yield Alarm(rules.LETTERS, metrics.dead_letters(resources.queue))
    # Without scheduled replays, no function reports an age.
    if (every := resources.stage.replay_every) is not None:
        oldest = metrics.own_metric(resources.service, OLDEST_LETTER, statistic="Maximum")
        yield Alarm(rules.OLDEST_LETTER, oldest)
        untouched = replace(rules.UNTOUCHED_LETTER, at=ROUNDS * every.to_seconds())
        age = metrics.of_queue(resources.queue, "ApproximateAgeOfOldestMessage")
        yield Alarm(untouched, age)


def _of_functions(resources: MonitoredResources) -> Iterator[Alarm]:
    for name, function in resources.functions.items():
        yield Alarm(function.errors, metrics.of_function(function.name, "Errors"), name)
        yield Alarm(rules.THROTTLES, metrics.of_function(function.name, "Throttles"), name)


def _of_verification(resources: MonitoredResources) -> Iterator[Alarm]:
    every = resources.stage.verify_every
    if every is None:
        return
    for source in (*(stream.source for stream in resources.streams), UNKNOWN):
        drift = metrics.own_metric(resources.service, DRIFT, source, "Maximum")
        yield Alarm(rules.DRIFT, drift, source)
    if resources.totals:
        drift = metrics.own_metric(resources.service, DRIFT, ALL_TOTALS, "Maximum")
        yield Alarm(rules.TOTALS_DRIFT, drift)
    # Only a run over all sources reports rows of unknown sources. With a schedule of more than half
    # a week, two runs exceed the window of an alarm.
    if rules.UNVERIFIED.of * every.to_seconds() <= MAX_WINDOW.to_seconds():
        rule = replace(rules.UNVERIFIED, period=every)
        yield Alarm(rule, metrics.unverified(resources.service, UNKNOWN))
