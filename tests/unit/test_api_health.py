"""Health: the alarms of the sync as one status; an alarm that cannot be read is unknown."""

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from adminview.aws.alarm_states import AlarmStates
from adminview.http_api.health import KNOWN
from adminview.model.errors import ServiceError
from tests.support.api_client import Answered, Client, Fixed
from tests.support.fakes import NO_WAIT
from tests.support.query_table import Lab, make_registry

NOW = datetime(2025, 3, 1, 9, 0, tzinfo=UTC)


def health(*ringing: str) -> Answered:
    alarms = Fixed(frozenset(ringing))
    return Client(Lab(make_registry()).query_engine, alarms).send("/health")


def test_without_alarms_nothing_is_known_and_nothing_is_wrong() -> None:
    answered = Client(Lab(make_registry()).query_engine, Fixed(None)).send("/health")
    assert (answered.status, answered.json["status"]) == (200, "unknown")


@pytest.mark.parametrize(
    "others", [(), ("api-errors", "letters", "errors-Verify", "totals-lag", "laggard-Orders")]
)
def test_a_deployment_is_healthy_while_no_alarm_is_about_its_sync(others: tuple[str, ...]) -> None:
    answered = health(*others)
    assert (answered.status, answered.json) == (
        200,
        {
            "status": "healthy",
            "detail": "no alarm says that rows are late or missing",
            "alarms": [],
        },
    )


@pytest.mark.parametrize(
    "alarm",
    [
        "lag-Orders",
        "iterator-age",
        "silence-Users",
        "dropped-Users",
        "errors-Sync",
        "throttles-Sync",
    ],
)
def test_a_sync_that_is_behind_is_reported_without_a_server_error(alarm: str) -> None:
    """A 503 would ring api-errors, and make a load balancer remove an API that works."""
    answered = health("letters", alarm)
    assert answered.status == 200
    assert answered.json["status"] == "behind"
    assert answered.json["alarms"] == [alarm]


def test_alarms_that_cannot_be_read_leave_the_state_unknown() -> None:
    class Refusing:
        """CloudWatch without leave."""

        def ringing(self) -> frozenset[str]:
            raise ServiceError("AccessDenied", "read alarms")

    client = Client(Lab(make_registry()).query_engine, Refusing())
    answered = client.send("/health")
    assert (answered.status, answered.json["status"]) == (200, "unknown")
    assert "the alarms cannot be read" in answered.json["detail"]
    assert "AccessDenied" in client.log.getvalue()


class CloudWatch:
    """Alarms by their names, in pages of one alarm each."""

    def __init__(self, **states: str) -> None:
        self.states = {name.replace("_", "-"): state for name, state in states.items()}
        self.requests: list[dict[str, Any]] = []

    def describe_alarms(self, **request: Any) -> dict[str, Any]:
        self.requests.append(request)
        assert request["AlarmTypes"] == ["MetricAlarm"]
        names = [
            name
            for name, state in sorted(self.states.items())
            if name in request.get("AlarmNames", self.states)
            and name.startswith(request.get("AlarmNamePrefix", ""))
            and state == request.get("StateValue", state)
            and name >= request.get("NextToken", "")
        ]
        following = {"NextToken": names[1]} if names[1:] else {}
        return {"MetricAlarms": [{"AlarmName": name} for name in names[:1]], **following}


def states(cloudwatch: CloudWatch, clock: Any = lambda: NOW) -> AlarmStates:
    client = cast("Any", cloudwatch)
    return AlarmStates(lambda: client, "shop-dev", KNOWN, clock=clock, backoff=NO_WAIT)


def test_the_alarms_of_the_deployment_that_ring_are_found() -> None:
    cloudwatch = CloudWatch(
        shop_dev_iterator_age="OK",
        shop_dev_lag_Orders="ALARM",
        shop_dev_lag_Users="INSUFFICIENT_DATA",
        shop_dev_silence_Users="ALARM",
        shop_prod_lag_Orders="ALARM",
    )
    assert states(cloudwatch).ringing() == frozenset({"lag-Orders", "silence-Users"})


def test_a_deployment_without_alarms_is_not_one_whose_alarms_are_quiet() -> None:
    assert states(CloudWatch(shop_dev_iterator_age="OK")).ringing() == frozenset()
    assert states(CloudWatch(shop_prod_iterator_age="OK")).ringing() is None


def test_alarms_are_read_once_a_minute_at_most() -> None:
    cloudwatch, times = CloudWatch(shop_dev_iterator_age="OK"), iter([0, 59, 60])
    read = states(cloudwatch, lambda: NOW + timedelta(seconds=next(times)))
    counts = []
    for _ in range(3):
        read.ringing()
        counts.append(len(cloudwatch.requests))
    assert counts == [2, 2, 4]
