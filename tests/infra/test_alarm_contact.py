"""The option `alarms` is validated before anything is built."""

from typing import Any

import pytest

from adminview.cdk import DeploymentOptions
from adminview.cdk.options.alarm_contact import AlarmContact
from adminview.model.errors import SettingsError
from infra.stages import STAGES
from tests.support.shop import registry


def read(alarms: Any) -> AlarmContact:
    return DeploymentOptions.read(
        {"adminview": {"alarms": alarms}}, registry(), stages=STAGES
    ).alarms


@pytest.mark.parametrize(
    "alarms", [None, {}, "", "{}", {"email": ""}, {"email": None}, {"runbookUrl": ""}]
)
def test_nobody_is_subscribed_unless_the_context_says_who(alarms: Any) -> None:
    assert read(alarms) == AlarmContact()


@pytest.mark.parametrize(
    "contact", [{"email": "ops@shop.example"}, '{"email": "ops@shop.example"}']
)
def test_an_address_is_taken_from_cdk_json_or_as_text_from_the_command_line(contact: Any) -> None:
    assert read(contact) == AlarmContact("ops@shop.example")


PAGE = "https://wiki.example/pages?id=7"


def test_a_page_to_read_on_is_taken_with_an_address_or_without() -> None:
    assert read({"runbookUrl": PAGE}) == AlarmContact(runbook=PAGE)
    both = {"runbookUrl": PAGE, "email": "ops@shop.example"}
    assert read(both) == AlarmContact("ops@shop.example", PAGE)


NO_PAGE = "is not the URL of a page, such as https://wiki.example/runbook; alarms append #<section>"
WRONG: dict[str, tuple[Any, str]] = {
    "no JSON": (
        "ops@shop.example",
        "not JSON (Expecting value: line 1 column 1 (char 0)); expecte",
    ),
    "no object": (["ops@shop.example"], 'found list; expected an object such as {"email": "ops@e'),
    "an unknown key": ({"mail": "a@b.example"}, "unknown 'mail'; there are email"),
    "no address": ({"email": "ops"}, "email 'ops' is not one address, such as ops@example.com"),
    "two addresses": ({"email": "a@b.example,c@d.example"}, "others subscribe to the topic"),
    "a path for a page": ({"runbookUrl": "docs/runbook.md"}, NO_PAGE),
    "a page without TLS": ({"runbookUrl": "http://wiki.example/runbook"}, NO_PAGE),
    "a section of a page": ({"runbookUrl": f"{PAGE}#lag"}, NO_PAGE),
    "a list of pages": ({"runbookUrl": [PAGE]}, NO_PAGE),
    "a page with a long name": ({"runbookUrl": f"{PAGE}{'7' * 500}"}, "at most 500 fit into an al"),
    "no text": ({"email": ["a@b.example"]}, "email ['a@b.example'] is not one address"),
}


@pytest.mark.parametrize(("contact", "reason"), WRONG.values(), ids=WRONG)
def test_a_wrong_contact_is_refused_with_what_would_be_right(contact: Any, reason: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read(contact)
    assert str(caught.value).startswith("context alarms: ")
    assert reason in str(caught.value)
