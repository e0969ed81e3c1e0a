"""The differences between dev and prod."""

from typing import Final

from aws_cdk.aws_logs import RetentionDays

from adminview.cdk import Stage

DEV: Final = Stage("dev", retain=False, log_retention=RetentionDays.ONE_WEEK)
PROD: Final = Stage(
    "prod",
    retain=True,
    log_retention=RetentionDays.THREE_MONTHS,
    api_rate=100,
    api_burst=200,
    # The sync runs once per shard of each source. A new on-demand table has about 4 shards, and
    # each carries 1,000 changes per second: 100 is enough for 25 such tables, and a tenth of the
    # 1,000 executions of an older account. Busier sources need more: set `budgets` in cdk.json.
    sync_concurrency=100,
)

STAGES: Final = {stage.name: stage for stage in (DEV, PROD)}
