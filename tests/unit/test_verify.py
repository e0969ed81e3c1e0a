"""A verification finds differences, ignores changes in flight, and repairs."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adminview.bulk.verification import VerifyReport
from adminview.bulk.verify.differences import Kind
from adminview.model.row import RowKey
from tests.support.bulk_tables import PROGRESS, Image
from tests.support.fakes import TABLE, refusal
from tests.support.verify_tables import Lab, adds_up, findings_in

A = "Things/a"
ROW: RowKey = ("THING#a", "x")


@pytest.fixture
def lab() -> Lab:
    """Let three things and a note be in step."""
    lab = Lab()
    lab.put("a", x="1", y="2")
    lab.put("b", x="1")
    lab.put("c", shared="s")
    lab.write("Notes", {"about": "a", "number": 7, "text": "hello"})
    return lab


def claim_for(lab: Lab, owner: str) -> None:
    lab.view[ROW] = {**lab.view[ROW], "_owner": {"S": owner}}


def drop_owner(lab: Lab) -> None:
    lab.view[ROW] = {name: value for name, value in lab.view[ROW].items() if name != "_owner"}


def stranger(lab: Lab, **owner: Any) -> None:
    lab.view["THING#z", "x"] = {
        "PK": {"S": "THING#z"},
        "SK": {"S": "x"},
        "data": {"M": {}},
        **({"_owner": {"S": owner["owner"]}} if owner else {}),
    }


STRANGE: RowKey = ("THING#z", "x")
PLANTED: dict[str, tuple[Callable[[Lab], Any], tuple[str, str, RowKey]]] = {
    "a missing row": (lambda lab: lab.view.pop(ROW), ("missing", A, ROW)),
    "a stale row": (
        lambda lab: lab.view[ROW].update(data={"M": {"value": {"S": "old"}}}),
        ("stale", A, ROW),
    ),
    "a row too many in an index": (
        lambda lab: lab.view[ROW].update(GSI1_PK={"S": "x"}),
        ("stale", A, ROW),
    ),
    "a row of a deleted item": (
        lambda lab: stranger(lab, owner="Things/z"),
        ("orphaned", "Things/z", STRANGE),
    ),
    "a row its item does not derive": (
        lambda lab: stranger(lab, owner=A),
        ("orphaned", A, STRANGE),
    ),
    "a row without an owner": (stranger, ("orphaned", "", STRANGE)),
    "an item's row without an owner": (drop_owner, ("stale", A, ROW)),
    "a row of no declared source": (
        lambda lab: stranger(lab, owner="Ghosts/1"),
        ("orphaned", "Ghosts/1", STRANGE),
    ),
    "a row whose owner cannot be a key": (
        lambda lab: stranger(lab, owner="Notes/a/not-a-number"),
        ("orphaned", "Notes/a/not-a-number", STRANGE),
    ),
    "a row that says it is another's": (
        lambda lab: claim_for(lab, "Things/b"),
        ("two-owners", A, ROW),
    ),
    "a row that says it is a stranger's": (
        lambda lab: claim_for(lab, "Ghosts/1"),
        ("two-owners", A, ROW),
    ),
}


def test_a_view_in_step_is_equal(lab: Lab) -> None:
    run = lab.verify()
    assert not findings_in(run)
    assert adds_up(run)
    assert run.total == {"items": 4, "rows": 5, "equal": 9}


@pytest.mark.parametrize("segments", [1, 3])
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_difference_is_found_repaired_and_found_no_more(
    lab: Lab, name: str, segments: int
) -> None:
    before = {key: dict(row) for key, row in lab.view.items()}
    plant, difference = PLANTED[name]
    plant(lab)
    seen = lab.verify(segments=segments)
    assert findings_in(seen) == {difference}
    assert adds_up(seen)
    assert seen.total["left"] == 1
    repaired = lab.verify(segments=segments, repair=True)
    assert findings_in(repaired) == {difference}
    assert adds_up(repaired)
    assert repaired.total["repaired"] == 1
    assert not findings_in(lab.verify(segments=segments))
    assert lab.view.keys() == before.keys()


def test_differences_of_another_source_are_left_alone(lab: Lab) -> None:
    lab.view.pop(ROW)
    stranger(lab, owner="Things/z")
    run = lab.verify("Notes", repair=True)
    assert not findings_in(run)
    assert run.total == {"items": 1, "rows": 1, "equal": 2}
    assert STRANGE in lab.view


def test_a_row_that_two_items_derive_is_left_and_both_are_named(lab: Lab) -> None:
    lab.put("d", shared="s", synced=False)
    run = lab.verify(repair=True)
    (finding,) = run.findings
    assert (finding["owner"], finding["other"]) == ("Things/d", "Things/c")
    assert "both derive it, by view parts and by view parts" in finding["what"]
    assert "put the item's key into the row's key" in finding["fate"]
    assert adds_up(run)
    assert run.total["left"] == 1


def test_other_rows_of_such_an_item_are_repaired_all_the_same(lab: Lab) -> None:
    lab.put("d", shared="s", x="1", synced=False)
    run = lab.verify(repair=True)
    assert adds_up(run)
    assert (run.total["repaired"], run.total["left"]) == (1, 1)
    assert ("THING#d", "x") in lab.view


def test_an_item_whose_view_raises_is_reported_without_its_data(lab: Lab) -> None:
    lab.write("Things", {"id": "bad", "secret": "hush"}, synced=False)
    stranger(lab, owner="Things/bad")
    run = lab.verify(repair=True)
    (finding,) = run.findings
    assert finding["kind"] == Kind.FAILING
    assert "the item has no attribute 'parts'; view 'parts' at" in finding["what"]
    assert "hush" not in str(lab.db.tables[PROGRESS])
    assert STRANGE in lab.view, "what a failing item's rows should be is not known"
    assert adds_up(run)


def test_an_item_that_cannot_be_an_owner_is_failing(lab: Lab) -> None:
    for letter in "xy":
        lab.db.tables["Things"][(letter * 2048,)] = {"id": {"S": letter * 2048}}
    run = lab.verify()
    assert run.total["failing"] == 2
    assert adds_up(run)


def test_a_row_without_an_owner_is_not_deleted_while_its_item_may_be_out_of_sight(
    lab: Lab,
) -> None:
    stranger(lab)
    run = VerifyReport()
    while not run.findings:  # until the sample has the row
        run = lab.verify(repair=True, sample=0.999)
    assert "without --share" in run.findings[0]["fate"]
    assert STRANGE in lab.view


def test_a_repair_that_fails_keeps_no_other_from_it(lab: Lab) -> None:
    lab.view.pop(ROW)
    lab.view.pop(("THING#b", "x"))
    failures = iter([True])

    def refuse(name: str, table: str) -> None:
        if (name, table) == ("put_item", TABLE) and next(failures, False):
            raise refusal("AccessDeniedException")

    lab.db.on(before=refuse)
    run = lab.verify(repair=True)
    assert (run.total["repaired"], run.total["left"]) == (1, 1)
    assert sorted(finding["fate"] for finding in run.findings) == [
        "ServiceError: write a row of AdminViewTable: AWS answered AccessDeniedException",
        "repaired",
    ]


values = st.sampled_from(["1", "2"])
items = st.dictionaries(
    st.sampled_from("abcd"), st.dictionaries(st.sampled_from("xyz"), values), min_size=1
)
rows = st.tuples(st.sampled_from([f"THING#{id_}" for id_ in "abcde"]), st.sampled_from("xyz"))
owners = st.sampled_from(["Things/a", "Things/b", "Things/e", "Ghosts/1", "Things", "", None])
tampering = st.lists(st.tuples(rows, st.none() | values, owners), max_size=6)


def tamper(lab: Lab, row: RowKey, value: str | None, owner: str | None) -> None:
    """Delete a row, or write it with some value and owner (None: the right one)."""
    if value is None:
        lab.view.pop(row, None)
        return
    owner = f"Things/{row[0].removeprefix('THING#')}" if owner is None else owner
    named: Image = {"_owner": {"S": owner}} if owner else {}
    data = {"M": {"value": {"S": value}}}
    lab.view[row] = {"PK": {"S": row[0]}, "SK": {"S": row[1]}, "data": data, **named}


def expected(right: dict[Any, Image], view: dict[Any, Image]) -> set[tuple[str, RowKey]]:
    """Compare two views without any of the code under test."""
    wrong = set()
    for key in right.keys() | view.keys():
        should, is_ = right.get(key), view.get(key)
        if should is None:
            wrong.add(("orphaned", key))
        elif is_ is None:
            wrong.add(("missing", key))
        elif "_owner" in is_ and is_["_owner"] != should["_owner"]:
            wrong.add(("two-owners", key))
        elif (is_.get("_owner"), is_["data"]) != (should["_owner"], should["data"]):
            wrong.add(("stale", key))
    return wrong


@given(items=items, changes=tampering, page_size=st.integers(1, 5))
def test_any_tampering_is_found_exactly_and_after_a_repair_nothing_is_found(
    items: dict[str, dict[str, str]], changes: list[Any], page_size: int
) -> None:
    lab = Lab()
    lab.db.page_size = page_size
    for id_, given_parts in items.items():
        lab.write("Things", {"id": id_, "parts": given_parts})
    right = dict(lab.view)
    for change in changes:
        tamper(lab, *change)
    wrong = expected(right, lab.view)
    seen = lab.verify()
    assert {(kind, row) for kind, _, row in findings_in(seen)} == wrong
    assert adds_up(seen)
    repaired = lab.verify(repair=True)
    assert adds_up(repaired)
    # An item that must give up one row gives up all that are not its own, before they are seen.
    assert {row for _, _, row in findings_in(repaired)} <= {row for _, row in wrong}
    assert repaired.total["left"] == 0
    assert expected(right, lab.view) == set()
    assert not findings_in(lab.verify())


def test_while_a_view_raises_rows_that_name_no_item_are_left(lab: Lab) -> None:
    """The item whose view raises may be the one that derives them."""
    lab.view["Z", "1"] = {"PK": {"S": "Z"}, "SK": {"S": "1"}}
    lab.write("Things", {"id": "poison"}, synced=False)
    run = lab.verify(repair=True)
    assert ("Z", "1") in lab.view
    assert run.total["left"] == 2
    del lab.db.tables["Things"][("poison",)]
    lab.verify(repair=True)
    assert ("Z", "1") not in lab.view
