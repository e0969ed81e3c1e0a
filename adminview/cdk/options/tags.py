"""The tags that every resource carries: ours, and those of cdk.json's `tags`."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from adminview.cdk.options.context import read_object
from adminview.cdk.options.stage import Stage
from adminview.model.errors import SettingsError

EXAMPLE: Final = '{"team": "shop", "costCentre": "4711"}'
LIMIT: Final = 50  # on a resource, set by AWS
# The letters that every service takes.
NAME: Final = re.compile(r"(?!aws:)[\w .:/=+@-]{1,128}", re.IGNORECASE)
VALUE: Final = re.compile(r"[\w .:/=+@-]{1,256}")


def read_tags(given: object, stage: Stage) -> dict[str, str]:
    """Read the context's `tags` beside our own, or say what is wrong in them."""
    ours = {"app": "adminview", "stage": stage.name}
    entries = read_object("tags", given, example=EXAMPLE)
    for problem in _problems(entries, ours):
        msg = f"context tags: {problem}"
        raise SettingsError(msg)
    return ours | dict(entries)


def _problems(given: Mapping[str, Any], ours: Mapping[str, str]) -> Iterator[str]:
    letters = "letters, digits, spaces and _ . : / = + - @"
    for name, value in given.items():
        if name in ours:
            yield f"{name!r} is set already, to {ours[name]!r}; choose another name"
        elif not NAME.fullmatch(name):
            yield f"{name!r} cannot name a tag: it has 1 to 128 {letters}, and no 'aws:' first"
        elif not isinstance(value, str) or not VALUE.fullmatch(value):
            yield f"{name!r} is {value!r}; it is a text of 1 to 256 {letters}"
    if len(given) + len(ours) > LIMIT:
        yield f"{len(given)} tags; AWS takes {LIMIT}, and {len(ours)} of them are ours"
