"""The laws hold for a plan between any two models, wherever it stops."""

import json
from dataclasses import replace
from typing import Any

from hypothesis import assume, given, note
from hypothesis import strategies as st

from adminview.cli.model_lock.model_diff import Description
from adminview.model import Total
from tests.support.plan_simulator import World, index, model, question

KEYS = (("k1",), ("k1", "s1"), ("k2",), ("k2", "s1"), ("k3", "s2"))
INCLUDED = ((), ("data",), ("data", "_at"))
# A name is always the same index, as plans ask for: names differ where indexes do.
INDEXES = [
    index(f"{'-'.join(key)}-{number}", *key, include=include)
    for key in KEYS
    for number, include in enumerate(INCLUDED)
]
# One total, as it may be declared one after the other: rebuilt, changed, and back again.
TOTALS = [
    Total("DailySales", sort="day", **more).shape()
    for more in (
        {},
        {"epoch": 2, "epoch_was": 1},
        {"epoch": 2},
        {"epoch": 3, "epoch_was": 2},
        {"sums": ["units"]},
        {"sums": ["units"], "epoch": 2, "epoch_was": 1},
    )
]
SOURCES = ("Orders", "Users", "Products")


@st.composite
def models(draw: st.DrawFn) -> Description:
    """Make a model of a few sources, indexes and access patterns."""
    sources = draw(st.lists(st.sampled_from(SOURCES), min_size=1, unique=True))
    code = {name: draw(st.sampled_from("abc")) for name in sorted(sources)}
    chosen = draw(
        st.lists(st.sampled_from(INDEXES), max_size=4, unique_by=lambda index_: index_["name"])
    )
    # An access pattern's name says its key, so that many changes are possible ones.
    patterns: dict[str, Any] = {}
    for chosen_index in [*chosen, None]:
        for number in range(2):
            if draw(st.booleans()):
                key = (
                    "-".join(name for name, _ in chosen_index["partition"] + chosen_index["sort"])
                    if chosen_index
                    else "t"
                )
                patterns[f"by-{key}-{number}"] = question(f"by-{key}-{number}", chosen_index)
    total = draw(st.sampled_from([None, *TOTALS]))
    for name in ("sales", "by-t-0", "by-k1-1") if total else ():  # new ones, and some that move
        if draw(st.booleans()):
            patterns[name] = question(name, total)
    if total:  # views refer to the totals that they contribute to
        code = {name: f"{digest}{TOTALS.index(total)}" for name, digest in code.items()}
    return model(code, tuple(chosen), tuple(patterns.values()), (total,) if total else ())


def follow(world: World, targets: list[tuple[Description, int, bool]]) -> Description:
    """Go some steps towards each target, perhaps with half a step at the end; all of the last."""
    *detours, (last, _, _) = targets
    for target, count, half in detours:
        for _ in range(count):
            plan = world.plan(target)
            if plan.refusals or not plan.steps:
                break
            world.carry_out(plan.steps[0], target)
            note(f"{target['fingerprint']}: {plan.steps[0].title}")
        plan = world.plan(target)
        if half and plan.steps and not plan.refusals:
            world.carry_out(plan.steps[0], target, half=True)
            note(f"{target['fingerprint']}: half of {plan.steps[0].title}")
    assume(not world.plan(last).refusals)
    for step in world.reach(last):
        note(f"{last['fingerprint']}: {step.title}")
    return last


@given(models(), models())
def test_a_plan_ends_with_what_is_declared_and_breaks_no_law_on_the_way(
    old: Description, new: Description
) -> None:
    world = World()
    world.reach(old)
    assert list(world.unmet(old)) == []
    world.now += 1000
    assume(not world.plan(new).refusals)
    world.reach(new)
    assert list(world.unmet(new)) == []
    assert world.plan(new).steps == ()


@given(
    models(),
    st.lists(st.tuples(models(), st.integers(0, 9), st.booleans()), min_size=1, max_size=4),
    st.booleans(),
)
def test_a_plan_goes_on_from_wherever_another_stopped(
    first: Description,
    targets: list[tuple[Description, int, bool]],
    settled: bool,  # noqa: FBT001 - drawn
) -> None:
    """Stop after any step, or in the middle of it, and choose another model or the same again."""
    world = World()
    if settled:
        world.reach(first)
        world.now += 1000
    last = follow(world, targets)
    assert list(world.unmet(last)) == []
    assert world.plan(last).steps == ()


@given(models(), models(), st.integers(0, 9), st.booleans())
def test_a_plan_that_was_stopped_ends_as_if_it_had_not_been(
    old: Description,
    new: Description,
    count: int,
    half: bool,  # noqa: FBT001 - drawn
) -> None:
    world = World()
    world.reach(old)
    world.now += 1000
    assume(not world.plan(new).refusals)
    follow(world, [(new, count, half), (new, 0, False)])
    assert list(world.unmet(new)) == []


@given(models(), models())
def test_what_a_plan_shows_first_is_what_is_done(old: Description, new: Description) -> None:
    world = World()
    world.reach(old)
    world.now += 1000
    plan = world.plan(new)
    assume(not plan.refusals)
    shown = [step.title for step in plan.steps]
    done = [step.title for step in world.reach(new) if step.kind != "wait"]
    assert done == [title for title in shown if not title.startswith("wait ")]


def test_a_step_is_plain_data() -> None:
    world = World()
    plan = replace(world.plan(model({"Orders": "a"}, (INDEXES[1],))), notes=("n",))
    assert json.loads(json.dumps(plan.data()))["steps"][0]["step"] == "add-sources"
