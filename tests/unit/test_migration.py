"""A migration returns what to set and under which condition; errors quote no item."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from adminview.cli.main import app
from adminview.model import Item, Migration, Source, migration
from adminview.model.errors import (
    DeclarationError,
    MigrationError,
    MissingAttributeError,
    ViewError,
    reason_of,
)
from adminview.model.limits import ROW_LIMIT
from adminview.model.migration import EXPRESSION_LIMIT, Update
from adminview.sync.derive import complete
from adminview.views import collect, migrations
from tests.support.migrations.delivery_date import delivery_date
from tests.support.model import FAVOURITE, order
from tests.support.stream_records import image

CUSTOMER = "jane" + chr(64) + "shop.example"  # a text that this file does not name
things = Source("Things", partition_key="id", sort_key="SK")
THING = {"id": "a", "SK": "1", "size": 3, "mail": CUSTOMER}


def declared(
    derive: Callable[[Item], Any], sets: Any = ("colour", "width"), **more: Any
) -> Migration:
    options = {"name": "things-colour", "sets": sets} | more
    return migration(things, **options)(derive)


def test_an_old_order_gets_a_day_three_weeks_on_and_keeps_all_it_has() -> None:
    old = image(order(OrderDate="2025-02-28"))
    update = complete(delivery_date, old)
    assert update is not None
    assert update.sets == {"DeliveryDate": {"S": "2025-03-21"}}
    assert update.applied(old) == old | {"DeliveryDate": {"S": "2025-03-21"}}


@pytest.mark.parametrize("item", [order(DeliveryDate="2025-12-24"), FAVOURITE])
def test_an_order_with_a_day_and_an_item_of_another_kind_are_left_alone(item: Any) -> None:
    assert complete(delivery_date, image(item)) is None


def test_an_item_that_has_it_all_is_never_failing_whatever_else_it_lacks() -> None:
    """The function would raise: it is not called."""
    assert complete(delivery_date, image({"DeliveryDate": "2025-12-24"})) is None


@given(day=st.dates())
def test_a_migration_has_nothing_left_to_do_after_itself(day: Any) -> None:
    late = str(day) > "9999-12-10"  # no three weeks are left then
    old = image(order(OrderDate="2025-01-01" if late else str(day)))
    update = complete(delivery_date, old)
    assert update is not None
    assert complete(delivery_date, update.applied(old)) is None


def test_only_attributes_that_are_missing_are_set() -> None:
    both = declared(lambda _: {"colour": "red", "width": 2})
    update = both.update(image(THING | {"colour": "blue"}))
    assert update is not None
    assert update.sets == {"width": {"N": "2"}}


@pytest.mark.parametrize(
    ("look", "looked_at"),
    [
        (lambda item: item["size"], {"size"}),
        (lambda item: item.get("absent"), {"absent"}),
        (lambda item: "size" in item, {"size"}),
        (lambda item: item.raw("size"), {"size"}),
        (lambda item: item.pick("size", "absent"), {"size", "absent"}),
        (lambda item: item.has("size", {"N": "3"}), {"size"}),
        (lambda item: (item["id"], item["SK"]), set()),  # a key never changes
        (lambda _: None, set()),
    ],
)
def test_what_the_function_looks_at_is_what_must_not_have_changed(
    look: Callable[[Item], Any], looked_at: set[str]
) -> None:
    def red(item: Item) -> dict[str, str]:
        look(item)
        return {"colour": "red"}

    old = image(THING)
    expected = {name: old.get(name) for name in looked_at}
    update = declared(red).update(old)
    assert update is not None
    assert update.looked_at == expected
    when = declared(lambda _: {"colour": "red"}, when=lambda item: (look(item), True)[1])
    update = when.update(old)
    assert update is not None
    assert update.looked_at == expected, "its condition looked there too"


def test_the_kind_of_an_item_is_part_of_what_must_not_have_changed() -> None:
    of_kind = declared(lambda _: {"colour": "red"}, where={"size": 3}, sort_begins="1")
    update = of_kind.update(image(THING))
    assert update is not None
    assert update.looked_at == {"size": {"N": "3"}}
    assert of_kind.update(image(THING | {"size": 4})) is None
    assert of_kind.update(image(THING | {"SK": "2"})) is None


def test_an_update_is_written_with_its_condition_and_names_nothing_in_its_text() -> None:
    update = Update(
        key=image({"id": "a", "SK": "1"}),
        sets=image({"colour": "red"}),
        looked_at={"size": {"N": "3"}, "weight": None, "colour": None},
    )
    assert update.arguments() == {
        "UpdateExpression": "SET #s0 = :s0",
        "ConditionExpression": (
            "attribute_exists(#key) AND attribute_not_exists(#s0) "
            "AND #r0 = :r0 AND attribute_not_exists(#r1)"
        ),
        "ExpressionAttributeNames": {
            "#key": "id",
            "#s0": "colour",
            "#r0": "size",
            "#r1": "weight",
        },
        "ExpressionAttributeValues": {":s0": {"S": "red"}, ":r0": {"N": "3"}},
    }


def test_an_update_does_not_show_what_it_holds() -> None:
    update = declared(lambda item: {"colour": item["mail"]}).update(image(THING))
    assert repr(update) == "Update(colour)"


def whole(item: Item) -> Mapping[str, object]:
    return {"colour": item.whole()}


def counting(item: Item) -> Mapping[str, object]:
    return {"colour": len(item)}


def spread(item: Item) -> Mapping[str, object]:
    return {"colour": sorted({**item})}


@pytest.mark.parametrize("derive", [whole, counting, spread])
def test_an_item_is_not_looked_at_as_a_whole_since_no_condition_could_hold_for_it(
    derive: Any,
) -> None:
    with pytest.raises(MigrationError, match="by name"):
        complete(declared(derive), image(THING))


def test_what_is_returned_lazily_is_looked_at_before_the_condition_is_made() -> None:
    class Later(dict[str, Any]):
        """Reads the item only when it is asked for its values."""

        def items(self) -> Any:
            return [("colour", self["item"]["size"])]

        def __iter__(self) -> Iterator[str]:
            return iter(["colour"])

    update = declared(lambda item: Later(item=item)).update(image(THING))
    assert update is not None
    assert update.sets == {"colour": {"N": "3"}}
    assert "size" in update.looked_at


def outside(item: Item) -> Mapping[str, object]:
    return {item["mail"]: 1}


def not_a_dict(item: Item) -> Any:
    return [item["mail"]]


def floating(_: Item) -> Mapping[str, object]:
    return {"colour": 1.5}


def too_large(item: Item) -> Mapping[str, object]:
    return {"colour": item["mail"] * ROW_LIMIT}


def too_curious(item: Item) -> Mapping[str, object]:
    return {"colour": len(item.pick(*(f"a{number}" for number in range(EXPRESSION_LIMIT // 20))))}


def absent(item: Item) -> Mapping[str, object]:
    return {"colour": item["shade"]}


def absent_by_data(item: Item) -> Mapping[str, object]:
    return {"colour": item[item["mail"]]}


def raising(item: Item) -> Mapping[str, object]:
    raise LookupError(item["mail"])


def leaving(item: Item) -> Mapping[str, object]:
    raise SystemExit(item["mail"])


@pytest.mark.parametrize(
    ("derive", "kind", "reason"),
    [
        (outside, MigrationError, "declared to set colour, width"),
        (not_a_dict, MigrationError, "this one returned list"),
        (floating, Exception, "use a Decimal"),
        (too_large, MigrationError, "DynamoDB takes at most 409600"),
        (too_curious, MigrationError, "longer expression than DynamoDB takes"),
        (absent, MissingAttributeError, "no attribute 'shade'"),
        (absent_by_data, MissingAttributeError, "an attribute is absent"),
        (raising, ViewError, "the migration raised LookupError"),
        (leaving, ViewError, "the migration raised SystemExit"),
    ],
)
def test_a_migration_that_fails_is_named_with_its_line_and_without_the_item(
    derive: Any, kind: type[Exception], reason: str
) -> None:
    with pytest.raises(kind) as failed:
        complete(declared(derive), image(THING))
    error: Any = failed.value
    assert reason in reason_of(error)
    assert "migration 'things-colour' at test_migration" in error.place.replace("tests.unit.", "")
    assert CUSTOMER not in reason_of(error)


def yielding(_: Item) -> Iterator[object]:
    yield {"colour": "red"}


async def awaiting(_: Item) -> object:
    return {"colour": "red"}


async def both(_: Item) -> AsyncIterator[object]:
    yield {"colour": "red"}


@pytest.mark.parametrize("derive", [yielding, awaiting, both, "colour"])
def test_a_migration_is_a_function_that_returns(derive: Any) -> None:
    with pytest.raises(DeclarationError, match="must be a plain function that returns a dict"):
        declared(derive)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"name": "Things colour"}, "lower-case words"),
        ({"sets": ()}, "must name at least one attribute"),
        ({"sets": ("colour", "")}, "must name at least one attribute"),
        ({"sets": ("colour", "colour")}, "twice"),
        ({"sets": "id"}, "cannot set the key"),
        ({"sets": ("colour", "SK")}, "cannot set the key"),
    ],
)
def test_a_declaration_that_cannot_work_is_refused(wrong: Any, reason: str) -> None:
    with pytest.raises(DeclarationError, match=reason):
        declared(lambda _: {}, **wrong)


def test_a_migration_is_of_a_source_and_of_a_kind_that_it_can_have() -> None:
    with pytest.raises(DeclarationError, match="a migration must be on a Source"):
        migration("Things", name="m", sets="a")  # type: ignore[arg-type]  # the mistake
    with pytest.raises(DeclarationError, match="no text sort key"):
        migration(Source("Plain", "id"), name="m", sets="a", sort_begins="X")


def module(name: str, **declarations: Any) -> ModuleType:
    declared_in = ModuleType(name)
    declared_in.__dict__.update(declarations)
    return declared_in


def test_two_migrations_do_not_have_one_name() -> None:
    first, other = declared(lambda _: {}), declared(lambda _: {})
    assert collect([module("a", one=first), module("b", again=first)], [things]) == {
        first.name: first
    }
    with pytest.raises(DeclarationError, match="two migrations are named"):
        collect([module("a", one=first), module("b", other=other)], [things])


def test_a_migration_of_a_table_that_nobody_declares_is_refused() -> None:
    with pytest.raises(DeclarationError, match="which no view file declares; declared: none"):
        collect([module("a", one=declared(lambda _: {}))], [])


def test_the_migrations_of_the_folder_are_found_by_name() -> None:
    by_name = migrations()
    assert by_name["orders-delivery-date"] is delivery_date
    assert [*by_name] == sorted(by_name)
    assert all(entry.about for entry in by_name.values())


def test_values_are_set_as_they_are_handed_on() -> None:
    exact = {"N": "1234567890123456789012345678901234567.8"}
    update = declared(lambda item: {"colour": item.raw("exact")}).update(
        image(THING) | {"exact": exact}
    )
    assert update is not None
    assert update.sets["colour"] == exact


def test_migrations_are_listed_with_the_package_that_declares_them() -> None:
    listed = CliRunner().invoke(app, ["migrate"])
    assert "Migrations declared in tests.support.migrations" in listed.stdout
    assert "orders-delivery-date" in listed.stdout
