"""`adminview check --items-file`: impure and failing views, and templates that match no row."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.checked_app import HEAD, PET, check, sample
from tests.support.written_app import WrittenApp, written_app


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WrittenApp]:
    with written_app(tmp_path, monkeypatch) as app:
        yield app


IMPURE = """
import datetime
import os
import random
import secrets
import time
import uuid
from datetime import date, datetime as moment
from itertools import count
from random import random as chance

from adminview import Row, Source, view

pets = Source("Pets", partition_key="id")
numbers, seen = count(), []


@view(pets)
def pure(item):
    chosen = str(random.Random(7).random())
    when = moment(2025, 3, 1)
    assert isinstance(when, datetime.date) and isinstance(date(2025, 3, 1), date)
    tags = {name: when.isoformat() for name in sorted({"a", "b", "c"})}
    for name in set(tags):  # the order of rows does not matter
        yield Row("pure", name, data=tags | {"chosen": chosen})


@view(pets)
def counted(item):
    yield Row("counted", "x", data={"inner": {"n": next(numbers)}})


@view(pets)
def remembered(item):
    new = item["id"] not in seen
    seen.extend([item["id"]] * new)
    yield Row("remembered", "x", data={"place": seen.index(item["id"])})
"""
CLOCKS = (
    "str(time.time())",
    "str(time.time_ns())",
    "time.strftime('%Y')",
    "str(time.gmtime())",
    "time.ctime()",
    "str(date.today())",
    "str(moment.now())",
    "str(moment.utcnow())",
    "str(datetime.datetime.today())",
    "str(moment.fromtimestamp(0))",  # in the local time zone
    "LOADED",
)
SEEDS = (
    "str(chance())",
    "str(uuid.uuid4())",
    "os.urandom(4)",
    "secrets.token_hex()",
    "str(random.SystemRandom().random())",
    "list({'a', 'b', 'c', 'd', 'e'})",
    "hash('a')",
)
ALWAYS = ("str(time.perf_counter())", "str(random.Random().random())", "str(uuid.uuid1())")


def test_rows_that_differ_from_one_derivation_to_the_next_are_errors(app: WrittenApp) -> None:
    """Derive with every source of change that a view might use, each in a view of its own."""
    text = IMPURE + "LOADED = str(moment.now())\n"
    for number, expression in enumerate((*CLOCKS, *SEEDS, *ALWAYS)):
        text += (
            f"\n\n@view(pets)\ndef view_{number}(item):\n"
            f"    yield Row('view', '{number}', data={{'x': {expression}}})\n"
        )
    text += """

@view(pets)
def sometimes(item):
    if time.time() < 1_800_000_000:
        yield Row("sometimes", "x")


@view(pets, when=lambda item: time.time() < 1_800_000_000)
def applies(item):
    yield Row("applies", "x")
"""
    app.write("views/pets.py", text)
    status, lines = check(*sample({"id": "p-1"}, {"id": "p-2"}))
    assert status == 1
    words = {
        "counted": ("twice", "row counted x, attribute data.inner.n"),
        "remembered": ("after other items", "row remembered x, attribute data.place"),
        "sometimes": ("under another clock", "row sometimes x is not always derived"),
        "applies": ("under another clock", "row applies x is not always derived"),
    }
    for number in range(len(CLOCKS) + len(SEEDS) + len(ALWAYS)):
        phrase = "under another clock" if number < len(CLOCKS) else "with another random seed"
        phrase = phrase if number < len(CLOCKS) + len(SEEDS) else "twice"
        words[f"view_{number}"] = (phrase, f"row view {number}, attribute data.x")
    expected = {
        f"{app.line('views/pets.py', f'def {name}(')}: error: view {name!r} is impure: its rows "
        f"differ when the same item is derived {phrase}; item Pets/p-1, {what}"
        for name, (phrase, what) in words.items()
    }
    assert {*lines[:-1]} == expected
    assert len(lines) == len(expected) + 1


def test_an_item_that_fails_only_sometimes_is_an_error(app: WrittenApp) -> None:
    text = "\n    if len(seen) > 3:\n        raise ValueError('full')\n    seen.append(1)"
    app.write("views/pets.py", HEAD + "seen = []\n" + PET + text)
    status, lines = check(*sample({"id": "p-1"}, {"id": "p-2"}))
    assert status == 1
    assert lines[0] == (
        f"{app.name}/views/pets.py:12: error: the view raised ValueError: full; item Pets/p-2"
    )
    assert lines[1] == (
        f"{app.name}/views/pets.py:12: error: item Pets/p-1 fails only when it is derived after "
        "other items: the view raised ValueError: full"
    )


def test_views_that_fail_are_reported_once_for_each_line_with_the_text(app: WrittenApp) -> None:
    text = """

    if "age" in item:
        yield Row(key("PET", item["id"]), "AGE", data={"age": int(item["age"])})
    if "wrong" in item:
        yield Row(
            key("PET", item["id"]), "WRONG", indexes=[by_age],
        )
