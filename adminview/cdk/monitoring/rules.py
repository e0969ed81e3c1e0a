"""When somebody is called. Each rule is a section of the runbook.

A period is five minutes unless there is a reason: no alarm here is about a single minute, and
metrics come a minute or two late.
"""

from dataclasses import dataclass, replace
from typing import Final

from aws_cdk import Duration
from aws_cdk.aws_cloudwatch import TreatMissingData

from adminview.http_api.health import OLDEST
from adminview.model.delivery import RETENTION_SECONDS

RUNBOOK: Final = "docs/runbook.md"
FIVE_MINUTES: Final = Duration.minutes(5)
HOUR, DAY = 60 * 60, 24 * 60 * 60  # seconds
QUIET: Final = TreatMissingData.NOT_BREACHING  # nothing was counted, so nothing is wrong
TOLD: Final = TreatMissingData.MISSING  # counted by schedule: that it no longer is, is told
AS_BEFORE: Final = TreatMissingData.IGNORE  # counted now and then: what was said last holds


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A kind of alarm: *times* out of *of* periods in a row reach the threshold *at*."""

    name: str  # and its section of the runbook
    means: str  # in one sentence; {what} is what it is about
    at: float
    period: Duration = FIVE_MINUTES
    times: int = 1
    of: int = 1
    missing: TreatMissingData = QUIET

    def description(self, what: str, page: str = RUNBOOK) -> str:
        """Say what an alarm means, and on which page to read on."""
        return f"{self.means.format(what=what)} {page}#{self.name}"


# Where /health draws the line. A quarter of an hour on end: a burst may take some minutes.
LAG: Final = Rule(
    name="lag",
    means="Rows of {what} follow its changes more than 15 minutes late.",
    at=OLDEST,
    times=3,
    of=3,
)
# A quarter of the time that a stream keeps records: the rest is left to repair what is wrong.
# In milliseconds, as Lambda counts. It is told of batches that fail, too, which leave no lag.
ITERATOR_AGE: Final = Rule(
    name="iterator-age",
    means="The sync is given records more than 6 hours old; after 24 the streams forget them.",
    at=RETENTION_SECONDS / 4 * 1000,
    times=3,
    of=3,
)
# Long periods, and three of them: a record of the last second of one is synced in the next, and
# would count for a silence otherwise. Of a source with few writes, three may be hours apart.
SILENCE: Final = Rule(
    name="silence",
    means="{what} has changes, and the sync sees none of them.",
    at=1,
    period=Duration.minutes(15),
    times=3,
    of=12,
)
# An in-doubt letter is delayed for six minutes and gone with the next replay, at most ten minutes
# later: what is still there after half an hour has failed.
LETTERS: Final = Rule(
    name="letters",
    means="Dead letters have waited for half an hour: their records are not in the view.",
    at=1,
    times=6,
    of=6,
)
# By the changes, not by SQS; of a letter that is not understood, since it was sent. A replay by
# hand sees no letter that just rests, and tells an age of 0: the longest of three hours has
# scheduled replays in it.
OLDEST_LETTER: Final = Rule(
    name="oldest-letter",
    means="A dead letter is more than a day old: its replay fails, or does not understand it.",
    at=DAY,
    period=Duration.hours(3),
    missing=AS_BEFORE,
)
# The replay writes a letter that fails anew, which begins its age in SQS again. SQS also leaves out
# of that age what was received three times and is still there, as a letter is that nobody
# understands. So this tells only of letters that no replay takes up. The threshold is six times as
# long as the replay is apart.
UNTOUCHED_LETTER: Final = Rule(
    name="untouched-letter",
    means="No replay has taken up a dead letter for many rounds; after 14 days SQS drops it.",
    at=6 * HOUR,
    times=3,
    of=3,
)
# Lambda tries a batch of a stream on and on: three errors are no accident.
ERRORS: Final = Rule(
    name="errors",
    means="The function {what} ends in errors.",
    at=3,
    period=Duration.minutes(15),
)
# Lambda tries the event of a schedule three times, a minute and two minutes after the error before.
# With all the time that a function may take, the last begins half an hour after the first.
SCHEDULED_ERRORS: Final = replace(ERRORS, period=Duration.hours(1))
# The machine tries again for 20 minutes: a segment that another worker has is an error, and part of
# the plan.
BULK_ERRORS: Final = replace(ERRORS, at=1, period=FIVE_MINUTES, times=6, of=6)
# Whoever called tries again; only what lasts does harm.
THROTTLES: Final = Rule(
    name="throttles", means="Lambda refuses to run the function {what}.", at=1, times=3, of=3
)
TABLE_THROTTLING: Final = Rule(
    name="table-throttling",
    means="DynamoDB refuses reads or writes of the table {what}.",
    at=1,
    times=3,
    of=3,
)
INDEX_THROTTLING: Final = Rule(
    name="index-throttling",
    means="DynamoDB refuses reads or writes of the index {what}; refused writes hold up the sync.",
    at=1,
    times=3,
    of=3,
)
DRIFT: Final = Rule(
    name="drift",
    means="The verification found rows of {what} that are not what the source says.",
    at=1,
    missing=AS_BEFORE,
)
# Its period is that of the schedule. One run may be cut short; after two, nobody looks any more. A
# new alarm has no data and tells nothing of it, so it waits for the first run. Later, when no run
# is in all that it looks at, it has no data again, and tells that.
UNVERIFIED: Final = Rule(
    name="unverified",
    means="Verifications do not end, or no longer run: drift would go unnoticed.",
    at=1,
    times=2,
    of=2,
    missing=TOLD,
)
# One may be anybody's bad luck.
API_ERRORS: Final = Rule(name="api-errors", means="The API answers with server errors (5xx).", at=3)
FAILED_EXECUTION: Final = Rule(
    name="failed-execution", means="An execution of the state machine {what} failed.", at=1
)
