"""Who hears of alarms, as cdk.json's `alarms` says, and where they read on.

Whoever subscribes hears of them, and an address if one is named.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from adminview.cdk.options.context import given_or, is_nothing, read_object
from adminview.model.errors import SettingsError

EMAIL, RUNBOOK = "email", "runbookUrl"
KEYS: Final = (EMAIL, RUNBOOK)
ADDRESS: Final = re.compile(r"[^\s@,;<>]+@[^\s@,;<>]+\.[^\s@,;<>]+")
URL: Final = re.compile(r"https://[^\s/?#]+([/?][^\s#]*)?")  # a section is put behind it
LONGEST_URL: Final = 500  # an alarm's description takes 1,024, and names what the alarm is about
EXAMPLE: Final = '{"email": "ops@example.com", "runbookUrl": "https://…/runbook.md"}'


@dataclass(frozen=True, slots=True)
class AlarmContact:
    """An address that is subscribed to the alarms, and a page that they link to."""

    email: str = ""  # none: nobody is subscribed
    runbook: str = ""  # none: the page is told by its path

    @classmethod
    def read(cls, given: object) -> "AlarmContact":
        """Read the context's `alarms`, or say what is wrong in it."""
        entries = read_object("alarms", given, example=EXAMPLE, known=KEYS)
        for problem in (*_email_problems(entries), *_runbook_problems(entries)):
            msg = f"context alarms: {problem}"
            raise SettingsError(msg)
        return cls(*(given_or(entries.get(key), "") for key in KEYS))


def _email_problems(given: Mapping[str, Any]) -> Iterator[str]:
    email = given.get(EMAIL)
    if not is_nothing(email) and not (isinstance(email, str) and ADDRESS.fullmatch(email)):
        yield (
            f"{EMAIL} {email!r} is not one address, such as ops@example.com; "
            "others subscribe to the topic themselves"
        )


def _runbook_problems(given: Mapping[str, Any]) -> Iterator[str]:
    url = given.get(RUNBOOK)
    if is_nothing(url):
        return
    if not isinstance(url, str) or not URL.fullmatch(url):
        yield (
            f"{RUNBOOK} {url!r} is not the URL of a page, such as https://wiki.example/runbook; "
            "alarms put #<section> behind it"
        )
    elif len(url) > LONGEST_URL:
        yield f"{RUNBOOK} has {len(url)} characters; {LONGEST_URL} at most fit into an alarm"
