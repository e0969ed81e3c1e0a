"""Check with sample items that templates match rows, and that views always yield the same rows.

The rows are derived in separate processes, under several conditions. A template that no row of the
sample can match is an error: correct it, or add an item to the sample.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

from adminview.checks.conditions import OTHERS, USUAL, Conditions
from adminview.checks.finding import Level, ModelFinding
from adminview.model import AccessPattern, Join, Registry, Source, Total, View
from adminview.model.attribute import PK, SK
from adminview.model.errors import AdminViewError
from adminview.model.key_condition import BEGINS, EQUAL
from adminview.model.places import place, place_of_declaration
from adminview.model.row import OWNER_INDEX, Attributes
from adminview.model.template import any_value
from adminview.preview import contributions

WORKER: Final = (sys.executable, "-m", "adminview.checks.derive_sample")
AT_LINE: Final = re.compile(r" at (?P<module>\S+?)(?::(?P<line>\d+))?$")
EXAMPLES: Final = 3  # values in a message
TWICE: Final = "twice"
JOIN: Final = "join"  # the rule that a join can find a row
FAILED: Final = "view"  # the rule that a view derives each item
Outcome: TypeAlias = dict[str, Any]  # rows by view, or an error and its place
Outcomes: TypeAlias = list[tuple[Outcome, Outcome]]  # of each item, derived twice


class CheckError(AdminViewError):
    """The sample cannot be derived."""


@dataclass(frozen=True, slots=True)
class SampleItem:
    """An item of a sample, in DynamoDB JSON."""

    source: Source
    image: Attributes

    @property
    def owner(self) -> str:
        return self.source.owner(self.image)


def sample_findings(
    model: Registry, items: Sequence[SampleItem], *, despite_failures: bool = False
) -> list[ModelFinding]:
    """Derive *items* and return what is wrong with the views, indexes and access patterns.

    If a view fails, templates, indexes and totals are not compared with the rows. With
    *despite_failures*, they are compared with the rows of the other items. *model* must be the
    app's model, because the other processes load that one.
    """
    with ThreadPoolExecutor() as threads:
        conditions = [USUAL, *OTHERS.values()]
        usual, *others = threads.map(partial(_derive, items, model.fingerprint), conditions)
    first = [outcome for outcome, _ in usual]
    by_condition = dict(zip(OTHERS, others, strict=True))
    again = [
        {TWICE: second, **{words: run[position][0] for words, run in by_condition.items()}}
        for position, (_, second) in enumerate(usual)
    ]
    rows = [
        row
        for outcome in first
        for derived in outcome.get("rows", {}).values()
        for row in derived.values()
    ]
    failures = [*_failures(items, first)]
    findings = [*failures, *_impure(model, items, first, again)]
    derived_items = [*zip(items, first, strict=True)]
    failing: set[Source] = set()
    if despite_failures:
        failing = {item.source for item, out in derived_items if "error" in out}
        derived_items = [(item, out) for item, out in derived_items if "error" not in out]
    unreached = [*_unreached(model, derived_items, failing)]
    findings += unreached
    if failures and not despite_failures:
        return findings  # without the rows of an item, others would only follow from its failure
    unmet = [*_unfilled(model, rows), *_unmatched(model, rows, all_reached=not unreached)]
    if failures:  # the rows that a join finds may be those of the items that fail
        unmet = [finding for finding in unmet if finding.rule != JOIN]
    return [*findings, *_in_reached_files(model, unreached, unmet)]


def _derive(items: Sequence[SampleItem], model: str, conditions: Conditions) -> Outcomes:
    request = {
        "conditions": conditions.data(),
        "items": [(item.source.name, item.image) for item in items],
    }
    path = {
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "PYTHONDONTWRITEBYTECODE": "1",  # a check leaves no files in the app
    }
    done = subprocess.run(  # noqa: S603 - ours
        WORKER,
        check=False,
        capture_output=True,
        text=True,
        input=json.dumps(request),
        env=os.environ | path | conditions.environment(),
    )
    if done.returncode:
        msg = f"the rows of the sample cannot be derived:\n{done.stderr.strip()}"
        raise CheckError(msg)
    derived = json.loads(done.stdout)
    if derived["model"] != model:
        msg = "a view file has changed meanwhile: check again"
        raise CheckError(msg)
    outcomes: Outcomes = derived["outcomes"]
    return outcomes


def _failures(items: Sequence[SampleItem], outcomes: Sequence[Outcome]) -> Iterator[ModelFinding]:
    """Yield a finding for each line of a view that fails, with the first item."""
    failed: dict[tuple[str, str], list[str]] = {}
    for item, outcome in zip(items, outcomes, strict=True):
        if "error" in outcome:
            failed.setdefault((outcome["place"], outcome["error"]), []).append(item.owner)
    for (where, text), owners in failed.items():
        more = f" and {len(owners) - 1} more" if len(owners) > 1 else ""
        yield ModelFinding(Level.ERROR, FAILED, _file(where), f"{text}; item {owners[0]}{more}")


def _file(where: str) -> str:
    """Turn the place of a view's error, `view 'order' at lambdas.views.orders:12`, into a file."""
    match = AT_LINE.search(where)
    module = sys.modules.get(match["module"]) if match else None
    if match is None or module is None:
        return ""
    return place(str(module.__file__), int(match["line"] or 1))


