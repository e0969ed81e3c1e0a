"""Check the view files with the items of the source tables as a sample."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from adminview.aws.attribute_codec import from_boto3
from adminview.checks.finding import Level, ModelFinding
from adminview.checks.sampled import FAILED, SampleItem, file_of, sample_findings
from adminview.local.dev.rebuild import count
from adminview.model import Registry

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

MOST_ITEMS: Final = 100  # of each source
UNREACHED: Final = "unreached-view"  # a view without items is no mistake
FIND: Final = partial(sample_findings, despite_failures=True)
IMPURE: Final = "impure"  # shown by one item; other findings may end when there are more items


def read_sample(client: "DynamoDBClient", model: Registry) -> list[SampleItem]:
    """Read the first items of each source table."""
    return [
        SampleItem(source, from_boto3(item))
        for source in model.sources
        for item in client.scan(TableName=source.name, Limit=MOST_ITEMS, ConsistentRead=True)[
            "Items"
        ]
    ]


@dataclass(slots=True)
class ItemChecks:
    """Prints findings when they appear: after a reload, or when a source gets its first items."""

    read: Callable[[Registry], Sequence[SampleItem]]
    say: Callable[[str], None]
    find: Callable[[Registry, Sequence[SampleItem]], Sequence[ModelFinding]] = FIND
    _seen: object = None  # the model and its sources at the previous look
    _checked: object = None
    _printed: frozenset[tuple[str, ...]] = frozenset()

    def look(self, model: Registry, sources: frozenset[str]) -> None:
        """Check *model* once it and the *sources* that sent records stay the same for a look.

        Raises the error of a sample that cannot be read or derived.
        """
        state = (model.fingerprint, sources)
        is_settled, self._seen = state == self._seen, state
        if not is_settled or state == self._checked:
            return
        self._checked = state
        if items := self.read(model):
            self._print(self.find(model, items), len(items))

    def repeat(self) -> None:
        """Check the same model again at the next look."""
        self._checked = None

    def _print(self, findings: Sequence[ModelFinding], number: int) -> None:
        # A view that fails has dead letters.
        mistakes = [each for each in findings if each.rule not in {FAILED, UNREACHED}]
        # That a view has no items may explain the others in its file, so it comes before them.
        files = {file_of(each.place) for each in mistakes}
        unreached = [each for each in findings if each.rule == UNREACHED]
        shown = [each for each in unreached if file_of(each.place) in files] + mistakes
        fresh = [finding for finding in shown if _name_of(finding) not in self._printed]
        self._printed = frozenset(map(_name_of, shown))
        if fresh:
            self.say(f"checked the views with {count(number, 'item')} of the source tables:")
        for finding in fresh:
            self.say(
                str(finding if finding.rule == IMPURE else replace(finding, level=Level.WARNING))
            )


def _name_of(finding: ModelFinding) -> tuple[str, ...]:
    """Return what stays the same when the finding quotes another item."""
    return finding.rule, finding.place, finding.name
