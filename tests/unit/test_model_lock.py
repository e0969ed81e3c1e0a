"""The model changes only with its lock and a reason."""

import json
from copy import deepcopy
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from adminview import views
from adminview.cli.commands import model as command
from adminview.cli.model_lock import lock as files
from adminview.cli.model_lock.lock import Lock
from adminview.model import Total
from adminview.model.errors import SettingsError
from tests.support.model import registry

TODAY = date(2026, 11, 16)
REASON = "The panel lists orders by their day"


def described(**changes: Any) -> dict[str, Any]:
    """Describe the model, as it is or otherwise."""
    return deepcopy(registry().description()) | changes


@pytest.fixture
def lock(tmp_path: Path) -> Lock:
    """Begin with the model locked, in a folder of its own."""
    lock = Lock(tmp_path)
    lock.write(described(), "The model as it is", TODAY)
    assert list(lock.problems(described())) == []
    return lock


@pytest.mark.shop
def test_the_model_is_locked_with_a_reason() -> None:
    """If this fails: adminview model lock --reason "why it changes", and commit both files."""
    assert list(Lock().problems(views.registry().description())) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"fingerprint": "000000000000"},
        {"indexes": registry().description()["indexes"][1:]},
        {"code": dict.fromkeys(registry().description()["code"], "0")},
        {"views": []},
    ],
)
def test_a_changed_model_is_reported_with_what_to_do(lock: Lock, changes: dict[str, Any]) -> None:
    problem = next(lock.problems(described(**changes)))
    assert problem.startswith("model.lock.json does not describe the model ")
    assert 'run `adminview model lock --reason "why it changes"`' in problem


def test_a_lock_without_its_entry_is_not_enough(lock: Lock) -> None:
    moved = described(fingerprint="000000000000")
    lock.path.write_text(files.as_text(moved))
    (problem,) = lock.problems(moved)
    assert problem.startswith("the newest entry of MODEL_CHANGES.md is not about the model 0000")
    assert "adminview model lock --reason" in problem


def test_an_entry_without_its_lock_is_not_enough(lock: Lock) -> None:
    moved = described(fingerprint="000000000000")
    before = lock.path.read_text()
    lock.write(moved, REASON, TODAY)
    lock.path.write_text(before)
    (problem,) = lock.problems(moved)
    assert problem.startswith("model.lock.json does not describe the model 000000000000")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("2026-11-16", "yesterday", "needs a date such as 2026-01-31, not 'yesterday'"),
        ("2026-11-16", "2026-11-31", "needs a date such as 2026-01-31, not '2026-11-31'"),
        ("The model as it is", "", "needs a reason of 2 words"),
        ("The model as it is", "- Rows: of Orders must be rebuilt", "needs a reason"),
    ],
)
def test_an_entry_has_a_day_and_a_reason(lock: Lock, old: str, new: str, problem: str) -> None:
    lock.changes.write_text(lock.changes.read_text().replace(old, new))
    assert problem in "; ".join(lock.problems(described()))


def test_the_newest_entry_comes_first(lock: Lock) -> None:
    text = lock.changes.read_text()
    lock.changes.write_text(text + "\n## 2026-12-24 - 000000000000\n\nPut below by hand\n")
    (problem,) = lock.problems(described())
    assert problem.endswith("the newest entry must come first")


def test_a_lock_edited_by_hand_is_noticed(lock: Lock) -> None:
    lock.path.write_text(json.dumps(described()))
    (problem,) = lock.problems(described())
    assert "edited by hand" in problem


def test_two_words_are_a_reason(lock: Lock) -> None:
    lock.write(described(fingerprint="000000000000"), "more indexes", TODAY)
    assert "\n\nmore indexes\n" in lock.changes.read_text()


def test_a_change_adds_an_entry_with_its_reason_and_what_changed(lock: Lock) -> None:
    first = lock.changes.read_text()
    moved = described(fingerprint="000000000000")
    moved["indexes"] = moved["indexes"][1:]
    lock.write(moved, f"  {REASON}\nand month ", date(2026, 11, 17))
    assert lock.changes.read_text() == first.replace(
        "## 2026-11-16",
        f"## 2026-11-17 - 000000000000\n\n{REASON} and month\n\n- Indexes: dropped: GSI1\n\n"
        "## 2026-11-16",
    )
    assert lock.path.read_text().endswith("}\n")
    assert lock.read() == moved
    assert list(lock.problems(moved)) == []


