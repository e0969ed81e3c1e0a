"""A fingerprint changes with the code that derives rows, and with nothing else."""

import ast
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from adminview.model.fingerprint import fingerprint

VIEW = '''
"""Things."""
OPEN = {"A", "B"}
asked = AccessPattern("all", partition="X", about="Everything")

@view(things)
def thing(item):
    """Show a thing."""
    # as it is
    yield Row(f"THING#{item['id']}é{item['n']:>5}", "SK")
'''


def of(text: str) -> str:
    return fingerprint({"sources": []}, [text])


def test_it_is_the_same_on_every_python() -> None:
    """Hold the value that 3.11, 3.12 and 3.13 agree on."""
    assert of(VIEW) == "48aea7f3d901"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# as it is", "# otherwise"),
        ("Show a thing.", "Show something."),
        ('"""Things."""', ""),
        ("Everything", "All of it"),
        ('"SK")', "'SK')"),
    ],
)
def test_it_stays_when_only_words_for_people_change(old: str, new: str) -> None:
    assert old in VIEW
    assert of(VIEW.replace(old, new)) == of(VIEW)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('{"A", "B"}', '{"AB"}'),
        ("THING#", "THINGS#"),
        (":>5", ":>6"),
        ('"SK"', '"SK2"'),
        ("item['n']", "item['m']"),
        ("partition=", "sort="),
    ],
)
def test_it_moves_when_what_is_derived_may_change(old: str, new: str) -> None:
    assert old in VIEW
    assert of(VIEW.replace(old, new)) != of(VIEW)


def test_it_moves_with_the_shape() -> None:
    assert fingerprint({"sources": ["Orders"]}, [VIEW]) != of(VIEW)


def test_two_threads_never_parse_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pythons that people have fail then, now and then, by no fault of the code."""
    real, parsing, met = ast.parse, threading.Semaphore(1), []

    def alone(code: str, **named: Any) -> ast.Module:
        met.append(parsing.acquire(blocking=False))
        time.sleep(0.001)  # the others would come meanwhile
        parsing.release()
        return real(code, **named)  # type: ignore[no-any-return]

    with monkeypatch.context() as patch, ThreadPoolExecutor(8) as pool:
        patch.setattr(ast, "parse", alone)
        prints = set(pool.map(lambda _: fingerprint({}, ["a = 1"]), range(40)))
    assert met == [True] * 40
    assert len(prints) == 1