"""
    by_age = 'by_age = Index("ByAge", partition="age")\n'
    app.write("views/pets.py", HEAD + by_age + PET + text)
    old = [{"id": "p-1", "age": "old"}, {"id": "p-2", "age": "old"}]
    status, lines = check(*sample({"id": "p-0"}, *old, {"id": "p-3", "wrong": 1}))
    assert status == 1
    assert lines[1:3] == [
        (
            f"{app.line('views/pets.py', 'int(item')}: error: the view raised ValueError: invalid "
            "literal for int() with base 10: 'old'; item Pets/p-1 and 1 more"
        ),
        (
            f"{app.line('views/pets.py', 'yield Row(' + chr(10))}: error: indexes of a row has "
            "index 'ByAge' itself, "
            "not an entry: call it with values, as in indexes=[index(age)]; item Pets/p-3"
        ),
    ]
    assert lines[3:] == [  # that no row is in the index may only follow
        "2 errors, 1 warning; 4 items checked",
        (
            "Templates, indexes and totals were not compared with the rows: first fix the views "
            "that fail."
        ),
    ]


OWNERS = """
from adminview import AccessPattern, Index, Row, Source, view

owners = Source("Owners", partition_key="id")
by_name = Index("ByName", partition="name", include=["data"])
named = AccessPattern("named", index=by_name, partition="{name}")
owner_of_id = AccessPattern("owner", partition="OWNER#{id}")


@view(owners)
def owner(item):
    yield Row(item["id"], "DETAILS", indexes=[by_name(item["name"])])
"""


def test_a_file_whose_views_have_no_item_is_one_warning_and_not_an_error_for_each_pattern(
    app: WrittenApp,
) -> None:
    app.write("views/pets.py", HEAD + PET)
    app.write("views/owners.py", OWNERS)
    status, lines = check(*sample({"id": "p-1", "kind": "dog", "born": "2020"}))
    where = app.line("views/owners.py", "def owner")
    text = "warning: view 'owner' applies to no item of the sample, so it is not checked"
    assert (status, lines[:-1]) == (0, [f"{where}: {text}"])


PATTERNS = """

by_age = Index("ByAge", partition="kind", sort="born", include=["data"])
by_owner = Index("ByOwner", partition="owner", include=["data"])
kinds = Total("Kinds", partition="region", sort="kind")
ages = Total("Ages")

