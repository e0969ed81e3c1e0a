"""The rows that a change of the views would leave behind are found in the tables."""

from collections.abc import Callable
from pathlib import Path

import pytest

from adminview.cli.model_lock.model_diff import ModelDiff
from adminview.cli.planning.sample import make_estimator, stale_row_refusals
from adminview.local.local_cloud import LocalCloud
from adminview.model import Registry
from adminview.model.row import key_of
from tests.support.view_files import load_view_file

MODEL = """
from adminview import AccessPattern, Row, Source, view

parcels = Source("Parcels", partition_key="id")
parcel = AccessPattern("parcel", partition="PARCEL#{{id}}")
carriers = AccessPattern("parcels-of-carrier", partition="CARRIER#{{name}}")


@view(parcels)
def parcel_view(item):
    yield Row(f"PARCEL#{{item['id']}}", {sort}, data=item.pick("day"))
    yield Row(f"CARRIER#{{item['carrier']}}", item["id"])
"""


@pytest.mark.parametrize(
    ("sort", "left"),
    [("f\"DAY#{item['day']}\"", {("PARCEL#1", "DETAILS")}), ('"DET" + "AILS"', set())],
)
def test_a_row_that_gets_another_key_is_found_with_the_access_pattern_that_shows_it(
    start: Callable[[Registry], LocalCloud], tmp_path: Path, sort: str, left: set[tuple[str, str]]
) -> None:
    old, new = (
        Registry.of([load_view_file(tmp_path / f"{name}.py", MODEL.format(sort=expression))])
        for name, expression in (("before", '"DETAILS"'), ("after", sort))
    )
    cloud = start(old)
    cloud.put("Parcels", {"id": "1", "day": "2025-03-01", "carrier": "ups"})
    cloud.settle()
    change = ModelDiff.between(old.description(), new.description())
    estimator = make_estimator(change, new, cloud.settings, cloud.clients.dynamodb, 100)
    stale = estimator.stale_rows("Parcels")
    assert set(map(key_of, stale)) == left
    live = {"parcel", "parcels-of-carrier"}
    refusals = stale_row_refusals({"Parcels": stale}, new.patterns, live)
    patterns = [refusal.partition(" shows")[0] for refusal in refusals]
    assert patterns == ["access pattern 'parcel'"] * len(left)
