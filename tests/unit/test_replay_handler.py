"""The replay function: its event selects dead letters, its result counts their outcomes."""

import json
from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
from aws_lambda_powertools import Logger, Metrics

from adminview.aws.observability import Observability
from adminview.aws.settings import NAMESPACE, SERVICE, Settings
from adminview.handlers.replay import ROUND_RESERVE, replay, replayer
from adminview.model.errors import ServiceError, SettingsError, ViewError
from tests.support.dead_letter_queue import NOW, Lab, letter_body
from tests.support.fakes import Context
from tests.support.model import registry
from tests.support.stream_records import AT


@pytest.fixture
def lab() -> Lab:
    """Begin with two dead letters and a message that is none."""
    lab = Lab()
    lab.sqs.add(letter_body("secret-a"), letter_body("b"), "secret {")
    return lab


class Ears:
    """What Powertools would have logged."""

    def __init__(self) -> None:
        self.log = StringIO()
        logger = Logger(service=f"{SERVICE}-{uuid4()}", stream=self.log)  # of one name they are one
        self.observer = Observability(logger, Metrics(namespace=NAMESPACE, service=SERVICE))

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.getvalue().splitlines()]


def run(lab: Lab, event: dict[str, Any], context: Context | None = None) -> dict[str, Any]:
    return replay(event, context or Context(), lab.replayer, Ears().observer)


def test_an_empty_event_means_all_dead_letters(lab: Lab) -> None:
    summary = run(lab, {})
    assert json.loads(json.dumps(summary)) == summary
    assert summary["outcomes"] == {
        "reconciled": 2,
        "unchanged": 0,
        "still_failing": 0,
        "expired": 0,
        "not_understood": 1,
        "left_for_later": 0,
    }
    assert (summary["items"], summary["rows_put"], summary["rows_deleted"]) == (2, 2, 0)


@pytest.mark.parametrize(
    ("event", "reconciled"),
    [
        ({"key": "b"}, 1),
        ({"id": "m-1"}, 1),
        ({"source": "Things"}, 2),
        ({"source": "Users"}, 0),
        ({"error": "ViewError", "older_than": 999}, 2),
        ({"older_than": 1001.5}, 0),
        ({"newer_than": 1001}, 2),
        ({"source": None}, 2),
    ],
)
def test_an_event_filters_dead_letters(lab: Lab, event: dict[str, Any], reconciled: int) -> None:
    assert run(lab, event)["outcomes"]["reconciled"] == reconciled
    assert lab.sqs.hidden() == set(), "the others can be seen"


def test_an_event_with_a_field_that_means_nothing_is_refused_before_any_dead_letter(
    lab: Lab,
) -> None:
    with pytest.raises(
        SettingsError, match="unknown fields: Key, sorce; dead letters are filtered by id"
    ):
        run(lab, {"sorce": "Things", "Key": "b", "source": "Things"})
    assert lab.sqs.requests == []


def test_a_run_is_one_log_line_and_a_metric_for_each_fate(lab: Lab, capsys: Any) -> None:
    lab.fail("secret-a", ViewError(LookupError("secret")))
    ears = Ears()
    replay({}, Context(), lab.replayer, ears.observer)
    reported = capsys.readouterr().out
    metrics = json.loads(reported)
    assert {name: count for name, count in metrics.items() if name.startswith("Letters")} == {
        "LettersReconciled": [1],
        "LettersUnchanged": [0],
        "LettersStillFailing": [1],
        "LettersExpired": [0],
        "LettersNotUnderstood": [1],
        "LettersLeftForLater": [0],
    }
    assert metrics["service"] == "adminview"
    (line,) = ears.lines()
    assert (line["message"], line["items"]) == ("dead letters replayed", 1)
    assert line["function_request_id"] == "request-1"
    assert "secret" not in reported + ears.log.getvalue()


def test_metrics_of_two_runs_do_not_mix(lab: Lab, capsys: Any) -> None:
    ears = Ears()
    for _ in range(2):
        replay({}, Context(), lab.replayer, ears.observer)
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["LettersReconciled"], second["LettersReconciled"]) == ([2], [0])
    assert (first["LettersNotUnderstood"], second["LettersNotUnderstood"]) == ([1], [1])


def test_a_run_with_too_little_time_receives_no_dead_letters(lab: Lab) -> None:
    summary = run(lab, {}, Context(remaining_ms=int(ROUND_RESERVE * 1000)))
    assert sum(summary["outcomes"].values()) == 0
    assert lab.sqs.requests == []


def test_the_replayer_is_made_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings("AdminViewTable", "https://queue", {"Orders": "prod-Orders"}, "abc")
    aws = {
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
    }
    for name, value in (settings.to_env() | aws).items():
        monkeypatch.setenv(name, value)
    lambda_replayer = replayer.__wrapped__()
    assert "prod-Orders" in lambda_replayer.resolver.routes
    assert lambda_replayer.reconciler.model == registry().fingerprint
    assert lambda_replayer.retry_seconds >= 360, "the owner index lags"


def age(lab: Lab, event: dict[str, Any], capsys: Any) -> float:
    run(lab, event)
    (seconds,) = json.loads(capsys.readouterr().out)["AgeOfOldestLetter"]
    return float(seconds)


def test_the_oldest_dead_letter_is_as_old_as_its_change_however_often_it_is_sent_again(
    capsys: Any,
) -> None:
    lab = Lab()
    assert age(lab, {}, capsys) == 0
    lab.sqs.add(letter_body("a"), letter_body("b", at=NOW - 5))
    lab.fail("a", ViewError(LookupError()))
    assert age(lab, {}, capsys) == 1000
    lab.sqs.now += 3600
    assert age(lab, {}, capsys) == 4600


@pytest.mark.parametrize(
    ("event", "seconds"),
    [({}, 999.5), ({"source": "Users"}, 1000)],
    ids=["not understood: since it was sent", "not meant"],
)
def test_dead_letters_that_a_run_does_not_match_age_too(
    lab: Lab, event: dict[str, Any], seconds: float, capsys: Any
) -> None:
    assert age(lab, event, capsys) == seconds


def test_a_dead_letter_that_met_an_aws_refusal_ages_too(lab: Lab, capsys: Any) -> None:
    lab.sqs.add(letter_body("c", at=AT - 500))
    lab.fail("c", ServiceError("throttled", "read an item"))
    assert age(lab, {}, capsys) == 1500
