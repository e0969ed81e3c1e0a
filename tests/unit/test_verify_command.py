"""`adminview verify`: its exit status, its words, and how it goes on after a stop."""

import json
import stat
from collections.abc import Iterator
from math import inf
from pathlib import Path
from typing import Any

import pytest

from adminview.bulk.verify.run import VerifyRun
from adminview.cli.bulk.verify_state import StateFile
from adminview.model.errors import SettingsError
from tests.support.fakes import refusal
from tests.support.terminal import at_a_terminal
from tests.support.verify_tables import Lab, adds_up, found


@pytest.fixture
def lab() -> Lab:
    """Let some things be in step, and some not."""
    lab = Lab()
    for number in range(12):
        lab.put(f"t{number}", x="1", y="2", synced=number % 3 != 0)
    lab.view["Z", "1"] = {"PK": {"S": "Z"}, "SK": {"S": "1"}, "_owner": {"S": "Things/z"}}
    lab.view["Z", "2"] = {"PK": {"S": "Z"}, "SK": {"S": "2"}}
    lab.dynamodb.page_size = 3
    return lab


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """Say where the state goes."""
    return tmp_path / "verify.json"


def stops_after(calls: int) -> Iterator[bool]:
    yield from [False] * calls
    while True:
        yield True


def test_the_exit_status_says_equal_different_or_unfinished(lab: Lab, state: Path) -> None:
    status, said = lab.command(state)
    assert status == 1
    assert said.endswith(
        "the view is not equal to the sources: 10 differences left; --repair repairs them\n"
    )
    status, said = lab.command(state, repair=True)
    assert status == 0
    assert said.endswith("the view is equal to the sources, after 10 repairs\n")
    status, said = lab.command(state)
    assert status == 0
    assert said.endswith("the view is equal to the sources\n")
    lab.stops = lambda: True
    status, said = lab.command(state)
    assert status == 2
    assert said.endswith("stopped; the same command resumes here\n")


def test_what_differs_is_listed_with_counts_that_add_up(lab: Lab, state: Path) -> None:
    _, said = lab.command(state)
    lines = [" ".join(line.split()) for line in said.splitlines()]
    assert "missing Things/t0 THING#t0 | x it is not in the view" in lines
    assert "orphaned Things/z Z | 1 its item does not exist" in lines
    assert "orphaned none Z | 2 it has no owner" in lines
    assert "items and rows compared 12 + 18" in lines
    assert "= equal 24" in lines
    assert "+ differing 6" in lines
    assert "differences 10 (8 missing, 2 orphaned)" in lines


def test_a_long_list_is_cut(lab: Lab, state: Path) -> None:
    for number in range(60):
        lab.put(f"n{number}", x="1", synced=False)
    _, said = lab.command(state)
    assert "and 20 more (--json lists 70)" in said


def test_json_holds_the_same_for_machines(lab: Lab, state: Path) -> None:
    status, said = lab.command(state, as_json=True)
    told = json.loads(said)
    assert told["status"] == status == 1
    assert told["finished"] is True
    assert told["differences"] == {
        "missing": 8,
        "stale": 0,
        "orphaned": 2,
        "two-owners": 0,
        "failing": 0,
    }
    assert len(told["listed"]) == 10
    assert told["items"] + told["rows"] == told["equal"] + told["in_flight"] + told["differing"]
    assert told["listed"][0].keys() >= {"kind", "owner", "row", "what", "fate"}


