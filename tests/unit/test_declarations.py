"""Declarations that contradict themselves or each other are refused; the error names both."""

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from adminview.model import (
    AccessPattern,
    Attribute,
    Index,
    Item,
    LocalIndex,
    Registry,
    Row,
    Source,
    binary,
    number,
    text,
    view,
)
from adminview.model.errors import DeclarationError
from adminview.views import load_modules
from adminview.views import registry as declared
from tests.support import views
from tests.support.model import registry

orders = Source("Orders", partition_key="id")


def rows(item: Item) -> Iterator[Row]:
    """Derive one row."""
    yield Row("PK", item["id"])


def module(name: str, **declared: Any) -> ModuleType:
    declared_in = ModuleType(name)
    declared_in.__dict__.update(declared)
    return declared_in


def declare(**declared: Any) -> Registry:
    return Registry.of([module("shop", orders=orders, rows=view(orders)(rows), **declared)])


def test_a_source_with_the_name_of_what_no_source_owns_is_refused() -> None:
    with pytest.raises(DeclarationError, match=r"source 'unknown': .* choose another"):
        Source("unknown", partition_key="id")
    assert Source("Unknown", partition_key="id").name == "Unknown"


def test_two_sources_of_one_table_are_refused_with_both_files() -> None:
    again = Source("Orders", partition_key="other")
    with pytest.raises(DeclarationError, match="'Orders': declared in one and in two"):
        Registry.of([module("one", orders=orders), module("two", again=again)])


