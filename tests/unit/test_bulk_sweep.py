"""Sweep: rows go if nothing derives them, and never for their age alone."""

import json

import pytest

from adminview.bulk.lease_table import LEASE_SECONDS
from tests.support.bulk_tables import OLD, KilledError, World, dies_from
from tests.support.fakes import TABLE

RUN = "sweep/*"


@pytest.fixture
def made() -> World:
    """Let a thing be in the view, written by an older model, with a row that it had then."""
    world = World()
    world.put("a", x="1")
    world.sync("a")
    world.view["THING#a", "x"]["_model"] = {"S": OLD}
    world.row("Things/a", "THING#a", "dropped")
    return world


def test_of_an_older_models_rows_those_that_are_derived_stay_and_the_others_go(
    made: World,
) -> None:
    assert made.run(RUN) == {"items": 2, "deleted": 1}
    assert set(made.view) == {("THING#a", "x")}
    assert made.view["THING#a", "x"]["_model"] == {"S": OLD}, "it is not written again"


def test_rows_of_this_model_that_nothing_derives_go_too(made: World) -> None:
    """They stay behind where another model was deployed for a while, and taken back."""
    made.view.clear()
    made.sync("a")
    made.row("Things/gone", "THING#gone", "x", made.fingerprint)
    made.db.calls.clear()
    assert made.run(RUN) == {"items": 2, "deleted": 1}
    assert made.db.written(TABLE) == [("delete_item", TABLE)]


def test_rows_of_an_item_that_is_gone_go(made: World) -> None:
    made.row("Things/gone", "THING#gone", "x")
    made.row("Things/gone", "THING#gone", "y")
    assert made.run(RUN)["deleted"] == 3
    assert set(made.view) == {("THING#a", "x")}


def test_rows_of_a_source_that_is_declared_no_more_go(made: World) -> None:
    made.row("Parcels/1", "PARCEL#1", "x")
    assert made.run(RUN)["deleted"] == 2
    assert set(made.view) == {("THING#a", "x")}


def test_rows_that_name_no_item_stay(made: World) -> None:
    """They are no older model's: somebody else put them there, and verify reports them."""
    made.row("", "Z", "ownerless")
    made.row("Things", "Z", "no key")
    made.row("Notes/a/not-a-number", "Z", "broken")
    made.run(RUN)
    assert made.db.written(TABLE) == [("delete_item", TABLE)]  # of the thing
    assert set(made.view) == {
        ("THING#a", "x"),
        ("Z", "ownerless"),
        ("Z", "no key"),
        ("Z", "broken"),
    }


def test_rows_of_an_item_whose_view_raises_stay(made: World) -> None:
    made.write("Things", {"id": "b"})
    made.row("Things/b", "THING#b", "x")
    assert made.run(RUN) == {"items": 3, "deleted": 1, "unjudged": 1}
    assert ("THING#b", "x") in made.view
    assert not made.queue.bodies


def test_an_item_whose_view_raises_only_when_it_is_reconciled_becomes_a_dead_letter(
    made: World,
) -> None:
    def change(name: str, table: str) -> None:
        if (name, table) == ("get_item", "Things"):
            made.write("Things", {"id": "a"})

    made.db.on(before=change)
    assert made.run(RUN) == {"items": 2, "failed": 1}
    (letter,) = map(json.loads, made.queue.bodies)
    assert (letter["owner"], letter["error"]["kind"]) == ("Things/a", "MissingAttributeError")
    assert letter["rows"] == [["THING#a", "dropped"]]
    assert ("THING#a", "dropped") in made.view


def test_a_row_that_is_derived_again_meanwhile_stays(made: World) -> None:
    def change(name: str, table: str) -> None:
        if (name, table) == ("get_item", "Things"):
            made.db.on()
            made.put("a", x="1", dropped="back")
            made.sync("a")

    made.db.on(before=change)
    assert not made.run(RUN)["deleted"]
    assert made.shown() == made.expected()


def test_a_sweep_of_one_source_leaves_the_others_alone(made: World) -> None:
    made.row("Notes/a/1", "THING#a", "NOTE#1")
    made.row("Parcels/1", "PARCEL#1", "x")
    assert made.run("sweep/Notes") == {"items": 4, "deleted": 1}
    assert ("THING#a", "NOTE#1") not in made.view
    assert {("THING#a", "dropped"), ("PARCEL#1", "x")} <= set(made.view)


def test_killed_at_any_call_the_sweep_is_completed_by_the_next_run() -> None:
    for killed_at in range(100):
        made = World(most=1)
        for id_ in ("a", "b"):
            made.put(id_, x="1")
            made.sync(id_)
            made.row(f"Things/{id_}", f"THING#{id_}", "dropped")
        made.row("Parcels/1", "PARCEL#1", "x")
        made.db.on(before=dies_from(killed_at))
        try:
            made.run(RUN)
        except KilledError:
            made.db.on()
            made.now += LEASE_SECONDS + 1
            made.run(RUN)
        else:
            assert killed_at > 20
            return
        assert made.shown() == made.expected()
    pytest.fail("it never came to an end")
