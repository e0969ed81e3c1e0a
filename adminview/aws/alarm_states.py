"""Which alarms of a deployment ring."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from adminview.aws.deadline import Deadline
from adminview.aws.retry import NEXT_TOKEN, Backoff, all_pages, call_with_retry

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient

REMEMBERED: Final = timedelta(minutes=1)  # CloudWatch evaluates an alarm once a minute
SECONDS: Final = 10.0
RINGING: Final = "ALARM"


def now() -> datetime:
    return datetime.now(tz=UTC)


class AlarmStates:
    """Reads the alarms of one deployment, at most once a minute.

    Two calls, however many sources there are. *client* is called only when it is needed: most
    containers never serve `/health`.
    """

    def __init__(
        self,
        client: Callable[[], "CloudWatchClient"],
        deployment: str,
        known: str,
        *,
        clock: Callable[[], datetime] = now,
        backoff: Backoff | None = None,
    ) -> None:
        """Read the alarms of *deployment*; every deployment with alarms has the one *known*."""
        self._client = client
        self._prefix = f"{deployment}-"
        self._known = known
        self._clock = clock
        self._backoff = backoff or Backoff()
        self._last: tuple[datetime, frozenset[str] | None] | None = None

    def ringing(self) -> frozenset[str] | None:
        """Return the names of the alarms that ring, without the deployment's name.

        None if the deployment has no alarms. Raises a ServiceError.
        """
        at = self._clock()
        if self._last is None or at - self._last[0] >= REMEMBERED:
            self._last = at, self._read()
        return self._last[1]

    def _read(self) -> frozenset[str] | None:
        deadline = Deadline.after(SECONDS)
        if not list(self._alarms(deadline, AlarmNames=[self._prefix + self._known])):
            return None
        ringing = {"AlarmNamePrefix": self._prefix, "StateValue": RINGING}
        names = self._alarms(deadline, **ringing)
        return frozenset(name.removeprefix(self._prefix) for name in names)

    def _alarms(self, deadline: Deadline, **chosen: Any) -> Iterator[str]:
        call = self._client().describe_alarms
        read = partial(call_with_retry, call, "read alarms", self._backoff, deadline)
        for page in all_pages(read, {"AlarmTypes": ["MetricAlarm"], **chosen}, NEXT_TOKEN):
            yield from (alarm["AlarmName"] for alarm in page["MetricAlarms"])