def test_the_file_that_imports_a_source_is_not_named_as_declaring_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "views_that_share"
    folder.mkdir()
    declared = 'from adminview import Source\norders = Source("Orders", partition_key="id")\n'
    (folder / "orders.py").write_text(declared)
    (folder / "again.py").write_text(
        f"from views_that_share.orders import orders as first\n{declared}"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    places = "views_that_share/orders.py:2 and in views_that_share/again.py:3"
    with pytest.raises(DeclarationError, match=f"'Orders': declared in {places}$"):
        Registry.of(load_modules("views_that_share", "view", "ADMINVIEW_VIEWS"))


def test_two_patterns_of_one_name_are_refused_with_both_files() -> None:
    first = module("one", orders=orders, rows=view(orders)(rows), a=AccessPattern("all", "X"))
    two = module("two", a=AccessPattern("all", "Y"))
    with pytest.raises(DeclarationError, match="the same name, 'all': declared in one and in two"):
        Registry.of([first, two])


def test_two_indexes_of_one_name_are_refused_with_both_files() -> None:
    first = module("one", orders=orders, rows=view(orders)(rows), a=Index("GSI1", partition="a"))
    two = module("two", b=Index("GSI1", partition="b"))
    with pytest.raises(DeclarationError, match="the same name, 'GSI1': declared in one and in two"):
        Registry.of([first, two])


def test_an_index_that_two_files_share_is_one_index() -> None:
    shared = Index("GSI1", partition="a")
    first = module("one", orders=orders, rows=view(orders)(rows), shared=shared)
    assert Registry.of([first, module("two", shared=shared)]).indexes[0] is shared


def test_a_view_on_an_unknown_source_is_refused_with_those_that_exist() -> None:
    stray = view(Source("Strays", partition_key="id"))(rows)
    with pytest.raises(DeclarationError, match=r"'rows' in .* source 'Strays'.* are Orders"):
        declare(stray=stray)


def test_a_pattern_on_an_unknown_index_is_refused_with_those_that_exist() -> None:
    stray = AccessPattern("stray", "X", index=Index("GSI9", partition="a", include=["data"]))
    with pytest.raises(DeclarationError, match=r"'stray' queries index 'GSI9'.* are Owner"):
        declare(stray=stray)


def test_a_source_without_a_view_is_refused() -> None:
    with pytest.raises(DeclarationError, match="'Unseen' has no view"):
        declare(unseen=Source("Unseen", partition_key="id"))


@pytest.mark.parametrize("side", ["partition", "sort"])
def test_an_index_of_more_than_four_attributes_on_a_side_is_refused(side: str) -> None:
    keys: dict[str, Any] = {"partition": ["x"]} | {side: list("abcde")}
    with pytest.raises(DeclarationError, match=f"'Wide1': 5 {side} attributes; .* at most 4"):
        Index("Wide1", **keys)
    Index("Wide1", partition=list("abcd"), sort=list("efgh"))


@pytest.mark.parametrize("type_", ["M", "BOOL", "SS", "s"])
def test_a_key_attribute_of_a_type_that_is_no_key_is_refused(type_: str) -> None:
    with pytest.raises(DeclarationError, match=f"'when' has type '{type_}'"):
        Index("ByWhen", partition=Attribute("when", type_))


def test_one_attribute_of_two_types_is_refused_with_both_indexes() -> None:
    a, b = Index("ByDay", partition="day"), Index("ByDate", partition=number("day"))
    with pytest.raises(DeclarationError, match=r"'day' is S in index 'ByDay' and N in .* 'ByDate'"):
        declare(a=a, b=b)


def test_more_than_twenty_indexes_are_refused_and_the_owner_index_is_one_of_them() -> None:
    many = {f"i{n}": Index(f"Index{n}", partition=f"key{n}") for n in range(20)}
    with pytest.raises(DeclarationError, match=r"21 indexes; DynamoDB takes at most 20: .*Owner"):
        declare(**many)
    many.pop("i0")
    assert len(declare(**many).indexes) == 20


def test_a_projection_that_misses_what_a_pattern_promises_is_refused_with_both() -> None:
    bare = Index("Bare", partition="a")
    with pytest.raises(
        DeclarationError, match="'slim' on index 'Bare': shows 'data', which the index"
    ):
        AccessPattern("slim", "X", index=bare)
    AccessPattern("slim", "X", index=bare, shows=[])
    AccessPattern("slim", "X", index=bare, shows=["a"])
    AccessPattern("full", "X", index=Index("All", partition="a", all_because="export"))


def test_an_index_keyed_or_filled_with_what_rows_use_or_lack_is_refused() -> None:
    with pytest.raises(DeclarationError, match="'Mine' is keyed by data, which every row"):
        declare(mine=Index("Mine", partition="data"))
    with pytest.raises(DeclarationError, match=r"'Mine' includes colour.*rows have .*data"):
        declare(mine=Index("Mine", partition="a", include=["colour"]))


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"name": "x", "partition": "a"}, "3 to 255"),
        ({"name": "Fine", "partition": []}, "needs a partition"),
        ({"name": "Fine", "partition": "a", "sort": "a"}, "named twice"),
        ({"name": "Fine", "partition": "a", "include": ["x"], "all_because": "y"}, "not both"),
        ({"name": "Fine", "partition": "a", "include": [f"x{n}" for n in range(21)]}, "takes 20"),
        ({"name": "Fine", "partition": ""}, "1 to 255"),
        ({"name": "Fine", "partition": "é" * 200}, "1 to 255 bytes, not 400"),
        ({"name": "Fine", "partition": "a", "include": ["x", "x"]}, "an attribute twice"),
        ({"name": "Fine", "partition": "a", "include": "data"}, r"include=\['data'\]"),
    ],
)
def test_an_index_that_dynamodb_would_refuse_is_refused(wrong: dict[str, Any], why: str) -> None:
    with pytest.raises(DeclarationError, match=why):
        Index(**wrong)


def test_a_source_that_dynamodb_would_refuse_is_refused() -> None:
    with pytest.raises(DeclarationError, match="3 to 255"):
        Source("a b", partition_key="id")
    with pytest.raises(DeclarationError, match="one partition key and at most one sort key"):
        Source("Fine", partition_key=["a", "b"])
    with pytest.raises(DeclarationError, match="must be different attributes"):
        Source("Fine", partition_key="a", sort_key="a")