@pytest.mark.parametrize("reason", ["", "  ", "why", "... !! ?"])
def test_a_change_without_a_reason_is_refused(lock: Lock, reason: str) -> None:
    before = lock.changes.read_text(), lock.path.read_text()
    with pytest.raises(SettingsError, match="give a reason of 2 words or more"):
        lock.write(described(fingerprint="000000000000"), reason, TODAY)
    assert (lock.changes.read_text(), lock.path.read_text()) == before


def test_nothing_is_locked_twice(lock: Lock) -> None:
    with pytest.raises(SettingsError, match="nothing to lock"):
        lock.write(described(), REASON, TODAY)


def with_total(fingerprint: str, *epochs: int) -> dict[str, Any]:
    """Describe the model with one total of these epochs; with none, the total is dropped."""
    total = Total("Sales", sort="day").shape()
    return described(
        fingerprint=fingerprint, totals=[total | {"epoch": [*epochs]}] if epochs else []
    )


@pytest.mark.parametrize(
    ("declared", "again", "instead"),
    [
        ([(1, 0), ()], (1, 0), 2),
        ([(1, 0), (2, 1), (2, 0), ()], (1, 0), 3),
        ([(1, 0), (2, 1), (2, 0), ()], (2, 0), 3),
        ([(1, 0), (2, 0)], (1, 0), 2),  # epoch 2 is declared still
        ([(1, 0), (2, 1), (1, 0)], (2, 1), 3),  # a rebuild that was taken back
        ([(1, 0), (), (2, 0)], (2, 1), 3),
        ([(1, 0), (), (2, 0), ()], (1, 0), 3),
    ],
)
def test_an_epoch_is_never_declared_again(
    lock: Lock, declared: list[tuple[int, ...]], again: tuple[int, ...], instead: int
) -> None:
    for number, epochs in enumerate(declared):
        model = with_total(f"{number:012d}", *epochs)
        lock.write(model, REASON, TODAY)
        assert list(lock.problems(model)) == []
        assert lock.read() == model
    kept = lock.path.read_text()
    problem = f"total 'Sales' had epoch .* before.*Declare epoch={instead}$"
    with pytest.raises(SettingsError, match=problem):
        lock.write(with_total("f" * 12, *again), REASON, TODAY)
    assert lock.path.read_text() == kept
    assert any(
        "Declare epoch=" in problem for problem in lock.problems(with_total("f" * 12, *again))
    )
    new = with_total("e" * 12, instead, 0)
    lock.write(new, REASON, TODAY)
    assert list(lock.problems(new)) == []


def test_an_epoch_that_is_still_kept_can_answer_again(lock: Lock) -> None:
    for number, epochs in enumerate([(1, 0), (2, 1), (1, 0), (3, 1), (3, 0)]):
        lock.write(with_total(f"{number:012d}", *epochs), REASON, TODAY)
    assert lock.retired() == {"Sales": [1, 2]}


@pytest.mark.parametrize("retired", [7, {"Sales": 1}, {"Sales": ["1"]}])
def test_retired_epochs_that_nobody_can_read_are_named(lock: Lock, retired: Any) -> None:
    lock.path.write_text(json.dumps(described(retired_epochs=retired)))
    with pytest.raises(SettingsError, match=r"model\.lock\.json does not describe a model"):
        lock.retired()


def test_the_command_writes_both_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "Lock", lambda: Lock(tmp_path))
    assert CliRunner().invoke(command.app, ["lock"]).exit_code == 2
    done = CliRunner().invoke(command.app, ["lock", "--reason", REASON])
    assert done.output == (
        "wrote model.lock.json and MODEL_CHANGES.md: commit both with the change\n"
    )
    assert list(Lock(tmp_path).problems(described())) == []
    again = CliRunner().invoke(command.app, ["lock", "--reason", REASON])
    assert isinstance(again.exception, SettingsError)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<<<<<<< HEAD",
        "[]",
        "{}",
        '{"fingerprint": 1}',
        json.dumps(described(indexes=[{"name": "GSI1"}])),
        json.dumps(described(indexes=7)),
        json.dumps(described(patterns=[1])),
        json.dumps(described(code=[])),
    ],
)
def test_a_file_that_describes_no_model_is_named(lock: Lock, text: str) -> None:
    lock.path.write_text(text)
    with pytest.raises(SettingsError, match=r"model\.lock\.json does not describe a model"):
        lock.read()
