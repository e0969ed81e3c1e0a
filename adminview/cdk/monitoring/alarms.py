"""The alarms of a deployment: every rule, on all that it is about."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from adminview.aws.observability import DRIFT, LAG, OLDEST_LETTER
from adminview.aws.stream_metrics import age_metric
from adminview.cdk.monitoring import metrics, rules
from adminview.cdk.monitoring.rules import Rule
from adminview.cdk.options.stage import Stage
from adminview.model.source import UNKNOWN

LONGEST: Final = Duration.days(7)  # that an alarm looks back
LONGEST_NAME: Final = 255  # of an alarm; a source's or an index's alone may be as long
MARK: Final = 8  # digits that tell names apart which are cut
ROUNDS: Final = 6  # of the replay in which a letter may not have been taken up


@dataclass(frozen=True, slots=True)
class MonitoredFunction:
    """A function by its name in AWS, and how often an error of it is no accident."""

    name: str
    errors: Rule


@dataclass(frozen=True, slots=True)
class MonitoredStream:
    """A source by its name, its table and its stream."""

    source: str
    table: str
    label: str  # of the stream, in metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitoredResources:
    """All that is looked at. Names are those in AWS; keys are what we call them."""

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


@dataclass(frozen=True, slots=True)
class Alarm:
    """A rule on one metric."""

    rule: Rule
    metric: cloudwatch.IMetric
    what: str = ""

    @property
    def name(self) -> str:
        """Tell it apart from the deployment's others."""
        return f"{self.rule.name}-{self.what}" if self.what else self.rule.name

    def name_in(self, deployment: str) -> str:
        """Tell it apart from all others of the account, cut to what CloudWatch takes."""
        name = f"{deployment}-{self.name}"
        if len(name) <= LONGEST_NAME:
            return name
        mark = f"-{sha256(name.encode()).hexdigest()[:MARK]}"
        return name[: LONGEST_NAME - len(mark)] + mark


def alarms(resources: MonitoredResources) -> Iterator[Alarm]:
    """List all alarms; those of a source name it, for so do the commands that repair."""
    yield from _of_sources(resources)
    yield from _of_letters(resources)
    yield from _of_functions(resources)
    yield from _of_verification(resources)
    view = resources.view_table
    yield Alarm(rules.TABLE_THROTTLING, metrics.throttled(view), view)
    # One for each: whoever is called must know which, and an alarm takes ten metrics at most.
    for index in resources.indexes:
        yield Alarm(rules.INDEX_THROTTLING, metrics.throttled(view, index), index)
    yield Alarm(rules.API_ERRORS, metrics.of_api(resources.api, "5xx"))
    for name, arn in resources.machines.items():
        failed = metrics.of_machine(arn, "ExecutionsFailed")
        yield Alarm(rules.FAILED_EXECUTION, failed, name)


def _of_sources(resources: MonitoredResources) -> Iterator[Alarm]:
    # Lambda knows one age for all sources; which of them is behind, our own metric tells.
    yield Alarm(rules.ITERATOR_AGE, metrics.pulse(age_metric(resources.sync)))
    for stream in resources.streams:
        lag = metrics.ours(resources.service, LAG, stream.source, "Maximum")
        silence = metrics.silence(resources.service, stream.source, stream.table, stream.label)
        yield Alarm(rules.LAG, lag, stream.source)
        yield Alarm(rules.SILENCE, silence, stream.source)


def _of_letters(resources: MonitoredResources) -> Iterator[Alarm]:
    yield Alarm(rules.LETTERS, metrics.letters(resources.queue))
    # Where nobody replays by schedule, nobody tells an age, and letters lie until somebody does.
    if (every := resources.stage.replay_every) is not None:
        oldest = metrics.ours(resources.service, OLDEST_LETTER, statistic="Maximum")
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
        drift = metrics.ours(resources.service, DRIFT, source, "Maximum")
        yield Alarm(rules.DRIFT, drift, source)
    # Rows of unknown sources are told of by a run over all sources, and by no other. An alarm
    # cannot look back far enough for a schedule of half a week or longer.
    if rules.UNVERIFIED.of * every.to_seconds() <= LONGEST.to_seconds():
        rule = replace(rules.UNVERIFIED, period=every)
        yield Alarm(rule, metrics.unverified(resources.service, UNKNOWN))
