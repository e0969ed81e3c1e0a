"""Tumbling windows: which records share one, what its events hold, and how it ends."""

import logging
from collections.abc import Callable
from typing import Any

import pytest

from adminview.local.event_source import RetryDelay, UnsettledRecordsError
from adminview.local.event_source.event import StreamRecord
from adminview.local.event_source.window import STATE_LIMIT, Window
from tests.support.stream_shards import ARN, NOW, FakeShard, Lab, failed, rules

MINUTE = 60
TOO_LARGE = {"text": "x" * STATE_LIMIT}
assert NOW % MINUTE == 0


class WindowLab(Lab):
    """A lab whose function keeps a list of its batches in the state of the window."""

    def __init__(self, *answers: Any, **settings: Any) -> None:
        delivery = settings.pop("delivery", rules(batch_size=2, tumbling_seconds=MINUTE))
        super().__init__(*answers, delivery=delivery, **settings)
        self.events: list[dict[str, Any]] = []

    def handle(self, event: dict[str, Any], context: Any) -> Any:
        self.events.append(event)
        answer = super().handle(event, context)
        return {"state": event["state"] | {str(len(self.events)): 1}} if answer is None else answer

    @property
    def calls(self) -> list[str]:
        """What the function was invoked with: the batches, and the ends of windows."""
        return [
            " ".join(batch) or ("end, early" if event["isWindowTerminatedEarly"] else "end")
            for batch, event in zip(self.batches, self.events, strict=True)
        ]

    def windows(self) -> list[tuple[str, str]]:
        return [
            (event["window"]["start"][-6:-1], event["window"]["end"][-6:-1])
            for event in self.events
        ]


def test_an_event_names_its_shard_its_window_and_its_stream() -> None:
    lab = WindowLab()
    lab.stream.put("shardId-1", at=NOW + 61)

    lab.source.drain()

    [event] = lab.events
    assert [record["dynamodb"]["SequenceNumber"] for record in event.pop("Records")] == ["98"]
    assert event == {
        "window": {"start": "2026-01-01T00:01:00Z", "end": "2026-01-01T00:02:00Z"},
        "state": {},
        "shardId": "shardId-1",
        "eventSourceARN": ARN,
        "isFinalInvokeForWindow": False,
        "isWindowTerminatedEarly": False,
    }


def test_an_event_without_a_window_names_no_shard() -> None:
    lab = WindowLab({}, delivery=rules())
    lab.stream.put()

    lab.source.drain()

    assert lab.events[0].keys() == {"Records"}


def test_a_batch_never_crosses_the_end_of_a_window() -> None:
    lab = WindowLab(delivery=rules(batch_size=10, tumbling_seconds=MINUTE))
    for seconds in (0, 59.9, 60, 61, 120):
        lab.stream.put(at=NOW + seconds)

    lab.source.drain()

    assert lab.calls == ["98 99", "end, early", "100 101", "end, early", "102"]
    assert lab.windows() == [
        ("00:00", "01:00"),
        ("00:00", "01:00"),
        ("01:00", "02:00"),
        ("01:00", "02:00"),
        ("02:00", "03:00"),
    ]


def test_a_record_that_is_late_is_in_the_window_that_is_open() -> None:
    lab = WindowLab()
    lab.stream.put(at=NOW + 60)
    lab.source.drain()
    lab.stream.put(at=NOW + 59)

    lab.source.drain()

    assert lab.calls == ["98", "99"]
    assert lab.windows() == [("01:00", "02:00")] * 2


def test_the_state_is_handed_on_within_a_window_and_not_beyond_it() -> None:
    lab = WindowLab(delivery=rules(batch_size=1, tumbling_seconds=MINUTE))
    lab.stream.put(count=3)
    lab.stream.put(at=NOW + 60)

    lab.source.drain()

    assert [event["state"] for event in lab.events] == [
        {},
        {"1": 1},
        {"1": 1, "2": 1},
        {"1": 1, "2": 1, "3": 1},  # the end has them all
        {},
    ]


