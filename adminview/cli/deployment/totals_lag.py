"""How far the totals are behind the rows."""

from datetime import UTC, datetime, timedelta
from typing import Final

from adminview.aws.settings import TOTALS_FUNCTION_OUTPUT
from adminview.aws.stream_metrics import PERIOD, age_metric
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.stacks import TOTALS

RECENT: Final = timedelta(minutes=5)


def totals_lag(deployment: Deployment) -> float | None:
    """Return the greatest age of the records that the totals function got lately, in seconds.

    None if it got none in the last five minutes. A shard that is behind is not in every minute.
    """
    function = deployment.output(TOTALS, TOTALS_FUNCTION_OUTPUT)
    end = datetime.now(tz=UTC)
    query = {"Id": "age", "MetricStat": {**age_metric(function), "Period": PERIOD}}
    response = deployment.aws.call(
        "cloudwatch",
        "GetMetricData",
        MetricDataQueries=[query],
        StartTime=end - RECENT,
        EndTime=end,
    )
    (result,) = response["MetricDataResults"]
    ages = result["Values"]
    return max(ages) / 1000 if ages else None
