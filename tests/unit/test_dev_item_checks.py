"""`adminview dev` checks the views with the items of the source tables."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from adminview.checks.finding import Level, ModelFinding
from adminview.checks.sampled import SampleItem
from adminview.local.dev.item_checks import ItemChecks
from adminview.model import Registry
from adminview.views import registry as load_views
from tests.support.checked_app import HEAD
from tests.support.model import registry
from tests.support.written_app import written_app

NONE = frozenset[str]()
ORDERS = frozenset({"Orders"})


def finding(rule: str, message: str = "it is wrong") -> ModelFinding:
    return ModelFinding(Level.ERROR, rule, "views/a.py:1", message)


@dataclass
class Lab:
    """Checks whose items and findings are set by the test."""

    items: Sequence[SampleItem] = ()
    findings: list[ModelFinding] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    derived: int = 0

    def __post_init__(self) -> None:
        self.checks = ItemChecks(lambda _: self.items, self.lines.append, self.find)

    def find(self, _: Registry, items: Sequence[SampleItem]) -> list[ModelFinding]:
        assert items == self.items
        self.derived += 1
        return self.findings

    def look(self, sources: frozenset[str]) -> list[str]:
        """Look twice, as the first look only sees that something changes."""
        del self.lines[:]
        self.checks.look(registry(), sources)
        assert self.lines == []
        self.checks.look(registry(), sources)
        return self.lines


def items(number: int = 2) -> list[SampleItem]:
    return [SampleItem(registry().sources[0], {"id": {"S": str(n)}}) for n in range(number)]


def test_each_finding_is_printed_once_and_an_accidental_one_is_a_warning() -> None:
    lab = Lab(items(), [finding("impure"), finding("pattern"), finding("empty-index")])
    assert lab.look(NONE) == [
        "checked the views with 2 items of the source tables:",
        "views/a.py:1: error: it is wrong",
        "views/a.py:1: warning: it is wrong",
        "views/a.py:1: warning: it is wrong",
    ]
    assert lab.look(ORDERS) == []
    lab.findings[1] = finding("pattern", "it is wrong, as another item shows")
    assert lab.look(NONE) == []
    lab.findings = [finding("join", "it is new")]
    assert lab.look(ORDERS)[1:] == ["views/a.py:1: warning: it is new"]
    lab.findings = [finding("impure")]
    assert lab.look(NONE)[1:] == ["views/a.py:1: error: it is wrong"], "it was gone"


def test_what_dead_letters_show_is_not_repeated() -> None:
    assert Lab(items(), [finding("view"), finding("unreached-view")]).look(NONE) == []


def test_a_view_without_items_is_named_before_what_that_may_explain() -> None:
    findings = [finding("pattern"), finding("unreached-view", "it has no items")]
    assert Lab(items(), findings).look(NONE)[1:] == [
        "views/a.py:1: warning: it has no items",
        "views/a.py:1: warning: it is wrong",
    ]
    findings[1] = replace(findings[1], place="views/b.py:1")
    assert Lab(items(), findings).look(NONE)[1:] == ["views/a.py:1: warning: it is wrong"]


WRONG = """
wrong = AccessPattern("wrong", partition="PETS#{id}")
old = AccessPattern("old", partition="OLD#{id}", joins=[Join("new", partition="{PK}", sort="NEW")])


@view(pets)
def pet(item):
    yield Row(key("PET", item["id"]), "DETAILS", data=item["data"])


@view(pets, where={"age": "old"})
def aged(item):
    yield Row(key("OLD", item["id"]), item["failing"])
"""


def test_a_failing_item_does_not_hide_what_the_other_items_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with written_app(tmp_path, monkeypatch) as app:
        app.write("views/pets.py", HEAD + WRONG)
        model = load_views()
        pets = model.sources[0]
        good: dict[str, Any] = {"id": {"S": "p-1"}, "data": {"M": {}}}
        failing: list[dict[str, Any]] = [{"id": {"S": "p-2"}}, good | {"age": {"S": "old"}}]
        lines: list[str] = []
        checks = ItemChecks(
            lambda _: [SampleItem(pets, each) for each in [*failing, good]], lines.append
        )
        for _ in range(2):
            checks.look(model, NONE)
        where = [app.line("views/pets.py", text) for text in ("def aged", "wrong =", "old =")]
    assert lines[0] == "checked the views with 3 items of the source tables:"
    texts = (
        "view 'aged' derived no row, because items of source 'Pets' fail",
        "pattern 'wrong' can return no",
        "pattern 'old' can return no",
    )
    for line, place, text in zip(lines[1:], where, texts, strict=True):
        assert line.startswith(f"{place}: warning: ")
        assert text in line


def test_rows_are_derived_again_only_when_the_model_or_its_sources_change() -> None:
    lab = Lab(items())
    for sources, derived in ((NONE, 1), (NONE, 1), (ORDERS, 2), (ORDERS, 2)):
        lab.look(sources)
        assert lab.derived == derived


def test_nothing_is_derived_without_items() -> None:
    lab = Lab([], [finding("pattern")])
    assert lab.look(NONE) == []
    assert lab.derived == 0
