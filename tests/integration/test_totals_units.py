"""An update of a total takes the write units that were predicted of it."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from adminview.aws.attribute_codec import for_boto3, from_boto3
from adminview.local.engines import EngineName
from adminview.local.local_cloud import LocalCloud
from adminview.model import Registry
from adminview.model.row import VIEW_TABLE
from adminview.model.total import RANKING, totals_table
from adminview.model.write_units import write_units
from adminview.totals.changes import GroupChange
from adminview.totals.position import position_name
from adminview.totals.units import AT, SEQUENCE, total_item, update_units
from adminview.totals.update import GroupUpdate, key_of_group
from tests.support import totals_views
from tests.support.write_meter import Meter

# moto counts no capacity.
pytestmark = pytest.mark.parametrize("engine", [EngineName.DYNAMODB_LOCAL], indirect=True)

TABLE = totals_table(VIEW_TABLE)
ONE = Decimal(1)


@pytest.fixture
def cloud(start: Callable[[Registry], LocalCloud]) -> LocalCloud:
    return start(Registry.of([totals_views]))


def update(cloud: LocalCloud, group: tuple[str, str], amounts: dict[str, Decimal]) -> Any:
    change = GroupChange(SEQUENCE * 10, AT, 0, amounts)
    request = GroupUpdate(group, position_name("0"), [change]).request(TABLE)
    values = for_boto3(request["ExpressionAttributeValues"])
    return cloud.clients.dynamodb.update_item(**request | {"ExpressionAttributeValues": values})


@pytest.mark.parametrize("ranked", [False, True])
@pytest.mark.parametrize(("positions", "table"), [(1, 1), (30, 1), (60, 2), (200, 5)])
def test_an_update_takes_what_its_positions_and_its_rank_take(
    cloud: LocalCloud,
    positions: int,
    table: int,
    ranked: bool,  # noqa: FBT001
) -> None:
    amounts = {"count": ONE, "revenue": ONE} | ({"rank": ONE} if ranked else {})
    group = ("ProductSales.1", "eggs")
    item = total_item(group, amounts, positions)
    dynamodb = cloud.clients.dynamodb
    dynamodb.put_item(TableName=TABLE, Item=for_boto3(item))
    meter = Meter(dynamodb, TABLE)
    after = from_boto3(update(cloud, group, amounts)["Attributes"])
    taken = meter.read()
    assert taken == write_units(item, after, [RANKING])
    assert taken == update_units(group, amounts, positions)
    assert (taken.table, taken.total - taken.table) == (table, 2 if ranked else 0)


def test_a_first_update_takes_one_unit_more_for_its_rank(cloud: LocalCloud) -> None:
    meter = Meter(cloud.clients.dynamodb, TABLE)
    group = ("ProductSales.1", "tea")
    after = from_boto3(update(cloud, group, {"count": ONE, "rank": ONE})["Attributes"])
    taken = meter.read()
    assert taken == write_units(None, after, [RANKING])
    assert (taken.table, taken.total) == (1, 2)
    stored = cloud.clients.dynamodb.get_item(TableName=TABLE, Key=key_of_group(group))
    assert stored["Item"]["count"] == {"N": "1"}
