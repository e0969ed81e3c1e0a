"""When alarms ring. Each rule is a section of the runbook.

A period is five minutes unless there is a reason: a single minute is no cause for alarm, and
metrics arrive a minute or two late.
"""

from dataclasses import dataclass, replace
from typing import Final

from aws_cdk import Duration
from aws_cdk.aws_cloudwatch import ComparisonOperator, TreatMissingData

from adminview.http_api.health import OLDEST
from adminview.model.delivery import RETENTION_SECONDS

RUNBOOK: Final = "docs/runbook.md"
FIVE_MINUTES: Final = Duration.minutes(5)
HOUR, DAY = 60 * 60, 24 * 60 * 60  # seconds
QUIET: Final = TreatMissingData.NOT_BREACHING  # no data means that nothing is wrong
REPORTED: Final = TreatMissingData.MISSING  # emitted on a schedule: missing data is reported
STOPPED: Final = TreatMissingData.BREACHING  # always emitted: no data means that it stopped
AS_BEFORE: Final = TreatMissingData.IGNORE  # emitted now and then: the last state holds


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A kind of alarm: it rings if *times* of the last *of* periods reach the threshold *at*.

    With another *comparison*, a period counts if it is below the threshold.
    """

    name: str  # also its section of the runbook
    meaning: str  # one sentence; {subject} is the resource
    at: float
    period: Duration = FIVE_MINUTES
    times: int = 1
    of: int = 1
    missing: TreatMissingData = QUIET
    comparison: ComparisonOperator = ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD

    def description(self, subject: str, page: str = RUNBOOK) -> str:
        """Return the meaning of an alarm, and a link to its section of the runbook."""
        return f"{self.meaning.format(subject=subject)} {page}#{self.name}"


# The same threshold as /health. Three periods, because a burst may take some minutes.
LAG: Final = Rule(
    name="lag",
    meaning="Rows of {subject} are written more than 15 minutes after the change.",
    at=OLDEST,
    times=3,
    of=3,
)
# A quarter of a stream's retention: the rest is left for the repair. In milliseconds, as Lambda
# reports it. Batches that fail raise it too; they leave no lag.
ITERATOR_AGE: Final = Rule(
    name="iterator-age",
    meaning="Records reach the sync more than 6 hours late; streams drop them after 24 hours.",
    at=RETENTION_SECONDS / 4 * 1000,
    times=3,
    of=3,
)
# Lambda polls a stream several times a second, and counts empty polls too. A mapping that was just
# created or updated may pause for some minutes.
SILENCE: Final = Rule(
    name="silence",
    meaning="Lambda does not read the stream of {subject}: no change reaches the sync.",
    at=1,
    times=3,
    of=3,
    missing=STOPPED,
    comparison=ComparisonOperator.LESS_THAN_THRESHOLD,
)
# The same for totals, on AdminViewTable's own stream.
TOTALS_SILENCE: Final = replace(
    SILENCE,
    name="totals-silence",
    meaning="Lambda does not read the stream of {subject}: no change reaches the totals.",
)
# Records that Lambda gives up become dead letters. Those that it cannot send are lost.
DROPPED: Final = Rule(
    name="dropped",
    meaning="Lambda dropped changes of {subject}: neither their rows nor dead letters exist.",
    at=1,
)
# Of all sources together: Lambda counts these by function only. AWS does not document whether it
# also counts them as dropped.
UNSENT: Final = replace(
    DROPPED,
    meaning="Lambda could not send a dead letter to the queue: its records may be lost.",
)
TOTALS_DROPPED: Final = replace(
    DROPPED,
    name="totals-dropped",
    meaning="Lambda dropped changes of {subject} before they were added: totals are wrong.",
)
# The totals have no dead letters: a record that the stream drops leaves its totals wrong. An hour
# leaves almost all of the retention for the repair. In milliseconds, as Lambda reports it.
TOTALS_LAG: Final = Rule(
    name="totals-lag",
    meaning="Totals are more than an hour behind the rows; the stream drops records after 24.",
    at=HOUR * 1000,
    times=3,
    of=3,
)
TOTALS_SKIPPED: Final = Rule(
    name="totals-skipped",
    meaning="The totals function skipped contributions that it cannot add: totals are wrong.",
    at=1,
)
# An in-doubt dead letter is delayed for six minutes, and the next replay consumes it within ten
# more. A dead letter that is left after half an hour has failed.
LETTERS: Final = Rule(
    name="letters",
    meaning="Dead letters have waited for half an hour: their records are not in the view.",
    at=1,
    times=6,
    of=6,
)
# The age counts from the change, or from the sending if the dead letter cannot be parsed. A replay
# by hand cannot see invisible dead letters and may report an age of 0: the maximum of three hours
# includes scheduled replays.
OLDEST_LETTER: Final = Rule(
    name="oldest-letter",
    meaning="A dead letter is more than a day old: its replay fails, or cannot parse it.",
    at=DAY,
    period=Duration.hours(3),
    missing=AS_BEFORE,
)
# The replay sends a failed dead letter again, which resets its age in SQS. SQS also leaves out of
# that age a message that was received three times, such as one that cannot be parsed. So this rings
# only for dead letters that no replay receives. `alarms` sets the threshold: six intervals of the
# schedule.
UNTOUCHED_LETTER: Final = Rule(
    name="untouched-letter",
    meaning="Many replays in a row did not receive a dead letter; SQS drops it after 14 days.",
    at=6 * HOUR,
    times=3,
    of=3,
)
# Lambda retries a batch of a stream again and again: three errors are no coincidence.
ERRORS: Final = Rule(
    name="errors",
    meaning="The function {subject} fails.",
    at=3,
    period=Duration.minutes(15),
)
# Lambda tries a scheduled event three times, waiting one minute and then two. With the longest
# timeout, the last try begins half an hour after the first.
SCHEDULED_ERRORS: Final = replace(ERRORS, period=Duration.hours(1))
# The machine retries for 20 minutes: a segment that another worker holds is an expected error.
BULK_ERRORS: Final = replace(ERRORS, at=1, period=FIVE_MINUTES, times=6, of=6)
# Callers retry; only lasting throttling does harm.
THROTTLES: Final = Rule(
    name="throttles", meaning="Lambda throttles the function {subject}.", at=1, times=3, of=3
)
TABLE_THROTTLING: Final = Rule(
    name="table-throttling",
    meaning="DynamoDB throttles reads or writes of the table {subject}.",
    at=1,
    times=3,
    of=3,
)
INDEX_THROTTLING: Final = Rule(
    name="index-throttling",
    meaning="DynamoDB throttles the index {subject}; throttled writes delay the sync.",
    at=1,
    times=3,
    of=3,
)
TOTALS_INDEX_THROTTLING: Final = replace(
    INDEX_THROTTLING,
    meaning="DynamoDB throttles the index {subject}; throttled writes delay the totals.",
)
DRIFT: Final = Rule(
    name="drift",
    meaning="The verification found rows of {subject} that differ from their source items.",
    at=1,
    missing=AS_BEFORE,
)
TOTALS_DRIFT: Final = replace(
    DRIFT,
    name="totals-drift",
    meaning="The verification found totals that differ from what the rows contribute.",
)
# Its period is that of the schedule. One run may be cut short; two in a row mean that nothing is
# verified. A new alarm starts without data and reports only changes, so it waits for the first run.
# Later, a window without a run has no data, and that is reported.
UNVERIFIED: Final = Rule(
    name="unverified",
    meaning="Verifications do not finish, or no longer run: drift would go unnoticed.",
    at=1,
    times=2,
    of=2,
    missing=REPORTED,
)
# A failed execution rings at once. This rings for what no execution is working on any more, or for
# a build that takes unexpectedly long. In seconds.
UNBUILT: Final = Rule(
    name="unbuilt",
    meaning="Access patterns of the deployed model have not been ready for 6 hours.",
    at=6 * HOUR,
    period=Duration.hours(1),
    missing=AS_BEFORE,
)
# A single server error may be transient.
API_ERRORS: Final = Rule(name="api-errors", meaning="The API returns server errors (5xx).", at=3)
FAILED_EXECUTION: Final = Rule(
    name="failed-execution", meaning="An execution of the state machine {subject} failed.", at=1
)
