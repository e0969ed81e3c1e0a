"""Only their owner may read files that contain keys of customers."""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from adminview.aws.deadline import Deadline
from adminview.cli.private_files import Audit, LetterFile, open_private
from adminview.model.dead_letter import OutgoingLetter
from tests.support.dead_letter_queue import letter_body, message

LETTER = OutgoingLetter(0, None, None, "ViewError", "a reason", '{"key": "user-123"}')


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    """Let a file that is created without a mode be readable by all."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def write_letters(path: Path) -> None:
    LetterFile(path).send([LETTER], deadline=Deadline.after(1))


def write_audit(path: Path) -> None:
    Audit(path).write("discard", "a test", [message(letter_body("a"), "m-1")])


WRITERS = [write_letters, write_audit]


@pytest.mark.parametrize("write", WRITERS)
def test_a_new_file_is_for_its_owner_alone(write: Callable[[Path], None], tmp_path: Path) -> None:
    write(tmp_path / "file")
    assert mode(tmp_path / "file") == 0o600


@pytest.mark.parametrize("write", WRITERS)
def test_a_file_with_a_wider_mode_is_narrowed(
    write: Callable[[Path], None], tmp_path: Path
) -> None:
    path = tmp_path / "file"
    path.touch(0o666)
    write(path)
    assert mode(path) == 0o600


def test_a_narrower_mode_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch(0o200)
    write_letters(path)
    assert mode(path) == 0o200


def test_dead_letters_are_added_and_none_is_lost(tmp_path: Path) -> None:
    file = LetterFile(tmp_path / "letters.jsonl")
    for _ in range(2):
        file.send([LETTER], deadline=Deadline.after(1))
        assert mode(tmp_path / "letters.jsonl") == 0o600
    assert (tmp_path / "letters.jsonl").read_text() == f"{LETTER.body}\n" * 2


def test_a_device_keeps_its_mode() -> None:
    before = mode(Path(os.devnull))
    with open_private(Path(os.devnull)) as file:
        file.write("x")
    assert mode(Path(os.devnull)) == before


def test_a_file_of_another_user_keeps_its_mode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.touch(0o666)
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    open_private(path).close()
    assert mode(path) == 0o666