def test_a_window_ends_with_an_invocation_without_records_when_its_time_is_over() -> None:
    lab = WindowLab()
    lab.stream.put()
    lab.source.drain()
    lab.now = NOW + 59.9
    lab.source.drain()
    assert lab.calls == ["98"]

    lab.now = NOW + 60
    lab.source.drain()

    assert lab.calls == ["98", "end"]
    assert lab.events[1] == {
        "Records": [],
        "window": {"start": "2026-01-01T00:00:00Z", "end": "2026-01-01T00:01:00Z"},
        "state": {"1": 1},
        "shardId": "A",
        "eventSourceARN": ARN,
        "isFinalInvokeForWindow": True,
        "isWindowTerminatedEarly": False,
    }
    lab.now = NOW + 1000
    lab.source.drain()
    assert len(lab.calls) == 2


def test_a_window_without_records_is_never_opened() -> None:
    lab = WindowLab()
    lab.stream.shards["A"] = FakeShard()
    lab.now += 1000

    lab.source.drain()

    assert lab.calls == []


def test_a_window_ends_early_when_its_shard_ends_and_the_child_has_its_own() -> None:
    lab = WindowLab()
    lab.stream.put("parent", 3)
    lab.stream.shards["parent"].closed = True
    lab.stream.shards["child"] = FakeShard(parent="parent")
    lab.stream.put("child")

    lab.source.drain()

    assert lab.calls == ["98 99", "100", "end, early", "101"]
    assert [event["shardId"] for event in lab.events] == ["parent"] * 3 + ["child"]
    assert lab.events[3]["state"] == {}


def test_a_window_ends_early_when_its_state_exceeds_1_mb_and_goes_on_with_a_new_state() -> None:
    lab = WindowLab({"state": TOO_LARGE}, delivery=rules(batch_size=1, tumbling_seconds=MINUTE))
    lab.stream.put(count=2)

    lab.source.drain()

    assert lab.calls == ["98", "end, early", "99"]
    assert lab.windows() == [("00:00", "01:00")] * 3
    assert [len(event["state"]) for event in lab.events] == [0, 1, 0]


def test_a_state_of_1_mb_ends_no_window() -> None:
    state = {"text": "x" * (STATE_LIMIT - len('{"text": ""}'))}
    lab = WindowLab({"state": state}, {"state": {}})
    lab.stream.put()
    lab.source.drain()
    lab.stream.put()

    lab.source.drain()

    assert lab.calls == ["98", "99"]


@pytest.mark.parametrize("response", [{}, {"batchItemFailures": []}, failed("99"), "done", [], 0])
def test_a_response_without_a_state_fails_the_whole_batch(response: object) -> None:
    lab = WindowLab(response, delivery=rules(bisect=False, tumbling_seconds=MINUTE))
    lab.stream.put(count=2)

    assert lab.source.drain() == 2
    assert lab.calls == ["98 99", "98 99"]


@pytest.mark.parametrize(
    "failures", [{}, {"batchItemFailures": []}, {"batchItemFailures": None}], ids=str
)
def test_a_response_with_a_state_and_no_failures_settles_the_batch(
    failures: dict[str, Any],
) -> None:
    lab = WindowLab({"state": {"kept": 1}, **failures}, delivery=rules(tumbling_seconds=MINUTE))
    lab.stream.put(count=2)
    lab.source.drain()
    lab.stream.put()

    lab.source.drain()

    assert lab.calls == ["98 99", "100"]
    assert lab.events[1]["state"] == {"kept": 1}


def test_a_partial_failure_redelivers_the_rest_with_the_state_of_the_response() -> None:
    lab = WindowLab({"state": {"98": 1}, **failed("99")})
    lab.stream.put(count=2)

    lab.source.drain()

    assert lab.calls == ["98 99", "99"]
    assert lab.events[1]["state"] == {"98": 1}


