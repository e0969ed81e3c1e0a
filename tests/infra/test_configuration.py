"""docs/configuration.md has a section for every key, and its examples are accepted."""

import json
import re
from typing import Any

import pytest

from adminview.cdk import DeploymentOptions
from adminview.cdk.options.alarm_contact import KEYS as ALARM_KEYS
from adminview.cdk.options.deployment import KEYS
from adminview.cdk.options.network import KEYS as NETWORK_KEYS
from adminview.cdk.options.network import LISTS
from adminview.model.errors import SettingsError
from infra.stages import PROD, STAGES
from tests.infra.test_options_deployed import SENDERS
from tests.support.shop import registry
from tests.support.synthesis import ROOT

TEXT = (ROOT / "docs" / "configuration.md").read_text()
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", TEXT, re.DOTALL | re.MULTILINE))


def blocks(section: str) -> list[str]:
    return re.findall(r"```json\n(.*?)```", SECTIONS[section], re.DOTALL)


def examples(section: str) -> list[dict[str, Any]]:
    """Give what is shown as it would stand in cdk.json; what is no such entry is a document."""
    return [json.loads(f"{{{block}}}") for block in blocks(section) if block.startswith('"')]


def test_every_key_has_a_section_and_every_section_is_a_keys() -> None:
    assert [*SECTIONS] == [*KEYS, "What is not here"]


@pytest.mark.parametrize("key", KEYS)
def test_the_examples_of_a_key_are_accepted(key: str) -> None:
    assert examples(key)
    for example in examples(key):
        assert example.keys() == {key}
        DeploymentOptions.read({"adminview": example}, registry(), stages=STAGES)


def test_what_is_given_on_the_command_line_is_accepted() -> None:
    context = dict(re.findall(r"-c '?adminview:(\w+)=(\{.*?\}|\S+?)'?(?=\s)", TEXT))
    assert context.keys() == {"stage", "prefix", "budgets", "protect"}
    stage = DeploymentOptions.read({"adminview": context}, registry(), stages=STAGES).stage
    assert (stage.read_units, stage.protect) == (500, False)


def test_the_example_of_a_network_shows_all_that_it_may_hold() -> None:
    (example,) = examples("vpc")
    assert example["vpc"].keys() == {*NETWORK_KEYS}
    assert LISTS.keys() < example["vpc"].keys()


def test_the_example_of_alarms_shows_all_that_it_may_hold() -> None:
    (example,) = examples("alarms")
    assert example["alarms"].keys() == {*ALARM_KEYS}


def test_the_documented_defaults_are_those_of_the_stages() -> None:
    assert f"{PROD.sync_concurrency} in `prod` and none in `dev`" in " ".join(
        SECTIONS["budgets"].split()
    )


def test_what_is_documented_as_refused_is_refused() -> None:
    text = " ".join(SECTIONS["What is not here"].split())
    assert "Synthesis rejects a `writeShards` here" in text
    with pytest.raises(SettingsError):
        DeploymentOptions.read(
            {"adminview": {"writeShards": {"GSI1": 8}}}, registry(), stages=STAGES
        )


def test_the_keys_policy_lets_in_iam_and_the_two_services_that_come_by_themselves() -> None:
    (text,) = [block for block in blocks("customerKeyArn") if block.startswith("{")]
    statements = json.loads(text)["Statement"]
    assert [statement["Principal"] for statement in statements] == [
        {"AWS": "arn:aws:iam::111122223333:root"},
        {"Service": "logs.eu-west-1.amazonaws.com"},
        {"Service": "cloudwatch.amazonaws.com"},
    ]
    for statement in statements[1:]:
        assert "111122223333" in json.dumps(statement["Condition"]), "only for this account"


def test_the_functions_that_send_dead_letters_are_named() -> None:
    named = ", ".join(SENDERS[:-1]).lower() + f" and {SENDERS[-1].lower()}"
    text = " ".join(SECTIONS["customerKeyArn"].split())
    assert f"`kms:GenerateDataKey` for {named}" in text
