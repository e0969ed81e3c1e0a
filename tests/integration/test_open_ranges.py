"""Without an optional parameter, a range with two ends stays within the text before it."""

from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from adminview import AccessPattern, Item, Registry, Row, Source, view
from adminview.testing import local_view

venues = Source("Venues", partition_key="pk", sort_key="sk")
CONCERTS: dict[str, Any] = {"partition": "VENUE#{venue}", "shows": ()}
between = AccessPattern(
    "between",
    sort_between=("CONCERT#{start}", "CONCERT#{end}"),
    optional=["start", "end"],
    **CONCERTS,
)
since = AccessPattern("since", sort_from="CONCERT#{start}", optional=["start"], **CONCERTS)
begins = AccessPattern("begins", sort_begins="CONCERT#{day}", optional=["day"], **CONCERTS)
braces = AccessPattern(
    "braces", sort_between=("{{{start}", "{{{end}"), optional=["start", "end"], **CONCERTS
)
plain = AccessPattern(
    "plain", sort_between=("{start}", "{end}"), optional=["start", "end"], **CONCERTS
)


@view(venues)
def venue(item: Item) -> Iterator[Row]:
    yield Row(item["pk"], item["sk"])


@pytest.mark.parametrize(
    ("pattern", "bounds", "sort_keys"),
    [
        ("between", {}, ["CONCERT#1", "CONCERT#2", "CONCERT#3"]),
        ("between", {"start": "2"}, ["CONCERT#2", "CONCERT#3"]),
        ("between", {"end": "2"}, ["CONCERT#1", "CONCERT#2"]),
        ("between", {"start": "2", "end": "2"}, ["CONCERT#2"]),
        ("since", {}, ["AGENT#1", "CONCERT#1", "CONCERT#2", "CONCERT#3", "INFO", "{9"]),
        ("since", {"start": "2"}, ["CONCERT#2", "CONCERT#3", "INFO", "{9"]),
        ("begins", {}, ["CONCERT#1", "CONCERT#2", "CONCERT#3"]),
        ("braces", {}, ["{9"]),
        ("braces", {"start": "8"}, ["{9"]),
        ("plain", {"start": "D"}, ["INFO", "{9"]),
        ("plain", {}, ["AGENT#1", "CONCERT#1", "CONCERT#2", "CONCERT#3", "INFO", "{9"]),
    ],
)
def test_an_open_end_finds_no_rows_with_another_text(
    pattern: str, bounds: dict[str, str], sort_keys: list[str]
) -> None:
    module = ModuleType("model")
    patterns = {each.name: each for each in (between, since, begins, braces, plain)}
    module.__dict__.update(venues=venues, venue=venue, **patterns)
    with local_view(replace(Registry.of([module]), modules=())) as local:
        for sort in ("INFO", "AGENT#1", "CONCERT#1", "CONCERT#2", "CONCERT#3", "{9"):
            local.put(venues, {"pk": "VENUE#1", "sk": sort})
        rows = local.query(pattern, venue="1", **bounds)
    assert [row["SK"] for row in rows] == sort_keys