@pytest.mark.parametrize(
    "answer",
    [ValueError(), {"state": {"wrong": 1}, **failed("7")}, {"state": {1, 2}}],
    ids=["raises", "names no record of the batch", "not JSON"],
)
def test_a_failed_invocation_leaves_the_state_as_it_was(answer: object) -> None:
    lab = WindowLab({"state": {"kept": 1}}, answer)
    lab.stream.put()
    lab.source.drain()
    lab.stream.put()

    lab.source.drain()

    assert lab.calls == ["98", "99", "99"]
    assert [event["state"] for event in lab.events] == [{}, {"kept": 1}, {"kept": 1}]


FAILURES: list[Callable[[], object]] = [ValueError, dict, lambda: "done"]


@pytest.mark.parametrize("failure", FAILURES)
def test_a_final_invocation_that_fails_is_retried_and_holds_up_the_records_behind(
    failure: Callable[[], object],
) -> None:
    lab = WindowLab({"state": {}}, failure(), failure(), failure(), {"state": {}})
    lab.stream.put()
    lab.stream.put(at=NOW + 60)

    lab.source.drain()

    assert lab.calls == ["98", *["end, early"] * 4, "99"]
    assert lab.sleeps == pytest.approx([0.1, 0.2, 0.4], abs=1e-3)


@pytest.mark.parametrize("failure", FAILURES)
def test_a_final_invocation_that_fails_holds_up_the_child_shards(
    failure: Callable[[], object],
) -> None:
    lab = WindowLab({"state": {}}, failure(), failure())
    lab.stream.put("parent")
    lab.stream.shards["parent"].closed = True
    lab.stream.shards["child"] = FakeShard(parent="parent")
    lab.stream.put("child")

    assert lab.source.drain() == 2
    assert lab.calls == ["98", *["end, early"] * 3, "99"]


def test_a_final_invocation_that_always_fails_is_reported() -> None:
    lab = WindowLab({"state": {}}, *[ValueError("no")] * 9, backoff=RetryDelay(0, 0))
    lab.stream.put("A")
    lab.stream.shards["A"].closed = True

    with pytest.raises(UnsettledRecordsError, match="shard A at its end") as caught:
        lab.source.drain(attempts=5)

    assert isinstance(caught.value.__cause__, ValueError)


def test_a_final_invocation_that_takes_too_long_has_failed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lab: WindowLab = WindowLab(None, lambda *_: lab.sleep(31), timeout_seconds=30)
    lab.stream.put()
    lab.source.drain()
    lab.now = NOW + 60

    with caplog.at_level(logging.WARNING):
        lab.source.drain()

    assert lab.calls == ["98", "end", "end"]
    assert "the final invocation of a window failed" in caplog.text


def test_bisected_and_redelivered_records_stay_in_their_window() -> None:
    lab = WindowLab(
        ValueError(), ValueError(), delivery=rules(batch_size=4, tumbling_seconds=MINUTE)
    )
    lab.stream.put(count=3)
    lab.stream.put(at=NOW + 60)

    lab.source.drain()

    assert lab.calls == ["98 99 100", "98", "98", "99 100", "end, early", "101"]
    assert {event["window"]["start"] for event in lab.events[:5]} == {"2026-01-01T00:00:00Z"}


def test_a_pass_ends_a_window_and_delivers_the_batch_behind_it() -> None:
    lab = WindowLab()
    lab.stream.put()
    lab.stream.put(at=NOW + 60)

    assert [lab.source.poll(), lab.source.poll()] == [1, 1]
    assert lab.calls == ["98", "end, early", "99"]


def test_windows_begin_at_multiples_of_their_length() -> None:
    for at in (0.0, 0.5, 899.9, 900.0, NOW + 1234.5):
        window = Window.of(StreamRecord("1", at, "{}", 2), 900)
        assert window.start % 900 == 0
        assert window.start <= at < window.end == window.start + 900
