"""Synthesis says when a change needs `adminview apply`: it has several changes of indexes."""

import json
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from aws_cdk import App, Stack
from aws_cdk.assertions import Annotations, Match

from adminview.cdk.index_changes import note_index_changes
from adminview.cdk.options.deployment import DeploymentOptions
from adminview.cdk.options.rollout_phase import RolloutPhase
from adminview.cli.model_lock.lock import Lock
from adminview.model import Index, Registry
from infra.stages import DEV
from tests.support.shop import registry

NEW = (Index("New1", partition="new1"), Index("New2", partition="new2"))
BOTH = "index New1 is created, index New2 is created"


def model(*more: Index) -> Registry:
    return replace(registry(), indexes=(*registry().indexes, *more))


@pytest.fixture
def lock(tmp_path: Path) -> Lock:
    """Lock the shop's model."""
    shop_lock = Lock(tmp_path)
    shop_lock.write(model().description(), "the first model", date(2026, 1, 1))
    return shop_lock


def notes(lock: Lock, views: Registry, phase: RolloutPhase | None = None) -> list[str]:
    stack = Stack(App(), "Stack")
    options = DeploymentOptions(views=views, stage=DEV, phase=phase or RolloutPhase())
    note_index_changes(stack, options, lock.folder)
    entries = Annotations.from_stack(stack).find_info("*", Match.any_value())
    return [str(entry.entry.data) for entry in entries]


def test_the_first_model_has_no_note(lock: Lock, tmp_path: Path) -> None:
    assert notes(lock, model()) == []
    assert notes(Lock(tmp_path / "none"), model(*NEW)) == []


@pytest.mark.parametrize("locked", [False, True])
def test_several_new_indexes_name_the_command(lock: Lock, locked: bool) -> None:  # noqa: FBT001
    views = model(*NEW)
    if locked:
        lock.write(views.description(), "two more indexes", date(2026, 1, 2))
    (note,) = notes(lock, views)
    assert BOTH in note
    assert "adminview apply --stage dev" in note
    assert "a new table gets all indexes at once" in note
    assert notes(lock, views, RolloutPhase(planned=True)) == [], "a plan makes one at a time"


@pytest.mark.parametrize("locked", [False, True])
def test_one_new_index_has_no_note(lock: Lock, locked: bool) -> None:  # noqa: FBT001
    views = model(NEW[0])
    if locked:
        lock.write(views.description(), "one more index", date(2026, 1, 2))
    assert notes(lock, views) == []


def test_only_the_last_change_counts(lock: Lock) -> None:
    for number, more in enumerate((NEW[:1], NEW), start=2):
        views = model(*more)
        lock.write(views.description(), "one more index", date(2026, 1, number))
    assert notes(lock, model(*NEW)) == []
    assert json.loads(lock.path.read_text())["fingerprint"] == model(*NEW).fingerprint
