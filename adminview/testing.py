"""For the tests of an app: the rows of one item, and a view on the embedded engine."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from adminview.aws.attribute_codec import for_boto3, from_boto3
from adminview.aws.settings import ITEMS_FILE
from adminview.item_files import line_of
from adminview.local.engines import moto_engine
from adminview.local.local_cloud import LocalCloud
from adminview.model import Registry, Source
from adminview.model.dead_letter import AnyLetter, InDoubtLetter, RecordLetter, from_json
from adminview.model.errors import (
    AdminViewError,
    DeclarationError,
    RecordError,
    kind_of,
    reason_of,
)
from adminview.model.item import Image, to_python
from adminview.model.row import Attributes
from adminview.preview import contributions, derive_with_text, encode_item
from adminview.query.plain_rows import PlainRow, RowDecoder
from adminview.views import registry


class DeadLetteredError(AdminViewError):
    """Items were dead-lettered, so rows are missing. The message names items, views and errors."""


def rows_of(
    source: Source, item: Mapping[str, object], views: Registry | None = None
) -> list[PlainRow]:
    """Return the rows of one item as plain Python: `PK`, `SK`, index keys and `data`.

    A row that contributes to totals also has `totals`, with the name of the total, the values of
    the group, the count and the amounts of each contribution.

    *views* defaults to the app's. Raises a RecordError that names the view, its line and the error
    if the view fails, and an UnreadableRecordError if the item's key is not as declared.
    """
    model = views or registry()
    _check_source(source, model)
    image = encode_item(item)
    source.key_of(image)
    try:
        derived = derive_with_text(model.views_of(source), image).rows
    except RecordError as error:
        error.args = (reason_of(error),)
        error.place = ""  # the text has it
        raise
    if views is None:
        _record(source, image)
    decoder = RowDecoder(model)
    return [decoder.row(row) | _totals(row, model) for row in derived.values()]


def _totals(row: Attributes, model: Registry) -> PlainRow:
    added = [
        {"total": total.name, **to_python({"M": group})}
        for total, group in contributions(row, model)
    ]
    return {"totals": added} if added else {}


@dataclass(frozen=True, slots=True)
class LocalView:
    """Source tables and AdminViewTable on the embedded engine, with the real sync between them."""

    cloud: LocalCloud
    _dead_letters: list[dict[str, str]] = field(default_factory=list, init=False, repr=False)

    def put(self, source: Source, item: Mapping[str, object]) -> None:
        """Write an item to its source table."""
        _check_source(source, self.cloud.registry)
        image = encode_item(item)
        source.key_of(image)
        if os.environ.get(ITEMS_FILE) and self.cloud.registry is registry():
            with suppress(RecordError):  # an item that fails is no sample
                derive_with_text(self.cloud.registry.views_of(source), image)
                _record(source, image)
        self.cloud.put(source.name, dict(item))

    def delete(self, source: Source, key: Mapping[str, object]) -> None:
        """Delete an item from its source table."""
        _check_source(source, self.cloud.registry)
        if not isinstance(key, Mapping):
            names = ", ".join(f"{attribute.name!r}: …" for attribute in source.key)
            msg = f"the key must be a dict of the key attributes: {{{names}}}"
            raise TypeError(msg)
        source.key_of(encode_item(key))
        self.cloud.delete(source.name, dict(key))

    def query(self, pattern: str, /, **parameters: object) -> list[PlainRow]:
        """Sync every change made so far, and return the rows of an access pattern.

        If the access pattern has joins, each row has its joined rows by name under `joined`: None
        for one that does not exist. Raises a DeadLetteredError if an item was dead-lettered, until
        `dead_letters` returns it.
        """
        __tracebackhide__ = True  # pytest ends the traceback at the test's line
        self._sync()
        if self._dead_letters:
            lines = [f"  {letter['item']}: {letter['reason']}" for letter in self._dead_letters]
            msg = "\n".join(["dead-lettered, so rows are missing:", *lines, EXPECTED])
            raise DeadLetteredError(msg)
        results = list(self.cloud.query_engine.rows(pattern, **parameters))
        shows = self.cloud.registry.pattern(pattern).shows
        decoder = RowDecoder(self.cloud.registry)
        return [decoder.result(result, shows) for result in results]

    def dead_letters(self) -> list[dict[str, str]]:
        """Sync every change made so far, and return the dead letters since the last call.

        Each has `item`, `error` (the class of the error) and `reason`. `query` no longer raises
        for them.
        """
        self._sync()
        taken = list(self._dead_letters)
        self._dead_letters.clear()
        return taken

    def _sync(self) -> None:
        self.cloud.settle()
        for body in self.cloud.letter_bodies():
            self._dead_letters.append(self._describe(from_json(body)))

    def _describe(self, letter: AnyLetter) -> dict[str, str]:
        item = letter.owner if isinstance(letter, RecordLetter) else None
        if isinstance(letter, InDoubtLetter):
            item = ", ".join(touched.owner or "?" for touched in letter.items)
        return {
            "item": item or "unknown",
            "error": letter.error.kind,
            "reason": self._reason(letter) or letter.error.reason,
        }

    def _reason(self, letter: AnyLetter) -> str:
        """Derive the rows of the item again: a dead letter does not have the text of the error."""
        if not isinstance(letter, RecordLetter) or not letter.source or not letter.key:
            return ""
        answer = self.cloud.clients.dynamodb.get_item(
            TableName=letter.source, Key=for_boto3(dict(letter.key)), ConsistentRead=True
        )
        views = self.cloud.registry.views_of(self.cloud.registry.source(letter.source))
        try:
            if "Item" in answer:
                derive_with_text(views, from_boto3(answer["Item"]))
        except RecordError as error:
            return reason_of(error) if kind_of(error) == letter.error.kind else ""
        return ""


EXPECTED = "If the test expects this, take the dead letters first: view.dead_letters()"


@contextmanager
def local_view(views: Registry | None = None) -> Iterator[LocalView]:
    """Yield a view on an embedded engine with the tables of *views*, by default the app's."""
    with moto_engine() as engine:
        cloud = LocalCloud.start(engine, views or registry())
        try:
            yield LocalView(cloud)
        finally:
            cloud.stop()


def _record(source: Source, image: Image) -> None:
    """Append an item to the file that ADMINVIEW_ITEMS_FILE names, for `adminview check`."""
    if file := os.environ.get(ITEMS_FILE):
        with Path(file).open("a", encoding="utf-8") as lines:
            lines.write(line_of(source.name, image) + "\n")


def _check_source(source: object, views: Registry) -> None:
    """Raise an error unless *source* is a Source that a view file declares."""
    if not isinstance(source, Source):
        msg = f"the source must be a Source, as a view file declares it, not {source!r}"
        raise TypeError(msg)
    if source not in views.sources:
        names = ", ".join(sorted(declared.name for declared in views.sources))
        msg = f"no view file declares source {source.name!r}; declared are {names}"
        raise DeclarationError(msg)
