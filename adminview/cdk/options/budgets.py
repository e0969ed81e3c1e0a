"""What may be consumed beside the live path, and how often the sync may run at once.

cdk.json's `budgets` changes what the stage says.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import isfinite
from typing import Any, Final

from adminview.bulk.request import COUNT, FITS, RATE
from adminview.cdk.options.context import read_object
from adminview.cdk.options.stage import Stage
from adminview.model import Registry
from adminview.model.delivery import Delivery
from adminview.model.errors import SettingsError

READ, WRITE, SYNC = "readUnits", "writeUnits", "syncConcurrency"
KEYS: Final = (READ, WRITE, SYNC)
NONE: Final = "none"  # not null: the CDK leaves out what is null in an object
EXAMPLE: Final = '{"readUnits": 500, "writeUnits": 200, "syncConcurrency": 50}'


def within_budgets(stage: Stage, given: object, registry: Registry) -> Stage:
    """Give a stage with the budgets of the context, or say what is wrong in them."""
    entries = read_object("budgets", given, example=EXAMPLE, known=KEYS)
    concurrency = entries.get(SYNC, stage.sync_concurrency)
    for problem in (*_problems(entries), *_too_low(concurrency, registry)):
        msg = f"context budgets: {problem}"
        raise SettingsError(msg)
    return replace(
        stage,
        read_units=entries.get(READ, stage.read_units),
        write_units=entries.get(WRITE, stage.write_units),
        sync_concurrency=None if concurrency == NONE else concurrency,
    )


def _problems(given: Mapping[str, Any]) -> Iterator[str]:
    for key in (READ, WRITE):
        if key in given and not (FITS[RATE](given[key]) and isfinite(given[key])):
            yield f"{key} is {given[key]!r}; it is {RATE}: capacity units per second"
    if SYNC in given and given[SYNC] != NONE and not FITS[COUNT](given[SYNC]):
        yield f"{SYNC} is {given[SYNC]!r}; it is {COUNT}, or {NONE!r} to reserve nothing"


def _too_low(concurrency: object, registry: Registry) -> Iterator[str]:
    """Find a cap under which the streams would wait for one another even when each is small."""
    sources, at_once = len(registry.sources), Delivery().parallelization
    if isinstance(concurrency, int) and concurrency < sources * at_once:
        yield (
            f"{SYNC} is {concurrency}, but {sources} streams have a shard each at least, with "
            f"{at_once} of its batches at a time: give {sources * at_once} or more, or {NONE!r} "
            "to reserve nothing"
        )
