"""For the tests of an app: the rows of one item, and a view on the embedded engine."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from adminview.local.engines import moto_engine
from adminview.local.local_cloud import LocalCloud
from adminview.model import Registry, Source
from adminview.model.item import encode, to_python
from adminview.model.limits import ROW_LIMIT
from adminview.model.row import Attributes
from adminview.sync.derive import derive
from adminview.views import registry


def rows_of(
    source: Source, item: Mapping[str, object], views: Registry | None = None
) -> list[dict[str, Any]]:
    """Return the rows of one item as plain Python: `PK`, `SK`, index keys and `data`.

    *views* defaults to the app's. Raises a RecordError if a view fails.
    """
    image = {name: encode(value) for name, value in item.items()}
    derived = derive((views or registry()).views_of(source), image, room=ROW_LIMIT).rows
    return [_plain(row) for row in derived.values()]


@dataclass(frozen=True, slots=True)
class LocalView:
    """Source tables and AdminViewTable on the embedded engine, with the real sync between them."""

    cloud: LocalCloud

    def put(self, source: Source, item: Mapping[str, object]) -> None:
        """Write an item to its source table."""
        self.cloud.put(source.name, dict(item))

    def delete(self, source: Source, key: Mapping[str, object]) -> None:
        """Delete an item from its source table."""
        self.cloud.delete(source.name, dict(key))

    def query(self, pattern: str, **parameters: object) -> list[dict[str, Any]]:
        """Sync every change made so far, and return the rows of an access pattern."""
        self.cloud.settle()
        return [_plain(row) for row in self.cloud.query(pattern, **parameters)]


@contextmanager
def local_view(views: Registry | None = None) -> Iterator[LocalView]:
    """Yield a view on an embedded engine with the tables of *views*, by default the app's."""
    with moto_engine() as engine:
        cloud = LocalCloud.start(engine, views or registry())
        try:
            yield LocalView(cloud)
        finally:
            cloud.stop()


def _plain(row: Attributes) -> dict[str, Any]:
    return {name: to_python(value) for name, value in row.items() if not name.startswith("_")}
