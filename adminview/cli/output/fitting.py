"""Fit the columns of a table to a terminal."""

from collections.abc import Sequence
from typing import Final

from adminview.cli.output.grid import KEY

EDGES, GAP = 2, 3  # spaces around a table, and between two columns
NARROW: Final = 10  # a column with more than this is shortened to this, or to its header
NARROWEST: Final = 4  # for columns that somebody named


def fit(
    columns: Sequence[str],
    headers: Sequence[int],
    natural: Sequence[int],
    width: int,
    *,
    all_columns: bool,
) -> list[int]:
    """Return the widths of the leading columns that fit, of which there is at least one.

    *headers* and *natural* are the widths of headers and of whole columns. Keys keep their width,
    unless they alone are too wide. Other columns get what they need or an equal share of the rest.
    With *all_columns*, no column is left out; each becomes as narrow as it must.
    """
    keys = [name in KEY for name in columns]
    floors = [
        whole if key else min(whole, NARROWEST if all_columns else max(header, NARROW))
        for key, header, whole in zip(keys, headers, natural, strict=True)
    ]
    count = len(columns)
    if not all_columns:
        first = max(1, sum(keys))
        while count > first and _total(floors[:count]) > width:
            count -= 1
    room = width - _total([0] * count)
    if sum(floors[:count]) > room:  # the keys alone are too wide
        floors = [min(floor, NARROWEST) for floor in floors]
    return _share(floors[:count], natural[:count], room)


def _share(floors: Sequence[int], natural: Sequence[int], room: int) -> list[int]:
    """Widen columns from their floors until all are whole, or the room is used."""
    widths, spare = [*floors], max(0, room - sum(floors))
    needs = sorted(range(len(floors)), key=lambda at: natural[at] - floors[at])
    for done, at in enumerate(needs):
        more = min(natural[at] - floors[at], spare // (len(needs) - done))
        widths[at] += more
        spare -= more
    return widths


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + EDGES + GAP * (len(widths) - 1)