def test_on_a_terminal_a_bar_shows_how_far_it_is_beside_the_output(
    lab: Lab,
    state: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    at_a_terminal(monkeypatch)
    status, said = lab.command(state, as_json=True)
    assert status == 1
    assert json.loads(said)["finished"]
    bar = capsys.readouterr().err
    assert "items and rows" in bar
    assert "/30" in bar


def test_a_sample_speaks_only_of_what_it_looked_at(lab: Lab, state: Path) -> None:
    _, said = lab.command(state, sample=0.5)
    assert "the compared part of the view is" in said.splitlines()[-1]


@pytest.mark.parametrize("repair", [False, True])
@pytest.mark.parametrize("segments", [1, 2])
def test_stopped_at_every_page_it_finds_the_same_as_in_one_go(
    lab: Lab, state: Path, segments: int, *, repair: bool
) -> None:
    options: dict[str, Any] = {"as_json": True, "repair": repair, "segments": segments}
    whole: dict[str, Any] = {}
    if not repair:
        whole = json.loads(lab.command(state, **options)[1])
    runs = 0
    status = 2
    while status == 2:
        begun = lab.dynamodb.calls.count("scan")
        lab.stops = lambda begun=begun: lab.dynamodb.calls.count("scan") > begun  # type: ignore[misc]  # of this round
        status, said = lab.command(state, **options)
        assert state.exists() == (status == 2)
        runs += 1
    told = json.loads(said)
    assert runs > 3
    assert sum(told["differences"].values()) == 10
    if repair:
        assert (status, told["repaired"], told["left"]) == (0, 10, 0)
        assert not found(lab.verify())
    else:
        by_row = {str(one["row"]): one for one in whole["listed"]}
        assert {str(one["row"]): one for one in told["listed"]} == by_row
        assert {**told, "listed": 0} == {**whole, "listed": 0}


def test_killed_between_any_two_calls_a_repair_is_completed_by_the_next_run(state: Path) -> None:
    """The process ends without a word; all that is left is the file."""
    for calls in range(2, 60, 3):
        lab = Lab()
        lab.put("a", x="1", y="2", z="3")
        for row in [("THING#a", "x"), ("THING#a", "y")]:
            lab.view.pop(row)
        left = iter(range(calls))

        def kill(_: str, left: Any = left) -> None:
            if next(left, None) is None:
                raise SystemExit

        lab.dynamodb.before = kill
        file = StateFile(state, lambda: lab.now)  # noqa: B023 - used in this round
        verifier = lab.verifier(journal=file)
        run = verifier.begin(lab.scope(repair=True))
        try:
            verifier.verify(run)
        except SystemExit:
            lab.dynamodb.before = lambda _: None
            status, said = lab.command(state, repair=True, as_json=True)
            assert status == 0
            assert json.loads(said)["left"] == 0
        lab.dynamodb.before = lambda _: None
        file.remove()
        assert not found(lab.verify())


def test_a_repair_that_was_begun_is_completed_first_even_if_its_item_is_gone(
    lab: Lab, state: Path
) -> None:
    """Its rows were half written when the item was deleted: no scan of the source shows it."""
    lab.put("gone", x="1", synced=False)
    written = 0

    def die(name: str) -> None:
        nonlocal written
        written += name == "put_item"
        if written == 2:
            raise SystemExit

    lab.dynamodb.page_size = 100
    lab.dynamodb.before = die
    verifier = lab.verifier(journal=StateFile(state, lambda: lab.now))
    with pytest.raises(SystemExit):
        verifier.verify(verifier.begin(lab.scope(repair=True)))
    intent = json.loads(state.read_text())["repairing"]
    assert [one["owner"] for one in intent[0]] == [intent[0][0]["owner"]] * len(intent[0])
    id_ = intent[0][0]["owner"].partition("/")[2]
    del lab.dynamodb.tables["Things"][id_,]
    lab.dynamodb.before = lambda _: None
    status, _ = lab.command(state, repair=True)
    assert status == 0
    assert not [key for key in lab.view if key[0] == f"THING#{id_}"]
    assert not found(lab.verify())


def test_the_state_is_for_its_owner_alone_and_goes_when_the_run_is_finished(
    lab: Lab, state: Path
) -> None:
    lab.stops = lambda: True
    lab.command(state)
    assert stat.S_IMODE(state.stat().st_mode) == 0o600
    assert list(state.parent.iterdir()) == [state]
    lab.stops = lambda: False
    _, said = lab.command(state)
    assert said.startswith(f"resuming from {state}")
    assert list(state.parent.iterdir()) == []


@pytest.mark.parametrize(
    "other", [{"source": "Notes"}, {"segments": 2}, {"sample": 0.5}, {"repair": True}]
)
def test_the_state_of_another_command_is_refused(
    lab: Lab, state: Path, other: dict[str, Any]
) -> None:
    lab.stops = lambda: True
    lab.command(state)
    with pytest.raises(SettingsError, match="finish it with the same options, name another"):
        lab.command(state, **other)
    assert lab.command(state, restart=True, **other)[0] == 2


@pytest.mark.parametrize("text", ["", "[]", '{"kind": "something else"}'])
def test_a_file_that_is_no_state_is_refused(lab: Lab, state: Path, text: str) -> None:
    state.write_text(text)
    with pytest.raises(SettingsError, match="not a state file of this version"):
        lab.command(state)
    assert state.read_text() == text


def test_when_aws_goes_on_refusing_the_state_is_kept_and_the_reason_told(
    lab: Lab, state: Path
) -> None:
    def refuse(name: str) -> None:
        if name == "query":
            raise refusal("AccessDeniedException")

    lab.dynamodb.before = refuse
    status, said = lab.command(state)
    assert status == 2
    assert said.endswith(
        "find rows of AdminViewTable by their owner: AWS answered AccessDeniedException; "
        "the same command resumes here\n"
    )
    lab.dynamodb.before = lambda _: None
    status, said = lab.command(state, as_json=True)
    assert status == 1
    assert sum(json.loads(said)["differences"].values()) == 10


def test_the_file_is_written_about_once_a_second_and_at_once_for_a_repair(
    lab: Lab, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[Any] = []
    monkeypatch.setattr(StateFile, "_write", lambda _, what: written.append(what))
    file = StateFile(state, lambda: lab.now)
    run = VerifyRun(lab.scope(), [])
    for _ in range(50):
        file.note(run)
        lab.now += 0.1
    assert 5 <= len(written) <= 6
    file.note(run, since=inf)
    file.note(run, since=inf)
    assert len(written) >= 7


def test_a_run_written_down_and_read_back_is_the_same(lab: Lab) -> None:
    verifier = lab.verifier()
    stops = stops_after(6)
    run = lab.verifier(stopped=lambda: next(stops)).begin(lab.scope())
    lab.verifier(stopped=lambda: next(stops)).verify(run)
    again = verifier.begin(lab.scope())
    written = json.loads(json.dumps(run.to_json()))
    again.restore(written)
    assert json.loads(json.dumps(again.to_json())) == written
    assert written["candidates"]
    assert written["open"]
    verifier.verify(again)
    assert adds_up(again)
    assert len(found(again)) == 10


def test_a_state_of_another_deployment_is_refused_though_its_tables_have_the_same_names(
    lab: Lab, state: Path
) -> None:
    lab.stops = lambda: True
    assert lab.command(state)[0] == 2
    other = Lab()
    with pytest.raises(SettingsError, match="unfinished verification with place"):
        other.command(state)


def test_two_commands_do_not_share_a_state(lab: Lab, state: Path) -> None:
    with (
        StateFile(state).locked(),
        pytest.raises(SettingsError, match="another verification is using"),
    ):
        lab.command(state)


def test_no_repair_is_advised_for_what_none_can_mend(state: Path) -> None:
    lab = Lab()
    lab.write("Things", {"id": "poison"}, synced=False)
    status, said = lab.command(state)
    assert status == 1
    assert said.endswith("is not equal to the sources: 1 difference left\n")
