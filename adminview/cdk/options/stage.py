"""What a stage such as dev or prod decides. The app's `infra/stages.py` has the stages."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from aws_cdk import Duration, RemovalPolicy
from aws_cdk.aws_logs import RetentionDays

from adminview.model.errors import SettingsError

TEN_MINUTES: Final = Duration.minutes(10)
DAILY: Final = Duration.days(1)


@dataclass(frozen=True, slots=True)
class Stage:
    """One way to deploy the same stacks."""

    name: str
    protect: bool  # keep tables and queue: no deletion, point-in-time recovery
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
    # Replays run by themselves, so that the view heals once a corrected view is deployed, and often
    # enough to consume in-doubt letters before the alarm on dead letters rings. A dead letter that
    # fails again is sent anew, so the 14 days that SQS keeps it never run out.
    replay_every: Duration | None = TEN_MINUTES
    verify_every: Duration | None = DAILY
    verify_sample: float = 0.01  # the share of the items to compare each time
    # Requests per second of all API callers together, and the burst above it.
    api_rate: int = 20
    api_burst: int = 40

    @property
    def removal_policy(self) -> RemovalPolicy:
        """Return what happens to data when its stack is deleted."""
        return RemovalPolicy.RETAIN if self.protect else RemovalPolicy.DESTROY


def stage_named(name: object, stages: Mapping[str, Stage]) -> Stage:
    """Return the stage with this name, or raise a SettingsError that lists them."""
    if isinstance(name, str) and name in stages:
        return stages[name]
    msg = (
        f"no stage is named {name!r}; there are {', '.join(stages)} "
        "(`stage` under `adminview` in cdk.json, or `cdk synth -c adminview:stage=dev`)"
    )
    raise SettingsError(msg)
