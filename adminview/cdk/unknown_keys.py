"""Keys of the context that somebody may have meant for us, and that nobody would read.

The CDK keeps its feature flags and other apps their own keys in the same place, so that an unknown
key is no mistake; one that nearly is one of ours is.
"""

import re
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any, Final

from adminview.cdk import alarm_contact, api_access, budgets, network
from adminview.model import Registry
from adminview.model.errors import SettingsError

WRITE_SHARDS: Final = "writeShards"
CDKS_OWN: Final = ("@aws-cdk", "aws-cdk", "aws:", "cdk")
WITHIN: Final = {
    "alarms": alarm_contact.KEYS,
    "api": api_access.KEYS,
    "budgets": budgets.KEYS,
    "vpc": network.KEYS,
}
# What stands within one of ours, and what others call it.
ALIASES: Final = {key.lower(): ours for ours, keys in WITHIN.items() for key in keys} | {
    "alarmemail": "alarms",
    "jwt": "api",
    "issuer": "api",
    "audience": "api",
    "kmskeyarn": "customerKeyArn",
    "kmskey": "customerKeyArn",
    "customerkey": "customerKeyArn",
    "vpcid": "vpc",
    "vpcendpoints": "vpc",
    "reservedconcurrency": "budgets",
}
LIKE: Final = 0.85  # so that 'tag' is like 'tags', and 'state' not like 'stage'


def check_keys(context: Mapping[str, Any], keys: Collection[str], registry: Registry) -> None:
    """Refuse a key that is nearly ours, or that stands for what is declared elsewhere."""
    ours = {key.lower(): key for key in (*keys, WRITE_SHARDS)} | ALIASES
    for given, value in context.items():
        if given in keys or given.startswith(CDKS_OWN):
            continue
        for like in get_close_matches(given.lower(), ours, n=1, cutoff=LIKE):
            if ours[like] == WRITE_SHARDS:
                raise SettingsError(_declared_with_its_index(given, value, registry))
            msg = f"context {given}: nobody reads it; did you mean {ours[like]!r}?"
            raise SettingsError(msg)


def _declared_with_its_index(given: str, value: object, registry: Registry) -> str:
    """Say where the number of shards is to be said, with the index that was meant."""
    words = re.findall(r"[\w.-]+", str(value))
    named = [index.name for index in registry.indexes if index.name in words]
    return (
        f"context {given}: the number of shards is part of the model (its rows, its fingerprint in "
        "model.lock.json, and the plan of a change know it), so it is declared in one place, with "
        f'the index: Index("{named[0] if named else "…"}", …, shards=8) in its view file; then run '
        "`adminview apply`"
    )
