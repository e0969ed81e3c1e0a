"""What a stage such as dev or prod decides, and the option `budgets` that changes it.

The app's `infra/stages.py` has the stages.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, Final

from aws_cdk import Duration, RemovalPolicy
from aws_cdk.aws_logs import RetentionDays

from adminview.bulk.request import COUNT, FITS, RATE
from adminview.cdk.options.context import read_object
from adminview.model import Registry
from adminview.model.delivery import MAX_REPLAY_PAUSE_SECONDS, Delivery
from adminview.model.errors import SettingsError

READ, WRITE, SYNC = "readUnits", "writeUnits", "syncConcurrency"
PER_SHARD: Final = "syncParallelization"
BUDGET_KEYS: Final = (READ, WRITE, SYNC, PER_SHARD)
MAX_PER_SHARD: Final = 10  # set by Lambda
NONE: Final = "none"  # not null: the CDK drops null values of an object
BUDGETS_EXAMPLE: Final = '{"readUnits": 500, "writeUnits": 200, "syncConcurrency": 50}'
TEN_MINUTES: Final = Duration.minutes(10)
DAILY: Final = Duration.days(1)


@dataclass(frozen=True, slots=True)
class Stage:
    """The settings that differ between deployments of the same stacks."""

    name: str
    # Keep tables, queue and logs when their stack is deleted; point-in-time recovery.
    retain: bool
    # Refuse the deletion of tables and stacks. Not in a first deployment: if it fails, the CDK must
    # be able to delete the stack, and CloudFormation the tables, before a second attempt.
    protect: bool = False
    log_retention: RetentionDays = RetentionDays.THREE_MONTHS
    # Importing the X-Ray SDK adds half a second to every cold start.
    tracing: bool = False
    # Capacity units per second that a verification, a backfill, a sweep or a migration may consume
    # unless its caller sets a limit. None: no limit.
    read_units: float | None = None
    write_units: float | None = None
    # Reserved and maximum concurrency of the sync. None: unreserved. A new account has 10 in all,
    # and Lambda keeps 10 (later 100) unreserved: any reservation fails its first deployment.
    sync_concurrency: int | None = None
    # Batches of one shard that the sync processes at once. The records of an item stay in order.
    sync_parallelization: int = Delivery().parallelization
    # Replays are scheduled, so that rows are repaired once a corrected view is deployed, and often
    # enough to consume in-doubt dead letters before the alarm on dead letters rings, and to read
    # the records that Lambda gave up on before the stream drops them. A dead letter that fails
    # again is sent again, so the 14 days that SQS keeps it never run out.
    replay_every: Duration | None = TEN_MINUTES
    verify_every: Duration | None = DAILY
    verify_sample: float = 0.01  # the share of the items to compare each time
    # Requests per second of all API callers together, and the burst above it.
    api_rate: int = 20
    api_burst: int = 40

    def __post_init__(self) -> None:
        every = self.replay_every
        if every is not None and every.to_seconds() > MAX_REPLAY_PAUSE_SECONDS:
            msg = (
                f"stage {self.name!r}: replay_every is {every.to_human_string()}; give at most "
                f"{MAX_REPLAY_PAUSE_SECONDS // 60} minutes. The records of a dead letter of Lambda "
                "are in the stream for only two more hours"
            )
            raise SettingsError(msg)
        if self.protect and not self.retain:
            msg = f"stage {self.name!r}: only a stage with retain=True can have protect=True"
            raise SettingsError(msg)

    @property
    def removal_policy(self) -> RemovalPolicy:
        """Return what happens to data when its stack is deleted.

        It is also deleted if the deployment that created it fails: a resource with a fixed name
        would block the next attempt.
        """
        return RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE if self.retain else RemovalPolicy.DESTROY


def stage_named(name: object, stages: Mapping[str, Stage]) -> Stage:
    """Return the stage with this name, or raise a SettingsError that lists them."""
    if isinstance(name, str) and name in stages:
        return stages[name]
    msg = (
        f"no stage is named {name!r}; there are {', '.join(stages)} "
        "(`stage` under `adminview` in cdk.json, or `cdk synth -c adminview:stage=dev`)"
    )
    raise SettingsError(msg)


def with_budgets(stage: Stage, value: object, registry: Registry) -> Stage:
    """Return *stage* with the context's `budgets`, or raise a SettingsError."""
    entries = read_object("budgets", value, example=BUDGETS_EXAMPLE, known=BUDGET_KEYS)
    concurrency = entries.get(SYNC, stage.sync_concurrency)
    per_shard = entries.get(PER_SHARD, stage.sync_parallelization)
    problems = (
        *_budget_problems(entries),
        *_parallelization_problems(per_shard),
        *_concurrency_problems(concurrency, per_shard, registry),
    )
    for problem in problems:
        msg = f"context budgets: {problem}"
        raise SettingsError(msg)
    return replace(
        stage,
        read_units=entries.get(READ, stage.read_units),
        write_units=entries.get(WRITE, stage.write_units),
        sync_concurrency=None if concurrency == NONE else concurrency,
        sync_parallelization=per_shard,
    )


def _budget_problems(entries: Mapping[str, Any]) -> Iterator[str]:
    for key in (READ, WRITE):
        if key in entries and not (FITS[RATE](entries[key]) and isfinite(entries[key])):
            yield f"{key} is {entries[key]!r}; it must be {RATE}: capacity units per second"
    if SYNC in entries and entries[SYNC] != NONE and not FITS[COUNT](entries[SYNC]):
        yield f"{SYNC} is {entries[SYNC]!r}; it must be {COUNT}, or {NONE!r} to reserve nothing"


def _parallelization_problems(per_shard: Any) -> Iterator[str]:
    if not FITS[COUNT](per_shard) or per_shard > MAX_PER_SHARD:
        yield f"{PER_SHARD} is {per_shard!r}; it must be {COUNT}, at most {MAX_PER_SHARD}"


def _concurrency_problems(concurrency: object, per_shard: int, registry: Registry) -> Iterator[str]:
    """Refuse a limit below one shard per stream: the streams would wait for each other."""
    sources = len(registry.sources)
    least = sources * per_shard
    if isinstance(concurrency, int) and concurrency < least:
        yield (
            f"{SYNC} is {concurrency}, but {sources} streams have at least one shard each, and a "
            f"shard has {per_shard} batches in progress: give {least} or more, or {NONE!r} "
            "to reserve nothing"
        )
