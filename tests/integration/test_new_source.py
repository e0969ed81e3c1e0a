"""A new source is one file, which declares its rows and its access pattern."""

from collections.abc import Callable
from pathlib import Path

from adminview.local.local_cloud import LocalCloud
from adminview.model import Registry
from tests.support.model import registry
from tests.support.view_files import with_view_file

SHIPMENTS = '''
"""Shipments, by carrier."""

from adminview import AccessPattern, Index, Row, Source, number, view

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


def test_a_source_in_a_new_file_is_followed_and_queried_with_no_other_change(
    tmp_path: Path, start: Callable[[Registry], LocalCloud]
) -> None:
    model = with_view_file(tmp_path / "shipments.py", SHIPMENTS)
    assert model.pattern("heavy-shipments").parameters == {"carrier": "S", "least": "N"}
    assert model.fingerprint != registry().fingerprint

    cloud = start(model)
    for number, weight in enumerate([5, 50, 10]):
        cloud.put("Shipments", {"shipmentId": f"s{number}", "carrier": "DHL", "weight": weight})
    cloud.settle()
    rows = cloud.query("heavy-shipments", carrier="DHL", least=10)
    assert [row["PK"]["S"] for row in rows] == ["SHIPMENT#s2", "SHIPMENT#s1"]


def test_a_binary_parameter_finds_the_row_of_the_same_bytes(
    tmp_path: Path, start: Callable[[Registry], LocalCloud]
) -> None:
    text = SHIPMENTS.replace(
        'partition="carrier", sort=number("weight")', 'partition=binary("tag")'
    )
    text = text.replace('partition="{carrier}", sort_from="{least}"', 'partition="{tag}"')
    text = text.replace('by_carrier(item["carrier"], item["weight"])', 'by_carrier(item["tag"])')
    text = text.replace("number, view", "binary, view")
    cloud = start(with_view_file(tmp_path / "tagged.py", text))
    cloud.put("Shipments", {"shipmentId": "s", "tag": b"\x00\xff"})
    cloud.settle()
    assert len(cloud.query("heavy-shipments", tag=b"\x00\xff")) == 1
    assert cloud.query("heavy-shipments", tag=b"\x00") == []