def test_a_view_by_sort_key_needs_a_sort_key_of_text() -> None:
    with pytest.raises(DeclarationError, match="'Orders' has sort_begins='X#'"):
        view(orders, sort_begins="X#")
    with pytest.raises(DeclarationError, match="no text sort key"):
        view(Source("Dated", partition_key="id", sort_key=number("day")), sort_begins="2")


def test_where_takes_one_value_and_no_list() -> None:
    with pytest.raises(DeclarationError, match="'Orders': where has a list for 'type'"):
        view(orders, where={"type": ["A", "B"]})


def test_what_is_no_source_no_index_and_no_view_is_refused_in_words() -> None:
    with pytest.raises(DeclarationError, match="a view must be on a Source, not on 'Orders'"):
        view("Orders")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(DeclarationError, match=r"as in @view\(orders\); 'rows' names none"):
        view(rows)  # type: ignore[arg-type]  # the decorator has no parentheses
    with pytest.raises(DeclarationError, match="index must be an Index, not 'GSI9'"):
        AccessPattern("stray", "X", index="GSI9")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(
        DeclarationError, match="on 'Orders' must be a function that yields its rows: write `yield"
    ):
        view(orders)(lambda _: iter(()))


def test_the_name_of_the_owner_index_is_taken() -> None:
    with pytest.raises(DeclarationError, match="'Owner': AdminView's own index has this name"):
        declare(mine=Index("Owner", partition="mine"))


def test_more_included_attributes_than_a_table_takes_are_refused() -> None:
    keys = [f"key{n}" for n in range(6)]
    extra = {f"e{n}": Index(f"Extra{n}", partition=keys[n], include=["data"]) for n in range(6)}
    many = {
        f"i{n}": Index(f"Index{n}", partition=f"p{n}", include=["data", *keys, "_seq"])
        for n in range(12)
    }
    with pytest.raises(DeclarationError, match=r"all indexes include 102 attributes; .* takes 100"):
        declare(**extra, **many)


def test_an_index_need_not_include_the_keys_of_the_table() -> None:
    with pytest.raises(DeclarationError, match="'Mine' includes PK, which every index has"):
        declare(mine=Index("Mine", partition="a", include=["PK"]))
    AccessPattern("mine", "X", index=Index("Mine", partition="a"), shows=["PK", "SK"])


def test_the_registry_finds_every_file_of_the_views_folder() -> None:
    files = {path.stem for path in Path(views.__file__).parent.glob("*.py")} - {"__init__"}
    assert {module.__name__.rpartition(".")[2] for module in declared().modules} == files


