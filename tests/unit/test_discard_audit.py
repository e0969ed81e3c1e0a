"""Discarded dead letters are recorded in the audit file."""

import json
import os
import stat
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from adminview.aws.dead_letter_consumer import Message
from adminview.cli.private_files import Audit
from tests.support.dead_letter_queue import letter_body, message

LETTERS = [message(letter_body("a"), "m-1"), message("no\nletter \u2028 \U0001f600", "m-2")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Name a file that is not there yet."""
    return tmp_path / "audit.jsonl"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().split("\n") if line]


def test_each_dead_letter_is_a_line_with_user_and_reason(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "ada")
    Audit(path).write("discard", "a test", LETTERS)
    first, second = lines(path)
    assert (first["by"], first["action"], first["reason"]) == ("ada", "discard", "a test")
    assert datetime.fromisoformat(first["at"]).tzinfo
    assert [(entry["id"], entry["letter"]) for entry in (first, second)] == [
        (letter.id, letter.body) for letter in LETTERS
    ]


def test_nobody_else_may_read_it(path: Path) -> None:
    before = os.umask(0)
    try:
        Audit(path).write("discard", "a test", LETTERS)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_it_is_only_ever_added_to(path: Path) -> None:
    for reason in ("one", "two"):
        Audit(path).write("discard", reason, LETTERS[:1])
    assert [line["reason"] for line in lines(path)] == ["one", "two"]


def test_it_is_on_the_disk_before_anything_is_deleted(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda _: synced.append(len(lines(path))))
    Audit(path).write("discard", "a test", LETTERS)
    assert synced == [2]


def test_a_file_that_cannot_be_written_is_an_error(path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        Audit(path / "below").write("discard", "a test", list[Message]())
