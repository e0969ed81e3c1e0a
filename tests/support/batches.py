"""The plan of a batch of records, in a form that tests can compare."""

import json
from typing import Any

from adminview.model import Registry
from adminview.sync.decode import routes
from adminview.sync.plan import Batch
from tests.support.fakes import planned
from tests.support.model import registry


def prepared(*records: dict[str, Any], model: Registry | None = None) -> Batch:
    """Plan a batch, by default with the shop's model."""
    return planned(records, routes(model or registry(), {}), "model-1")


def written(batch: Batch) -> dict[tuple[str, str], bool]:
    """Return each row with True if it is put, False if it is deleted."""
    return {write.key: write.row is not None for write in batch.writes}


def letters(batch: Batch) -> list[dict[str, Any]]:
    """Parse the dead letters."""
    return [json.loads(letter.body) for letter in batch.letters]
