"""What differs between dev and prod. Everything else is the same."""

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
    protect: bool  # keep what holds data: no deletion, recovery to any second
    log_retention: RetentionDays
    # Importing the X-Ray SDK costs half a second of every cold start: switch it on to look closer.
    tracing: bool = False
    # Capacity units a second that a verification, a backfill, a sweep or a migration may consume
    # unless whoever asks for it says otherwise. None: as much as there is.
    read_units: float | None = None
    write_units: float | None = None
    # Executions of the sync that no other function can take from it, and its most at once. None:
    # what others leave. A new account has 10 in all, and Lambda wants 10 (later 100) to stay
    # unreserved: there, anything reserved makes the first deployment fail.
    sync_concurrency: int | None = None
    # By itself, so that the view heals once a corrected view function is deployed; and soon, so
    # that in-doubt letters are gone before the alarm on letters rings. A letter that fails again
    # is written anew each time, so the 14 days that SQS keeps it never run out.
    replay_every: Duration | None = TEN_MINUTES
    verify_every: Duration | None = DAILY
    verify_sample: float = 0.01  # the share of the items to compare each time
    # Requests a second that all callers of the API together may make, and so many at once.
    api_rate: int = 20
    api_burst: int = 40

    @property
    def removal_policy(self) -> RemovalPolicy:
        """What becomes of data when its stack is deleted."""
        return RemovalPolicy.RETAIN if self.protect else RemovalPolicy.DESTROY


DEV: Final = Stage("dev", protect=False, log_retention=RetentionDays.ONE_WEEK)
PROD: Final = Stage(
    "prod",
    protect=True,
    log_retention=RetentionDays.THREE_MONTHS,
    api_rate=100,
    api_burst=200,
    # The sync runs once for each shard of each source. A new on-demand table has about 4, and each
    # carries 1,000 changes a second: 100 is room for 25 such tables, and a tenth of the 1,000
    # executions that an account has unless it is new. Busier sources need more, by `budgets`.
    sync_concurrency=100,
)

STAGES: Final = {stage.name: stage for stage in (DEV, PROD)}


def stage_named(name: object) -> Stage:
    """Find a stage, or say which ones there are."""
    if isinstance(name, str) and name in STAGES:
        return STAGES[name]
    msg = (
        f"no stage is named {name!r}; there are {', '.join(STAGES)} "
        "(context `stage` in cdk.json, or `cdk synth -c stage=dev`)"
    )
    raise SettingsError(msg)
