"""The write units that contributions cost in the totals table. Pure."""

from collections.abc import Mapping
from math import ceil
from typing import Any, Final

from adminview.model.row import Attributes
from adminview.model.total import COUNT, RANK, RANKING
from adminview.model.write_units import Units, write_units
from adminview.totals.archive import LEAST_MOVED, MOST_POSITIONS
from adminview.totals.changes import Amounts, Group, contributions
from adminview.totals.position import LIVE_HOURS, MOST_EXPIRED, encode_position, position_name
from adminview.totals.update import key_of_group

TOTALS_TABLE: Final = "the totals table"  # among the names of indexes, none of which has a space
SHARD_HOURS: Final = 4  # after which DynamoDB closes a shard of a stream
# For estimates: sequence numbers have 21 to 40 digits, and a large total has about ten.
SEQUENCE: Final = 10**25
AT: Final = 1_800_000_000.0
LARGE: Final = "1234567890"


def positions_kept(shards: int = 1) -> int:
    """Return how many positions a total has if rows in *shards* shards contribute to it.

    Each shard closes after about four hours, and its position stays until it has expired. If that
    makes too many, the total keeps those of open shards, and the archive has the others.
    """
    kept = shards * ceil(LIVE_HOURS / SHARD_HOURS) + MOST_EXPIRED
    return kept if kept <= MOST_POSITIONS else max(MOST_POSITIONS, shards + LEAST_MOVED)


def total_item(group: Group, names: Mapping[str, Any], positions: int) -> Attributes:
    """Return a large total with these amounts and this number of positions."""
    item: Attributes = {**key_of_group(group), **{name: {"N": LARGE} for name in (COUNT, *names)}}
    for number in range(positions):
        item[position_name(str(number))] = encode_position(SEQUENCE + number, AT)
    return item


def update_units(group: Group, names: Mapping[str, Any], positions: int) -> Units:
    """Return the units of one update of a total with these amounts."""
    before = total_item(group, names, positions)
    after = {**before, **({RANK: {"N": "1234567891"}} if RANK in names else {})}
    return write_units(before, after, [RANKING])


def contribution_units(
    before: Attributes | None, after: Attributes | None, positions: int | None = None
) -> Units:
    """Return the units of the updates that a change of a row causes, each on its own.

    A batch updates each group once, so changes that come together cost less.
    """
    count = positions_kept() if positions is None else positions
    removed, added = contributions(before)[0], contributions(after)[0]
    moved: dict[Group, Amounts] = {
        group: added.get(group) or removed[group]
        for group in {**removed, **added}
        if removed.get(group) != added.get(group)
    }
    units = sum(update_units(group, amounts, count).total for group, amounts in moved.items())
    return Units(0, {TOTALS_TABLE: units} if units else {})
