"""What a batch of records comes to, for tests to look at."""

import json
from typing import Any

from adminview.model import Registry
from adminview.sync.decode import routes
from adminview.sync.plan import Batch
from tests.support.fakes import planned
from tests.support.model import registry


def prepared(*records: dict[str, Any], model: Registry | None = None) -> Batch:
    """Work a batch out, for the shop if not told otherwise."""
    return planned(records, routes(model or registry(), {}), "model-1")


def written(batch: Batch) -> dict[tuple[str, str], bool]:
    """Say which rows are put (True) and which deleted (False)."""
    return {write.key: write.row is not None for write in batch.writes}


def letters(batch: Batch) -> list[dict[str, Any]]:
    """Open the letters."""
    return [json.loads(letter.body) for letter in batch.letters]