def _impure(
    model: Registry,
    items: Sequence[SampleItem],
    first: Sequence[Outcome],
    again: Sequence[Mapping[str, Outcome]],
) -> Iterator[ModelFinding]:
    """Yield a finding for each view whose rows differ, with the first condition that shows it."""
    reported: set[View] = set()
    for words in (TWICE, *OTHERS):
        for item, expected, others in zip(items, first, again, strict=True):
            other = others[words]
            if "error" in expected or "error" in other:
                if expected.get("error") != other.get("error"):
                    text = other.get("error") or expected.get("error")
                    where = other.get("place") or expected.get("place", "")
                    message = f"item {item.owner} fails only when it is derived {words}: {text}"
                    yield ModelFinding(Level.ERROR, "impure", _file(where), message)
                continue
            for position, view in enumerate(model.views_of(item.source)):
                rows, differing = (run["rows"].get(str(position)) for run in (expected, other))
                if rows != differing and view not in reported:
                    reported.add(view)
                    message = (
                        f"view {view.name!r} is impure: its rows differ when the same item is "
                        f"derived {words}; item {item.owner}, {_difference(rows, differing)}"
                    )
                    where = place_of_declaration(view, model.modules)
                    yield ModelFinding(Level.ERROR, "impure", where, message, view.name)


def _difference(rows: dict[str, Any] | None, others: dict[str, Any] | None) -> str:
    """Name the first row that differs, and its attribute if both have the row."""
    rows, others = rows or {}, others or {}
    for key in sorted({*rows, *others}):
        if key not in rows or key not in others:
            return f"row {key} is not always derived"
        if rows[key] != others[key]:
            return f"row {key}, attribute {'.'.join(_path(rows[key], others[key]))}"
    return "which it does not always apply to"


def _path(value: Attributes, other: Attributes) -> Iterator[str]:
    """Yield the names of the attributes that lead to the first difference."""
    for name in sorted({*value, *other}):
        inner, differing = value.get(name), other.get(name)
        if inner != differing:
            yield name
            if inner and differing and "M" in inner and "M" in differing:
                yield from _path(inner["M"], differing["M"])
            return


def _unreached(
    model: Registry, items: Sequence[tuple[SampleItem, Outcome]], failing: Collection[Source]
) -> Iterator[ModelFinding]:
    """Yield a warning for each view that applies to no item, or has items that are *failing*."""
    reached = {
        model.views_of(item.source)[int(position)]
        for item, outcome in items
        for position in outcome.get("rows", {})
    }
    failed = {item.source for item, outcome in items if "error" in outcome}
    for view in model.views:
        if view not in reached and view.source not in failed:
            why = (
                f"derived no row, because items of source {view.source.name!r} fail"
                if view.source in failing
                else "applies to no item of the sample"
            )
            message = f"view {view.name!r} {why}, so it is not checked"
            where = place_of_declaration(view, model.modules)
            yield ModelFinding(Level.WARNING, "unreached-view", where, message, view.name)


def _in_reached_files(
    model: Registry, unreached: Iterable[ModelFinding], findings: Iterable[ModelFinding]
) -> Iterator[ModelFinding]:
    """Leave out findings in files none of whose views applies to an item."""
    missed = {finding.place for finding in unreached}
    places = {place_of_declaration(view, model.modules) for view in model.views}
    skipped = {*map(file_of, missed)} - {*map(file_of, places - missed)} - {""}
    return (finding for finding in findings if file_of(finding.place) not in skipped)


