"""The bulk work of a plan."""

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from adminview.cli.bulk.segment_pool import SegmentOutcome
from adminview.cli.planning.apply import BulkBuilder
from adminview.cli.planning.steps import DeployCode


@dataclass
class Progress:
    """Marks of runs."""

    done: list[Any] = field(default_factory=list)

    def invalidate(self, unbuilt: Any, leftovers: Any, names: Any, *, model: str) -> None:
        self.done.append(("spoil", unbuilt, leftovers, names, model))


@dataclass
class Bulk:
    """Runs that are begun and gone through."""

    done: list[Any]
    registry: Any = field(
        default_factory=lambda: SimpleNamespace(sources=[SimpleNamespace(name="Orders")])
    )

    def run(self, kind: str, subject: str) -> str:
        return f"{kind}/{subject}"

    def go(self, _: Any, run: str) -> SegmentOutcome:
        self.done.append(run)
        return SegmentOutcome(run, None, "")  # type: ignore[arg-type]  # nobody looks at the counts


@pytest.fixture
def progress() -> Progress:
    """Begin without marks."""
    return Progress()


def builder(progress: Any) -> BulkBuilder:
    bulk: Any = Bulk(progress.done)
    check: Callable[[Any], None] = lambda some: progress.done.append(("check", list(some)))  # noqa: E731
    return BulkBuilder(lambda: bulk, progress, {"fingerprint": "m2"}, bulk.go, check)


def test_a_backfill_checks_that_the_stream_is_followed_and_goes_on(progress: Progress) -> None:
    assert builder(progress).backfill("Orders") == ""
    assert progress.done == [("check", ["Orders"]), "backfill/Orders"]


@pytest.mark.parametrize(
    ("sources", "run"),
    [(["Orders"], "sweep/Orders"), (["Orders", "Users"], "sweep/*"), (["Gone"], "sweep/*")],
)
def test_a_sweep_is_of_one_source_or_of_all_that_is_there(
    progress: Progress, sources: list[str], run: str
) -> None:
    builder(progress).sweep(sources)
    assert progress.done == [run]


def test_other_code_is_announced_before_it_comes(progress: Progress) -> None:
    step = DeployCode(reason="", unbuilt=("a",), leftovers=("b",), attributes=("c",))
    builder(progress).invalidate(step)
    assert progress.done == [("spoil", ("a",), ("b",), ("c",), "m2")]