good = AccessPattern("good", partition="PET#{id}", sort="DETAILS")
wrong_partition = AccessPattern("wrong-partition", partition="PETS#{id}")
wrong_sort = AccessPattern("wrong-sort", partition="PET#{id}", sort="DETAIL")
wrong_begin = AccessPattern("wrong-begin", partition="PET#{id}", sort_begins="AGE#")
too_high = AccessPattern("too-high", partition="PET#{id}", sort_from="E#{x}")
too_low = AccessPattern("too-low", partition="PET#{id}", sort_until="C#{x}")
outside = AccessPattern("outside", partition="PET#{id}", sort_between=("E#{x}", "F#{y}"))
inside = AccessPattern("inside", partition="PET#{id}", sort_between=("A#{x}", "F#{y}"))
by_kind = AccessPattern("by-kind", index=by_age, partition="KIND#{kind}")
of_kind = AccessPattern(
    "of-kind", index=by_age, partition="{kind}", sort_from="{born}", optional=["born"],
    joins=[
        Join("kennel", partition="KENNEL#{kind}", sort="DETAILS"),
        Join("self", partition="{PK}", sort="DETAILS"),
    ],
)
of_owner = AccessPattern("of-owner", index=by_owner, partition="{owner}")
per_kind = AccessPattern("per-kind", total=kinds, partition="{region}", sort="KIND#{kind}")
per_region = AccessPattern("per-region", total=kinds, partition="{region}")
per_age = AccessPattern("per-age", total=ages)


@view(pets)
def pet(item):
    yield Row(
        key("PET", item["id"]), "DETAILS",
        indexes=[by_age(item["kind"], item["born"])],
        totals=[kinds("north", item["kind"])],
    )


@view(pets, where={"kind": "horse"})
def horse(item):
    yield Row(key("PET", item["id"]), "HORSE")
"""


def test_templates_that_no_row_can_match_are_errors_with_the_keys_of_the_rows(
    app: WrittenApp,
) -> None:
    app.write("views/pets.py", HEAD + PATTERNS)
    items = [{"id": f"p-{n}", "kind": "dog", "born": "2020"} for n in range(5)]
    status, lines = check(*sample(*items))

    def expected_line(variable: str, text: str, level: str = "error") -> str:
        return f"{app.line('views/pets.py', variable)}: {level}: {text}"

    def unmatched(variable: str, name: str, text: str) -> str:
        reason = f"access pattern {name!r} can return no row of the sample: it expects that {text}"
        return expected_line(variable, reason)

    near = "but SK of the rows that fit its other conditions is 'DETAILS'"
    assert status == 1
    assert lines == [
        expected_line(
            "def horse",
            "view 'horse' applies to no item of the sample, so it is not checked",
            "warning",
        ),
        expected_line(
            "by_owner =",
            "no row of the sample is in index 'ByOwner', so of-owner would return nothing; give "
            "rows an entry in it, or add an item to the sample",
        ),
        expected_line(
            "ages =",
            "no row of the sample contributes to total 'Ages', so per-age would return nothing; "
            "let rows contribute to it, or add an item to the sample",
        ),
        unmatched(
            "wrong_partition =",
            "wrong-partition",
            "PK is 'PETS#{id}', but PK is 'PET#p-0', 'PET#p-1', 'PET#p-2' …",
        ),
        unmatched("wrong_sort =", "wrong-sort", f"SK is 'DETAIL', {near}"),
        unmatched("wrong_begin =", "wrong-begin", f"SK begins with 'AGE#', {near}"),
        unmatched("too_high =", "too-high", f"SK is in the range 'E#{{x}}', {near}"),
        unmatched("too_low =", "too-low", f"SK is in the range 'C#{{x}}', {near}"),
        unmatched("outside =", "outside", f"SK is in the range 'E#{{x}}' to 'F#{{y}}', {near}"),
        unmatched("by_kind =", "by-kind", "kind is 'KIND#{kind}', but kind is 'dog'"),
        expected_line(
            "of_kind =",
            "join 'kennel' of access pattern 'of-kind' can find no row of the sample: no row has a "
            "PK like 'KENNEL#{kind}' and an SK like 'DETAILS'; correct the join, or add an item "
            "with such a row to the sample",
            "warning",  # the view that applies to no item may make such rows
        ),
        unmatched(
            "per_kind =",
            "per-kind",
            "kind is 'KIND#{kind}', but kind of the rows that fit its other conditions is 'dog'",
        ),
        "10 errors, 2 warnings; 5 items checked",
    ]
    _, lines = check(*sample(*items, {"id": "p-9", "kind": "horse", "born": "2020"}))
    assert [line.split(": ")[1] for line in lines if "join 'kennel'" in line] == ["error"]
