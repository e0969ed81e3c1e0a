"""A new source is one file: its rows and its question follow."""

from collections.abc import Callable
from pathlib import Path

from cli.local_cloud import LocalCloud
from lambdas.model import Registry
from lambdas.views import registry
from tests.view_files import with_view_file

SHIPMENTS = '''
"""Shipments, by carrier."""

from lambdas.model import AccessPattern, Index, Row, Source, number, view

shipments = Source("Shipments", partition_key="shipmentId")
by_carrier = Index("ByCarrier", partition="carrier", sort=number("weight"), include=["data"])
heavy = AccessPattern(
    "heavy-shipments", index=by_carrier, partition="{carrier}", sort_from="{least}"
)


@view(shipments)
def shipment(item):
    yield Row(
        f"SHIPMENT#{item['shipmentId']}",
        "DETAILS",
        data=item.pick("shipmentId"),
        indexes=[by_carrier(item["carrier"], item["weight"])],
    )
'''


def test_a_source_in_a_new_file_is_followed_and_asked_with_no_other_change(
    tmp_path: Path, start: Callable[[Registry], LocalCloud]
) -> None:
    model = with_view_file(tmp_path / "shipments.py", SHIPMENTS)
    assert model.pattern("heavy-shipments").parameters == {"carrier": "S", "least": "N"}
    assert model.fingerprint != registry().fingerprint

    cloud = start(model)
    for number, weight in enumerate([5, 50, 10]):
        cloud.put("Shipments", {"shipmentId": f"s{number}", "carrier": "DHL", "weight": weight})
    cloud.settle()
    rows = cloud.ask("heavy-shipments", carrier="DHL", least=10)
    assert [row["PK"]["S"] for row in rows] == ["SHIPMENT#s2", "SHIPMENT#s1"]
