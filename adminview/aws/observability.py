"""The log lines and metrics of the functions.

They name sources, sequence numbers and kinds of error, never keys or data.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

from adminview.aws.call_errors import CallErrors
from adminview.aws.settings import NAMESPACE, SERVICE
from adminview.model.dead_letter import OutgoingLetter
from adminview.model.source import UNKNOWN
from adminview.sync.counts import BatchCounts

LAG = "LagOfNewestRecord"
IN_DOUBT = "InDoubt"  # calls without a response
OLDEST_LETTER = "AgeOfOldestLetter"
CHECKED, DRIFT, UNFINISHED = "Checked", "Drift", "VerifyUnfinished"
NOT_READY = "NotReady"  # how long access patterns have not been ready
# Of the totals function: calls that changed a total, contributions that were skipped, and the lag.
TOTALS_UPDATED, TOTALS_SKIPPED, TOTALS_LAG = "TotalsUpdated", "TotalsSkipped", "TotalsLag"
UPDATED_LOGGED = "totals updated"


class _PowertoolsObserver:
    """Powertools' logger and metrics. Its tracer is loaded only where tracing is enabled."""

    def __init__(
        self,
        logger: Logger | None = None,
        metrics: Metrics | None = None,
        *,
        service: str = SERVICE,
    ) -> None:
        self._logger = logger or Logger(service=service)
        self._metrics = metrics or Metrics(namespace=NAMESPACE, service=service)

    def invoked(self, request_id: str) -> None:
        """Add the request id to every log line of this invocation."""
        self._logger.append_keys(function_request_id=request_id)


class Observability(_PowertoolsObserver):
    """The log lines and metrics of every function but the verification."""

    def synced(
        self, counts: BatchCounts, letters: Sequence[OutgoingLetter], errors: CallErrors
    ) -> None:
        """Report a batch: its dead letters, counts and failed calls."""
        for letter in letters:
            self._logger.warning(
                "dead letter sent",
                source=letter.source,
                sequence=letter.sequence,
                error=letter.error,
                reason=letter.reason,
            )
        level = self._logger.error if counts.redelivered else self._logger.info
        level("batch synced", **counts.as_dict(), errors=errors.as_list())
        self._measure(counts)

    def replayed(self, summary: Mapping[str, Any]) -> None:
        """Report the summary of a replay."""
        self._logger.info("dead letters replayed", **summary)
        for outcome, count in summary["outcomes"].items():
            name = "".join(word.capitalize() for word in outcome.split("_"))
            self._metrics.add_metric(f"Letters{name}", MetricUnit.Count, count)
        self._metrics.add_metric(OLDEST_LETTER, MetricUnit.Seconds, summary["oldest_seconds"])
        self._metrics.flush_metrics()

    def worked(self, progress: Mapping[str, Any]) -> None:
        """Report the progress of a segment of bulk work."""
        self._logger.info("segment processed", **progress)

    def failed(self, reason: str) -> None:
        """Report that an item failed, without its key."""
        self._logger.warning("item failed", reason=reason)

    def _measure(self, counts: BatchCounts) -> None:
        self._metrics.add_dimension("source", counts.source or UNKNOWN)
        for name, value in counts.counts().items():
            if name == IN_DOUBT and not value:
                continue  # CloudWatch bills a metric only for hours with data
            self._metrics.add_metric(name, MetricUnit.Count, value)
        if counts.lag_seconds is not None:
            self._metrics.add_metric(LAG, MetricUnit.Seconds, counts.lag_seconds)
        self._metrics.flush_metrics()


class DriftObserver(_PowertoolsObserver):
    """The log lines and metrics of a verification, per source."""

    def verified(self, source: str, counts: Mapping[str, int], drift: int, trouble: str) -> None:
        """Report the drift of one source; *trouble* states why the check is incomplete.

        An incomplete check that found no drift is not reported as a drift of 0.
        """
        fields: dict[str, Any] = {"source": source, "drift": drift, **counts}
        checked = sum(counts.get(name, 0) for name in ("items", "rows", "totals"))
        if trouble:
            self._logger.error("verification not finished", **fields, trouble=trouble)
        else:
            level = self._logger.warning if drift else self._logger.info
            level("source verified", **fields)
        self._metrics.add_dimension("source", source)
        self._metrics.add_metric(CHECKED, MetricUnit.Count, checked)
        self._metrics.add_metric(UNFINISHED, MetricUnit.Count, 1 if trouble else 0)
        if drift or not trouble:
            self._metrics.add_metric(DRIFT, MetricUnit.Count, drift)
        self._metrics.flush_metrics()


class TotalsObserver(_PowertoolsObserver):
    """The log lines and metrics of the totals function."""

    def counted(self, counts: Mapping[str, Any], errors: CallErrors) -> None:
        """Report a batch: its counts and failed calls."""
        skipped = counts["malformed"] + counts["refused"]
        level = self._logger.error if counts["redelivered"] or skipped else self._logger.info
        level(UPDATED_LOGGED, **counts, errors=errors.as_list())
        self._metrics.add_metric(TOTALS_LAG, MetricUnit.Seconds, counts["lag_seconds"])
        if skipped:  # CloudWatch bills a metric only for hours with data
            self._metrics.add_metric(TOTALS_SKIPPED, MetricUnit.Count, skipped)
        self._metrics.add_metric(TOTALS_UPDATED, MetricUnit.Count, counts["updates"])
        self._metrics.flush_metrics()


class BuildObserver(_PowertoolsObserver):
    """The log lines and metrics of the build function."""

    def checked(self, report: Mapping[str, Any], waited: float) -> None:
        """Report what is left to build, and for how many seconds."""
        self._logger.info("build checked", **report, seconds=round(waited))
        self._metrics.add_metric(NOT_READY, MetricUnit.Seconds, round(waited))
        self._metrics.flush_metrics()
