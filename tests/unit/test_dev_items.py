"""Items to load are checked before any is written; items are kept as they are."""

from decimal import Decimal
from pathlib import Path

import pytest

from adminview.checks.read_sample import read_sample
from adminview.item_files import line_of
from adminview.local.dev.items import WaitingItems, check_writes, image, read_items
from adminview.local.source_writes import Delete, Put
from adminview.model.errors import SettingsError
from tests.support.model import registry


def test_a_line_is_an_item_in_plain_json(tmp_path: Path) -> None:
    file = tmp_path / "items.jsonl"
    file.write_text('{"source": "Users", "item": {"userId": "u1", "score": 0.1}}\n\n')
    (put,) = read_items(str(file))
    assert put == Put("Users", {"userId": "u1", "score": Decimal("0.1")})


def test_a_kept_item_is_read_as_it_was(tmp_path: Path) -> None:
    item = {"userId": "u1", "raw": b"\x00", "tags": {"a", "b"}, "list": [{"deep": None}]}
    file = tmp_path / "items.jsonl"
    file.write_text(line_of("Users", image(item)))
    assert read_items(str(file)) == [Put("Users", item)]


def test_items_to_load_kept_items_and_samples_are_files_of_one_form(tmp_path: Path) -> None:
    plain = '{"source": "Users", "item": {"userId": "u1", "age": 7}}'
    typed = line_of("Users", image({"userId": "u1", "age": 7}))
    assert typed == '{"source": "Users", "item": {"userId": {"S": "u1"}, "age": {"N": "7"}}}'
    file = tmp_path / "items.jsonl"
    file.write_text(f"{plain}\n{typed}\n")
    put = Put("Users", {"userId": "u1", "age": 7})
    assert read_items(str(file)) == [put, put]
    assert WaitingItems(tmp_path).fitting(registry()) == [put, put]
    first, second = read_sample([str(file)], registry())
    assert first == second
    assert first.image == image(put.item)


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        '{"source": "Users"}',
        '{"item": {}}',
        '{"source": "Users", "item": 1}',
        '{"source": 1, "item": {"userId": "u1"}}',
        '{"source": "Users", "item": {"userId": {"S": 1}}}',
        '{"source": "Users", "item": {"userId": NaN}}',
    ],
)
def test_a_line_that_is_no_item_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "items.jsonl"
    file.write_text(f'{{"source": "Users", "item": {{"userId": "u1"}}}}\n{line}\n')
    with pytest.raises(SettingsError, match=r"items\.jsonl:2: ."):
        read_items(str(file))


def test_an_item_of_an_undeclared_source_or_without_its_key_is_refused() -> None:
    check_writes([Put("Users", {"userId": "u1"}), Delete("Users", {"userId": "u1"})], registry())
    with pytest.raises(SettingsError, match=r"^no source is named 'User'; declared are Orders"):
        check_writes([Put("User", {"userId": "u1"})], registry())
    with pytest.raises(SettingsError, match=r"an item of 'Users' cannot be loaded: .*userId"):
        check_writes([Put("Users", {"id": "u1"})], registry())


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (line_of("User", image({"userId": "u1"})), "no source is named 'User'"),
        (line_of("Users", image({"id": "u1"})), "an item of 'Users' cannot be loaded"),
    ],
)
def test_an_item_of_a_file_is_refused_with_its_line(
    tmp_path: Path, line: str, problem: str
) -> None:
    file = tmp_path / "items.jsonl"
    file.write_text(f"{line_of('Users', image({'userId': 'u1'}))}\n{line}\n")
    with pytest.raises(SettingsError, match=rf"items\.jsonl:2: {problem}"):
        check_writes(read_items(str(file)), registry())


def test_items_that_no_table_takes_wait_in_the_file(tmp_path: Path) -> None:
    lines = [line_of("Users", image({"userId": "u1"})), line_of("Later", image({"id": "1"}))]
    (tmp_path / "items.jsonl").write_text("\n".join(lines))
    waiting = WaitingItems(tmp_path)
    taken = waiting.fitting(registry())
    assert [put.source for put in taken] == ["Users"]
    assert waiting.fitting(registry()) == taken  # until they are written
    waiting.remove(taken)
    waiting.add("Users", [image({"id": "of another key"})])
    assert waiting.fitting(registry()) == []
    assert waiting.save(None, []) == 2  # type: ignore[arg-type]  # no table is read
    last = line_of("Users", image({"id": "of another key"}))
    assert (tmp_path / "items.jsonl").read_text().splitlines() == [lines[1], last]
    assert [path.name for path in tmp_path.iterdir()] == ["items.jsonl"]
