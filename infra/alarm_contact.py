"""Who hears of alarms, as cdk.json's `alarms` says: whoever subscribes, and an address if named."""

import re
from dataclasses import dataclass
from typing import Final

from infra.entry import given_or, is_nothing, read_object
from lambdas.model.errors import SettingsError

EMAIL: Final = "email"
KEYS: Final = (EMAIL,)
ADDRESS: Final = re.compile(r"[^\s@,;<>]+@[^\s@,;<>]+\.[^\s@,;<>]+")
EXAMPLE: Final = '{"email": "ops@example.com"}'


@dataclass(frozen=True, slots=True)
class AlarmContact:
    """An address that is subscribed to the alarms; none by default."""

    email: str = ""

    @classmethod
    def read(cls, given: object) -> "AlarmContact":
        """Read the context's `alarms`, or say what is wrong in it."""
        entries = read_object("alarms", given, example=EXAMPLE, known=KEYS)
        email = given_or(entries.get(EMAIL), "")
        if not is_nothing(email) and not (isinstance(email, str) and ADDRESS.fullmatch(email)):
            msg = (
                f"context alarms: {EMAIL} {email!r} is not one address, such as ops@example.com; "
                "others subscribe to the topic themselves"
            )
            raise SettingsError(msg)
        return cls(email)
