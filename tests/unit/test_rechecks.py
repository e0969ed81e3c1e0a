"""Local repairs stop soon after other code is deployed."""

import os
from dataclasses import replace
from typing import Any

import pytest
import typer

from adminview.aws.deadline import Deadline
from adminview.aws.settings import Settings
from adminview.cli.commands import verify
from adminview.cli.dead_letters import replayer_for
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.find import CHECK_SECONDS, Throttled
from adminview.dead_letters.replay import ROUND
from adminview.model.errors import SettingsError
from tests.support import dead_letter_queue, verify_tables
from tests.support.model import registry


class ChangingModel:
    """A deployment whose model changes after some looks."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    def check(self) -> None:
        self.looks -= 1
        if self.looks < 0:
            msg = "model another is deployed"
            raise SettingsError(msg)


def test_a_check_is_made_again_only_when_some_time_has_passed() -> None:
    now, checks = [5.0], []
    check = Throttled(lambda: checks.append(now[0]), lambda: now[0])
    for _ in range(10):
        check()
        now[0] += CHECK_SECONDS / 4
    assert checks == [5.0 + CHECK_SECONDS, 5.0 + 2 * CHECK_SECONDS]


def test_verify_repairs_nothing_more_once_other_code_is_deployed() -> None:
    lab = verify_tables.Lab()
    for number in range(4):
        lab.put(f"t{number}", x="1", synced=False)
    lab.check = ChangingModel(looks=1 + 2).check  # the run begins, and two items are repaired
    with pytest.raises(SettingsError, match="model another is deployed"):
        lab.verify(repair=True)
    assert len(lab.view) == 2


def test_a_comparison_without_a_repair_does_not_read_the_deployed_model() -> None:
    lab = verify_tables.Lab()
    lab.put("t", x="1", synced=False)
    lab.check = ChangingModel(looks=2).check  # two phases begin
    assert lab.verify().total["left"] == 1


def test_a_replay_receives_no_more_dead_letters_once_other_code_is_deployed() -> None:
    lab = dead_letter_queue.Lab()
    lab.sqs.add(*(dead_letter_queue.letter_body(f"i{number}") for number in range(ROUND + 1)))
    replayer = replace(lab.replayer, check=ChangingModel(looks=1).check)
    soon = Deadline.after(60)
    with pytest.raises(SettingsError, match="model another is deployed"):
        replayer.replay(deadline=soon, end=soon)
    assert len(lab.letters()) == 1
    assert lab.sqs.hidden() == set(), "it is there for others"


@pytest.fixture
def deployed(monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Let the commands query a local engine, which has the model that is here."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    settings = Settings("the-view", "https://queue", {}, registry().fingerprint)
    for name, value in settings.to_env().items():
        monkeypatch.setenv(name, value)
    return settings


def other_code_comes(deployed: Settings, monkeypatch: pytest.MonkeyPatch, check: Any) -> None:
    """See that a check notices it, in time."""
    assert isinstance(check, Throttled)
    for name, value in replace(deployed, model="another").to_env().items():
        monkeypatch.setenv(name, value)
    check()
    check.clock = lambda: 1e12
    with pytest.raises(SettingsError, match="model another is deployed"):
        check()


def test_the_verify_command_reads_the_deployed_model_again(
    deployed: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(verify, "connect", lambda *arguments: seen.append(arguments[-1]))
    monkeypatch.setattr(verify, "verify_here", lambda *_: 0)
    with pytest.raises(typer.Exit):
        verify.verify()
    other_code_comes(deployed, monkeypatch, seen[0])


def test_the_replay_command_reads_the_deployed_model_again(
    deployed: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = replayer_for(Deployment.from_options(None, "", os.environ), writes=True).check
    other_code_comes(deployed, monkeypatch, check)