def file_of(place: str) -> str:
    return place.rpartition(":")[0]


def _unfilled(model: Registry, rows: Sequence[Attributes]) -> Iterator[ModelFinding]:
    """Yield indexes without an entry, and totals without a contribution."""
    for index in model.indexes:
        if index is OWNER_INDEX or any(_is_in(row, index.stored_key) for row in rows):
            continue
        names = [pattern.name for pattern in model.patterns if pattern.index is index]
        message = (
            f"no row of the sample is in index {index.name!r}{_useless(names)}; "
            "give rows an entry in it, or add an item to the sample"
        )
        where = place_of_declaration(index, model.modules)
        yield ModelFinding(Level.ERROR, "empty-index", where, message, index.name)
    filled = {total.name for row in rows for total, _ in contributions(row, model)}
    for total in model.totals:
        if total.name not in filled:
            names = [pattern.name for pattern in model.patterns if pattern.total is total]
            message = (
                f"no row of the sample contributes to total {total.name!r}{_useless(names)}; "
                "let rows contribute to it, or add an item to the sample"
            )
            where = place_of_declaration(total, model.modules)
            yield ModelFinding(Level.ERROR, "empty-total", where, message, total.name)


def _is_in(row: Attributes, key: Sequence[Any]) -> bool:
    return all(attribute.name in row for attribute in key)


def _useless(patterns: Sequence[str]) -> str:
    return f", so {', '.join(patterns)} would return nothing" if patterns else ""


def _unmatched(
    model: Registry, rows: Sequence[Attributes], *, all_reached: bool
) -> Iterator[ModelFinding]:
    """Yield access patterns and joins whose templates no row can match.

    Unless all views apply to an item, the sample may lack the rows that a join finds.
    """
    groups: dict[str, list[Attributes]] = {}
    for row in rows:
        for total, group in contributions(row, model):
            groups.setdefault(total.name, []).append(group)
    for pattern in model.patterns:
        where = place_of_declaration(pattern, model.modules)
        candidates = _candidates(pattern, rows, groups)
        if candidates and (problem := _mismatch(pattern, candidates)):
            message = f"access pattern {pattern.name!r} can return no row of the sample: {problem}"
            yield ModelFinding(Level.ERROR, "pattern", where, message, pattern.name)
        for join in pattern.joins:
            if rows and not any(_fits_join(join, row) for row in rows):
                message = (
                    f"join {join.name!r} of access pattern {pattern.name!r} can find no row of the "
                    f"sample: no row has a PK like {join.partition!r} and an SK like {join.sort!r}"
                    "; correct the join, or add an item with such a row to the sample"
                )
                level = Level.ERROR if all_reached else Level.WARNING
                yield ModelFinding(level, JOIN, where, message, pattern.name)


def _candidates(
    pattern: AccessPattern, rows: Sequence[Attributes], groups: Mapping[str, list[Attributes]]
) -> Sequence[Attributes]:
    """Return the rows in a pattern's index, or the groups of its total.

    The result is empty if the index or total was reported already.
    """
    if isinstance(pattern.total, Total):
        return groups.get(pattern.total.name, [])
    key = pattern.index.stored_key if pattern.index else ()
    return [row for row in rows if _is_in(row, key)]


def _mismatch(pattern: AccessPattern, candidates: Sequence[Attributes]) -> str:
    """Return the condition that no row fits, with values of the rows that fit the others."""
    comparisons = pattern.comparisons
    fitting = [pattern.fitting(row) for row in candidates]
    if (most := max(fitting)) == len(comparisons):
        return ""
    wanted = comparisons[most]
    name = wanted.attribute.name
    values = dict.fromkeys(
        str(row[name]["S"]) for row, fits in zip(candidates, fitting, strict=True) if fits == most
    )
    examples = ", ".join(map(repr, list(values)[:EXAMPLES]))
    more = " …" if len(values) > EXAMPLES else ""
    verb = {EQUAL: "is", BEGINS: "begins with"}.get(wanted.operator, "is in the range")
    templates = " to ".join(map(repr, wanted.templates))
    near = " of the rows that fit its other conditions" if most else ""
    return f"it expects that {name} {verb} {templates}, but {name}{near} is {examples}{more}"


def _fits_join(join: Join, row: Attributes) -> bool:
    return all(
        re.fullmatch(any_value(template), row[name]["S"], re.DOTALL)
        for name, template in ((PK.name, join.partition), (SK.name, join.sort))
    )