def test_a_view_file_that_cannot_be_loaded_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken.py").write_text("def oops(:\n")
    monkeypatch.setattr(views, "__path__", [*views.__path__, str(tmp_path)])
    with pytest.raises(DeclarationError, match=r"views.broken cannot be .* SyntaxError"):
        load_modules(views.__name__, "view", "ADMINVIEW_VIEWS")


def test_a_model_knows_its_parts_by_name() -> None:
    model = registry()
    assert [source.name for source in model.sources] == ["Orders", "Payments", "Products", "Users"]
    assert model.indexes[-1].name == "Owner"
    assert model.indexes[-1].projection == "KEYS_ONLY"
    with pytest.raises(KeyError, match=r"no source is named 'Nope'.*Orders, Payments"):
        model.source("Nope")
    with pytest.raises(KeyError, match="no access pattern is named 'nope'"):
        model.pattern("nope")


def test_key_attributes_are_listed_once_with_their_types() -> None:
    index = Index("Three", partition=[text("t"), binary("b")], sort=number("n"))
    assert declare(index=index).key_attributes == tuple(
        Attribute(name, type_)
        for name, type_ in [
            ("PK", "S"),
            ("SK", "S"),
            ("t", "S"),
            ("b", "B"),
            ("n", "N"),
            ("_owner", "S"),
        ]
    )


ENTERED = [
    pytest.param("day", {"day"}, ["day"], id="the same key"),
    pytest.param("day", {"day"}, ["day", "shift"], id="a part of the key"),
    pytest.param(["shift", "day"], {"day", "shift"}, ["day", "shift"], id="in another order"),
    pytest.param(["day"], {"day"}, ["room", "shift", "day"], id="a sort attribute"),
]


@pytest.mark.parametrize(("partition", "shared", "other"), ENTERED)
@pytest.mark.parametrize("order", [1, -1])
def test_an_index_that_every_row_of_another_would_enter_is_refused(
    partition: Any, shared: set[str], other: list[str], order: int
) -> None:
    some = Index("Some", partition=partition)
    more = Index("More", partition=other[:1], sort=other[1:])
    a, b = (some, more)[::order]
    with pytest.raises(DeclarationError) as refused:
        declare(a=a, b=b)
    printed = str(refused.value)
    for part in ("'Some'", "'More'", ", ".join(sorted(shared)), "a key attribute that", "or query"):
        assert part in printed
    if len(other) > len(shared):
        assert "every row in 'More' would also appear in 'Some'" in printed


def test_a_local_index_and_a_global_one_of_its_sort_attribute_are_refused() -> None:
    """Every row has the PK that a local index is keyed by."""
    local, over_all = LocalIndex("Local", sort="day"), Index("Over", partition="day", sort="at")
    with pytest.raises(DeclarationError, match="every row in 'Over' would also appear in 'Local'"):
        declare(a=local, b=over_all)
    with pytest.raises(DeclarationError, match=r"'Local' would not be sparse: .* of index 'Day'"):
        declare(a=local, b=Index("Day", partition="day"))
    with pytest.raises(DeclarationError, match=r"'Local' would not be sparse: .* of index 'Again'"):
        declare(a=local, b=LocalIndex("Again", sort="day"))


def test_an_index_is_not_entered_by_the_rows_of_a_sharded_one_or_is_refused() -> None:
    """The shard is a key attribute too, of the sharded index alone."""
    sharded = Index("Sharded", partition="day", shards=4)
    with pytest.raises(DeclarationError, match=r"'Plain' would not be sparse: .* index 'Sharded'"):
        declare(a=Index("Plain", partition="day"), b=sharded)
    taken = Index("Taken", partition=number("_Sharded_shard"))
    with pytest.raises(DeclarationError, match=r"'Taken' would not be sparse: .* index 'Sharded'"):
        declare(a=taken, b=sharded)


def test_an_index_that_two_others_fill_together_is_refused() -> None:
    """A row in both of the others has all of its key attributes."""
    indexes = [Index(name, partition=name[0], sort=name[1]) for name in ("ab1", "bc1", "ac1")]
    with pytest.raises(DeclarationError, match=r"'ab1' .* of 'bc1' and 'ac1' taken together"):
        declare(**{index.name: index for index in indexes})


def test_indexes_may_share_an_attribute_while_each_has_one_of_its_own() -> None:
    declared = declare(
        a=Index("ByRoom", partition="room", sort="day"),
        b=Index("ByShift", partition="shift", sort="day"),
        c=LocalIndex("Local", sort="at"),
    )
    assert len(declared.indexes) == 4


def test_an_index_of_the_tables_own_key_is_refused() -> None:
    """Every row has these attributes, so every row would be in it."""
    for name in ("PK", "SK", "_owner", "data"):
        with pytest.raises(DeclarationError, match=f"is keyed by {name}, which every row"):
            declare(mine=Index("Mine", partition=name))
    with pytest.raises(DeclarationError, match="is keyed by SK, which every row"):
        declare(mine=LocalIndex("Mine", sort="SK"))
    with pytest.raises(DeclarationError, match="is keyed by PK, which every row"):
        declare(mine=Index("Mine", partition="day", sort="PK"))
