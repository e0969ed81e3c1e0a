"""What operators see of a verification: a log line and a few metrics per source.

Logs and metrics name sources and kinds of difference; keys and data never.
"""

from collections.abc import Mapping
from typing import Any

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

from adminview.aws.observability import Named
from adminview.aws.settings import NAMESPACE, SERVICE

CHECKED, DRIFT, UNFINISHED = "Checked", "Drift", "VerifyUnfinished"


class DriftObserver:
    """Powertools' logger and metrics."""

    def __init__(
        self,
        logger: Logger | None = None,
        metrics: Metrics | None = None,
        *,
        service: str = SERVICE,
    ) -> None:
        self._logger = logger or Logger(service=service)
        self._metrics = metrics or Metrics(namespace=NAMESPACE, service=service)

    def invoked(self, context: Named) -> None:
        """Let every line of this invocation carry its request id."""
        self._logger.append_keys(function_request_id=context.aws_request_id)

    def verified(self, source: str, counts: Mapping[str, int], drift: int, trouble: str) -> None:
        """Tell what was found of one source; *trouble* says why not all of it was looked at.

        Half a look that found nothing says nothing, so it is never told as a drift of 0.
        """
        told: dict[str, Any] = {"source": source, "drift": drift, **counts}
        checked = counts.get("items", 0) + counts.get("rows", 0)
        if trouble:
            self._logger.error("verification not finished", **told, trouble=trouble)
        else:
            level = self._logger.warning if drift else self._logger.info
            level("source verified", **told)
        self._metrics.add_dimension("source", source)
        self._metrics.add_metric(CHECKED, MetricUnit.Count, checked)
        self._metrics.add_metric(UNFINISHED, MetricUnit.Count, 1 if trouble else 0)
        if drift or not trouble:
            self._metrics.add_metric(DRIFT, MetricUnit.Count, drift)
        self._metrics.flush_metrics()
