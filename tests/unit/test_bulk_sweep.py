"""A sweep deletes rows that nothing derives, and none because of its age."""

import json

import pytest

from adminview.bulk.lease_table import LEASE_SECONDS
from tests.support.bulk_tables import OLD, KilledError, World, dies_from
from tests.support.fakes import TABLE

RUN = "sweep/*"


@pytest.fixture
def world() -> World:
    """Let a thing be in the view, written by an older model, with a row that it had then."""
    world = World()
    world.put("a", x="1")
    world.sync("a")
    world.view["THING#a", "x"]["_model"] = {"S": OLD}
    world.row("Things/a", "THING#a", "dropped")
    return world


def test_of_an_older_models_rows_those_that_are_derived_stay_and_the_others_go(
    world: World,
) -> None:
    assert world.run(RUN) == {"items": 2, "deleted": 1}
    assert set(world.view) == {("THING#a", "x")}
    assert world.view["THING#a", "x"]["_model"] == {"S": OLD}, "it is not written again"


def test_rows_of_this_model_that_nothing_derives_go_too(world: World) -> None:
    """They stay behind where another model was deployed for a while, and taken back."""
    world.view.clear()
    world.sync("a")
    world.row("Things/gone", "THING#gone", "x", world.fingerprint)
    world.db.calls.clear()
    assert world.run(RUN) == {"items": 2, "deleted": 1}
    assert world.db.written(TABLE) == [("delete_item", TABLE)]


def test_rows_of_an_item_that_is_gone_go(world: World) -> None:
    world.row("Things/gone", "THING#gone", "x")
    world.row("Things/gone", "THING#gone", "y")
    assert world.run(RUN)["deleted"] == 3
    assert set(world.view) == {("THING#a", "x")}


def test_rows_of_a_source_that_is_declared_no_more_go(world: World) -> None:
    world.row("Parcels/1", "PARCEL#1", "x")
    assert world.run(RUN)["deleted"] == 2
    assert set(world.view) == {("THING#a", "x")}


def test_rows_that_name_no_item_stay(world: World) -> None:
    """They are no older model's: somebody else put them there, and verify reports them."""
    world.row("", "Z", "ownerless")
    world.row("Things", "Z", "no key")
    world.row("Notes/a/not-a-number", "Z", "broken")
    world.run(RUN)
    assert world.db.written(TABLE) == [("delete_item", TABLE)]  # of the thing
    assert set(world.view) == {
        ("THING#a", "x"),
        ("Z", "ownerless"),
        ("Z", "no key"),
        ("Z", "broken"),
    }


def test_rows_of_an_item_whose_view_raises_stay(world: World) -> None:
    world.write("Things", {"id": "b"})
    world.row("Things/b", "THING#b", "x")
    assert world.run(RUN) == {"items": 3, "deleted": 1, "unjudged": 1}
    assert ("THING#b", "x") in world.view
    assert not world.queue.bodies


def test_an_item_whose_view_raises_only_when_it_is_reconciled_becomes_a_dead_letter(
    world: World,
) -> None:
    def change(name: str, table: str) -> None:
        if (name, table) == ("get_item", "Things"):
            world.write("Things", {"id": "a"})

    world.db.on(before=change)
    assert world.run(RUN) == {"items": 2, "failed": 1}
    (letter,) = map(json.loads, world.queue.bodies)
    assert (letter["owner"], letter["error"]["kind"]) == ("Things/a", "MissingAttributeError")
    assert letter["rows"] == [["THING#a", "dropped"]]
    assert ("THING#a", "dropped") in world.view


def test_a_row_that_is_derived_again_meanwhile_stays(world: World) -> None:
    def change(name: str, table: str) -> None:
        if (name, table) == ("get_item", "Things"):
            world.db.on()
            world.put("a", x="1", dropped="back")
            world.sync("a")

    world.db.on(before=change)
    assert not world.run(RUN)["deleted"]
    assert world.shown() == world.expected()


def test_a_sweep_of_one_source_leaves_the_others_alone(world: World) -> None:
    world.row("Notes/a/1", "THING#a", "NOTE#1")
    world.row("Parcels/1", "PARCEL#1", "x")
    assert world.run("sweep/Notes") == {"items": 4, "deleted": 1}
    assert ("THING#a", "NOTE#1") not in world.view
    assert {("THING#a", "dropped"), ("PARCEL#1", "x")} <= set(world.view)


def test_killed_at_any_call_the_sweep_is_completed_by_the_next_run() -> None:
    for killed_at in range(100):
        world = World(most=1)
        for id_ in ("a", "b"):
            world.put(id_, x="1")
            world.sync(id_)
            world.row(f"Things/{id_}", f"THING#{id_}", "dropped")
        world.row("Parcels/1", "PARCEL#1", "x")
        world.db.on(before=dies_from(killed_at))
        try:
            world.run(RUN)
        except KilledError:
            world.db.on()
            world.now += LEASE_SECONDS + 1
            world.run(RUN)
        else:
            assert killed_at > 20
            return
        assert world.shown() == world.expected()
    pytest.fail("it never came to an end")
