"""The option `alarms`: an address to notify, and the runbook that alarms link to.

Others subscribe to the topic themselves.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from adminview.cdk.options.context import is_empty, read_object, value_or
from adminview.model.errors import SettingsError

EMAIL, RUNBOOK = "email", "runbookUrl"
KEYS: Final = (EMAIL, RUNBOOK)
ADDRESS: Final = re.compile(r"[^\s@,;<>]+@[^\s@,;<>]+\.[^\s@,;<>]+")
URL: Final = re.compile(r"https://[^\s/?#]+([/?][^\s#]*)?")  # without a section: alarms append one
MAX_URL: Final = 500  # an alarm's description has 1,024 characters, and the URL shares them
EXAMPLE: Final = '{"email": "ops@example.com", "runbookUrl": "https://…/runbook.md"}'


@dataclass(frozen=True, slots=True)
class AlarmContact:
    """The address that is subscribed to the alarms, and the page that they link to."""

    email: str = ""  # empty: no subscription
    runbook: str = ""  # empty: alarms name the path of the runbook in this repository

    @classmethod
    def read(cls, value: object) -> "AlarmContact":
        """Read the context's `alarms`, or raise a SettingsError."""
        entries = read_object("alarms", value, example=EXAMPLE, known=KEYS)
        for problem in (*_email_problems(entries), *_runbook_problems(entries)):
            msg = f"context alarms: {problem}"
            raise SettingsError(msg)
        return cls(*(value_or(entries.get(key), "") for key in KEYS))


def _email_problems(entries: Mapping[str, Any]) -> Iterator[str]:
    email = entries.get(EMAIL)
    if not is_empty(email) and not (isinstance(email, str) and ADDRESS.fullmatch(email)):
        yield (
            f"{EMAIL} {email!r} is not one address, such as ops@example.com; "
            "others subscribe to the topic themselves"
        )


def _runbook_problems(entries: Mapping[str, Any]) -> Iterator[str]:
    url = entries.get(RUNBOOK)
    if is_empty(url):
        return
    if not isinstance(url, str) or not URL.fullmatch(url):
        yield (
            f"{RUNBOOK} {url!r} is not the URL of a page, such as https://wiki.example/runbook; "
            "alarms append #<section> to it"
        )
    elif len(url) > MAX_URL:
        yield f"{RUNBOOK} has {len(url)} characters; at most {MAX_URL} fit into an alarm"
