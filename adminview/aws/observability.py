"""What operators see of the sync: one log line and a handful of metrics per batch.

Logs and metrics name sources, sequence numbers and kinds of error; keys and data never.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

from adminview.aws.call_errors import CallErrors
from adminview.aws.settings import NAMESPACE, SERVICE
from adminview.model.dead_letter import OutgoingLetter
from adminview.model.source import UNKNOWN
from adminview.sync.counts import BatchCounts

LAG = "LagOfNewestRecord"
IN_DOUBT = "InDoubt"  # calls that ended without a response
OLDEST_LETTER = "AgeOfOldestLetter"


class Named(Protocol):
    """An invocation, as far as log lines name it."""

    @property
    def aws_request_id(self) -> str:
        """Tell invocations apart."""


class Observability:
    """Powertools' logger and metrics, and nothing else: its tracer is loaded where it is wanted."""

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

    def synced(
        self, tally: BatchCounts, letters: Sequence[OutgoingLetter], errors: CallErrors
    ) -> None:
        """Log what a batch came to, and which calls failed."""
        for letter in letters:
            self._logger.warning(
                "dead letter sent",
                source=letter.source,
                sequence=letter.sequence,
                error=letter.error,
                reason=letter.reason,
            )
        level = self._logger.error if tally.redelivered else self._logger.info
        level("batch synced", **tally.as_dict(), errors=errors.as_list())
        self._measure(tally)

    def replayed(self, summary: Mapping[str, Any]) -> None:
        """Tell what a replay came to."""
        self._logger.info("letters replayed", **summary)
        for outcome, count in summary["outcomes"].items():
            name = "".join(word.capitalize() for word in outcome.split("_"))
            self._metrics.add_metric(f"Letters{name}", MetricUnit.Count, count)
        self._metrics.add_metric(OLDEST_LETTER, MetricUnit.Seconds, summary["oldest_seconds"])
        self._metrics.flush_metrics()

    def worked(self, told: Mapping[str, Any]) -> None:
        """Tell how far a segment of bulk work is."""
        self._logger.info("segment worked on", **told)

    def failed(self, reason: str) -> None:
        """Tell why something cannot be done for one item, which is not named."""
        self._logger.warning("item failed", reason=reason)

    def _measure(self, tally: BatchCounts) -> None:
        self._metrics.add_dimension("source", tally.source or UNKNOWN)
        for name, value in tally.counts().items():
            if name == IN_DOUBT and not value:
                continue  # a metric is paid for only in hours that have it
            self._metrics.add_metric(name, MetricUnit.Count, value)
        if tally.lag_seconds is not None:
            self._metrics.add_metric(LAG, MetricUnit.Seconds, tally.lag_seconds)
        self._metrics.flush_metrics()
