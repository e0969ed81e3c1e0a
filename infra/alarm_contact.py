"""Who hears of alarms, as cdk.json's `alarms` says: whoever subscribes, and an address if named."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from json import JSONDecodeError, loads
from typing import Final

from lambdas.model.errors import SettingsError

EMAIL: Final = "email"
ADDRESS: Final = re.compile(r"[^\s@,;<>]+@[^\s@,;<>]+\.[^\s@,;<>]+")
EXAMPLE: Final = '{"email": "ops@example.com"}'


@dataclass(frozen=True, slots=True)
class AlarmContact:
    """An address that is subscribed to the alarms; none by default."""

    email: str = ""

    @classmethod
    def read(cls, given: object) -> "AlarmContact":
        """Read the context's `alarms`, which `-c` hands over as text, or say what is wrong."""
        try:
            entries = loads(given) if isinstance(given, str) and given else given or {}
        except JSONDecodeError as error:
            msg = f"context alarms: not JSON ({error}); expected an object such as {EXAMPLE}"
            raise SettingsError(msg) from error
        for problem in _problems(entries):
            msg = f"context alarms: {problem}"
            raise SettingsError(msg)
        assert isinstance(entries, Mapping)
        return cls(entries.get(EMAIL) or "")


def _problems(given: object) -> Iterator[str]:
    if not isinstance(given, Mapping):
        yield f"found {type(given).__name__}; expected an object such as {EXAMPLE}"
        return
    if unknown := sorted(set(given) - {EMAIL}):
        yield f"unknown {', '.join(map(repr, unknown))}; there is {EMAIL}, as in {EXAMPLE}"
    email = given.get(EMAIL)
    if email and not (isinstance(email, str) and ADDRESS.fullmatch(email)):
        yield (
            f"{EMAIL} {email!r} is not one address, such as ops@example.com; "
            "others subscribe to the topic themselves"
        )
