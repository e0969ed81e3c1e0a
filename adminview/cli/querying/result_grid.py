"""The columns of a query's rows."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from adminview.cli.output.data_order import DataOrder
from adminview.cli.output.grid import KEY, PREFIX, Grid
from adminview.http_api.render import Order, Renderer
from adminview.model import AccessPattern, Registry
from adminview.model.row import DATA
from adminview.model.total import AVERAGE, COUNT
from adminview.query.engine import ResultRow


def result_grid(model: Registry, pattern: AccessPattern, results: Sequence[ResultRow]) -> Grid:
    """Return every column of a result: keys, data, data of the joined rows, index keys."""
    renderer = Renderer(model)
    records = [_record(renderer.answered(result, pattern.shows)) for result in results]
    return Grid.of(records, _order(model, pattern))


def table_grid(model: Registry, pattern: AccessPattern, results: Sequence[ResultRow]) -> Grid:
    """Return the columns of a table: without keys of indexes, unless they are all that is shown.

    Rows of totals have no keys.
    """
    return for_table(result_grid(model, pattern, results), pattern)


def for_table(grid: Grid, pattern: AccessPattern) -> Grid:
    maps = (PREFIX, *(f"{join.name}." for join in pattern.joins))
    shown = {join.name for join in pattern.joins} | (set() if pattern.total else {*KEY})
    if pattern.index and not pattern.total and not pattern.shows:
        shown |= {attribute.name for attribute in pattern.index.entry_key}
    return grid.without(
        {name for name in grid.columns if name not in shown and not name.startswith(maps)}
    )


def _record(rendered: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of a row: keys, data, data of the joined rows, index keys."""
    joined = {name: row and row["data"] for name, row in rendered["joined"].items()}
    data = {} if rendered["data"] is None else {DATA: rendered["data"]}
    return {**rendered["key"], **data, **joined, **rendered["index"]}


def _order(model: Registry, pattern: AccessPattern) -> Order:
    """Order the data of rows as in the view files, and that of totals as they are declared."""
    written = DataOrder.of(model).columns
    if not (total := pattern.total):
        return written
    declared = [attribute.name for attribute in total.group] + [COUNT]
    for sum_ in total.sums:
        declared += [sum_.name, AVERAGE + sum_.name]

    def order(rows: Iterable[Collection[str]]) -> list[str]:
        rows = [*rows]
        names = {name for row in rows for name in row}
        return declared if names == {*declared} else written(rows)

    return order
