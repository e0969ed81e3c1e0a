"""The bulk function: its events, how it divides the work, and that it returns in time."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from unittest.mock import Mock

import pytest

from adminview.aws.event_source_mappings import check_followed
from adminview.aws.metered_client import Metered
from adminview.aws.rate_limit import RateLimiter
from adminview.bulk.runs import Bulk
from adminview.bulk.segment import Segment
from adminview.bulk.verification import Verification
from adminview.bulk.verify.phases import VERIFY_TOTALS
from adminview.bulk.worker import PAGE_RESERVE
from adminview.handlers.bulk import RESERVE, BulkDependencies, dependencies, run_step
from adminview.model.errors import BulkError, SettingsError, TooManyFailuresError
from tests.support.bulk_tables import PROGRESS, RUN, World, never
from tests.support.fakes import TABLE, Context, refusal
from tests.support.totals_lab import TotalsLab, group, groups_of


@dataclass
class RecordingObserver:
    """Records the reported segments."""

    segments: list[Any] = field(default_factory=list)

    def invoked(self, request_id: str) -> None:
        """Record an invocation."""

    def worked(self, segment: Any) -> None:
        self.segments.append(segment)


@dataclass
class Function:
    """The function on tables in memory."""

    world: World = field(default_factory=World)
    observer: RecordingObserver = field(default_factory=RecordingObserver)
    rates: list[Any] = field(default_factory=list)
    checked: list[str] = field(default_factory=list)
    refusal: str = ""

    def __call__(self, seconds: Any = 900, **event: Any) -> Any:
        observer: Any = self.observer
        context = Context(int(seconds * 1000))
        return run_step(event, context, BulkDependencies(self._make, self._check, observer, Mock()))

    def _make(self, reads: RateLimiter, writes: RateLimiter) -> Bulk:
        self.rates.append((reads.per_second, writes.per_second))
        client: Any = self.world.db
        return replace(self.world.bulk, client=Metered(client, RateLimiter(), RateLimiter()))

    def _check(self, _: Mapping[str, str], sources: list[str]) -> None:
        self.checked += sources
        if self.refusal:
            raise SettingsError(self.refusal)


@pytest.fixture
def function() -> Function:
    """Let there be some things and a note."""
    bulk_function = Function()
    for number in range(10):
        bulk_function.world.put(f"t{number}", x="1")
    bulk_function.world.write("Notes", {"about": "t0", "number": 1, "text": "hello"})
    return bulk_function


def test_work_is_cut_into_segments_of_every_source(function: Function) -> None:
    begun = function(step="begin", segments=2)
    assert [
        (segment["run"], segment["segment"], segment["of"]) for segment in begun["segments"]
    ] == [
        ("backfill/Things", 0, 2),
        ("backfill/Things", 1, 2),
        ("backfill/Notes", 0, 2),
        ("backfill/Notes", 1, 2),
    ]
    assert begun["concurrency"] == 8
    assert {segment["tolerated_failures"] for segment in begun["segments"]} == {100}
    assert function.checked == ["Things", "Notes"]
    assert len(function(step="begin", sources=["Notes"])["segments"]) == 16


def test_every_segment_is_an_event_that_the_function_takes_and_so_is_the_end_of_the_run(
    function: Function,
) -> None:
    begun = function(step="begin", segments=3, sources=["Things"], max_rcu=3, tolerated_failures=0)
    answers = [function(**segment) for segment in json.loads(json.dumps(begun))["segments"]]
    assert [answer["done"] for answer in answers] == [True] * 3
    assert sum(answer["counts"].get("items", 0) for answer in answers) == 10
    assert answers[1].keys() == {"done", "run", "segment", "counts"}
    assert function.world.bulk.built(deadline=never()) == {}
    assert function(**begun["finish"]) == {RUN: {"items": 10, "rows": 10}}
    assert function(**begun["finish"]) == {}, "it is finished already"
    assert function.world.bulk.built(deadline=never())[RUN]["counts"] == {"items": 10, "rows": 10}
    assert function.world.records() == []
    assert len(function.observer.segments) == 3


def test_budgets_are_divided_among_those_that_work_at_once(function: Function) -> None:
    requested = {"step": "begin", "sources": ["Things"], "max_rcu": 100, "max_wcu": 5}
    begun = function(**requested, segments=16, concurrency=4)
    assert {(segment["max_rcu"], segment["max_wcu"]) for segment in begun["segments"]} == {
        (25.0, 1.25)
    }
    begun = function(**requested, segments=2, concurrency=40)
    assert {(segment["max_rcu"], segment["max_wcu"]) for segment in begun["segments"]} == {
        (50.0, 2.5)
    }
    function(**begun["segments"][0])
    assert function.rates[-1] == (50.0, 2.5)
    begun = function(step="begin", sources=["Notes"], max_wcu=1, concurrency=8, segments=8)
    assert function(**begun["segments"][0])["done"], "even a small share is one"


def test_a_sweep_is_of_the_whole_view_or_of_sources_and_needs_no_stream(function: Function) -> None:
    function.refusal = "not followed"
    runs = {segment["run"] for segment in function(step="begin", task="sweep")["segments"]}
    assert runs == {"sweep/*"}
    begun = function(step="begin", task="sweep", sources=["Notes", "Notes"], segments=1)
    assert [segment["run"] for segment in begun["segments"]] == ["sweep/Notes"]
    assert function(**begun["segments"][0])["done"]


def test_it_says_why_it_does_not_begin_while_a_stream_is_not_followed(function: Function) -> None:
    function.refusal = "the stream of 'Things' is not followed"
    with pytest.raises(SettingsError, match="is not followed"):
        function(step="begin")
    assert function.world.db.tables["AdminViewTableProgress"] == {}


@pytest.mark.parametrize(
    ("event", "words"),
    [
        ({}, "the event's step is None; it must be 'begin' or 'work' or 'finish'"),
        ({"step": ["begin"]}, r"the event's step is \['begin'\]"),
        ({"step": "begin", "task": "bake"}, "no task is named 'bake'; choose one of backfill"),
        ({"step": "begin", "sources": "Things"}, r"sources is 'Things'; it must be a list such as"),
        ({"step": "begin", "sources": ["Nope"]}, "no source is named 'Nope'; declared are Things"),
        ({"step": "begin", "sources": [{}]}, r"no source is named {}"),
        ({"step": "begin", "task": "migrate"}, "no migration is named None; declared are none"),
        ({"step": "begin", "migration": "x"}, "pass either a migration to migrate, or sources"),
        ({"step": "begin", "task": "migrate", "sources": []}, "pass either a migration to migrate"),
        ({"step": "begin", "segments": 0}, "segments is 0; it must be a whole number from 1 on"),
        ({"step": "begin", "segments": 1001}, "1001 segments: choose 1 to 1000"),
        ({"step": "begin", "segments": True}, "segments is True; it must be a whole number"),
        ({"step": "begin", "concurrency": 1.5}, "concurrency is 1.5; it must be a whole number"),
        ({"step": "begin", "max_wcu": "9"}, "max_wcu is '9'; it must be a number above 0"),
        ({"step": "begin", "max_wcu": 0}, "max_wcu is 0; it must be a number above 0"),
        ({"step": "begin", "tolerated_failures": -1}, "is -1; it must be a whole number from 0 on"),
        ({"step": "begin", "restart": "yes"}, "restart is 'yes'; it must be true or false"),
        ({"step": "begin", "sorces": []}, "unknown fields: sorces; step 'begin' takes task"),
        (
            {"step": "work", "run": RUN},
            "the event lacks segment, of: pass an event that step 'begin' returned",
        ),
        ({"step": "work", "run": "x", "segment": 0, "of": 1}, "no task is named 'x'"),
        ({"step": "work", "run": "backfill/No", "segment": 0, "of": 1}, "no source is named"),
        ({"step": "work", "run": RUN, "segment": "0", "of": 1}, "segment is '0'; it must be"),
    ],
)
def test_an_event_that_is_not_understood_is_refused_in_words(
    function: Function, event: dict[str, Any], words: str
) -> None:
    with pytest.raises(SettingsError, match=words):
        function(**event)
    assert function.world.db.calls == []


def test_null_fields_count_as_unset(function: Function) -> None:
    begun = function(step="begin", sources=None, segments=None, max_rcu=None, restart=None)
    assert len(begun["segments"]) == 32
    assert "max_rcu" not in begun["segments"][0]


def test_it_returns_before_its_time_is_up_and_goes_on_when_called_again(
    function: Function,
) -> None:
    (event,) = function(step="begin", segments=1, sources=["Things"])["segments"]
    answered = function(seconds=RESERVE + PAGE_RESERVE - 1, **event)
    assert answered == {"done": False, "run": RUN, "segment": 0, "counts": {}}
    assert function.world.view == {}
    assert function(**event)["done"]


def test_a_run_that_was_not_ended_is_ended_by_the_next_request(
    function: Function,
) -> None:
    """The last worker died between its last page and the mark; no segment is left to work on."""
    (segment,) = function.world.bulk.begin(RUN, 1, deadline=never())
    function.world.worker().work(segment, end=never())
    assert function.world.bulk.built(deadline=never()) == {}
    assert function(step="begin", sources=["Things"])["segments"] == []
    assert function.world.bulk.built(deadline=never())[RUN]["counts"]["items"] == 10
    assert len(function(step="begin", sources=["Things"])["segments"]) == 16


def test_a_run_is_started_over_on_request(function: Function) -> None:
    requested = {"step": "begin", "sources": ["Things"], "segments": 2}
    function(**function(**requested)["segments"][0])
    assert len(function(**requested)["segments"]) == 1
    segments = function(**requested, restart=True)["segments"]
    assert [segment["generation"] for segment in segments] == [2, 2]
    function(**segments[0])
    assert [record.segment.generation for record in function.world.records()] == [2]
    with pytest.raises(SettingsError, match="was begun with 2 segments"):
        function(**{**requested, "segments": 3})
    function(**segments[1])
    function(step="finish", runs=[RUN])
    assert function.world.bulk.built(deadline=never())[RUN]["generation"] == 2


def test_a_run_with_too_many_failures_is_started_over_unless_more_are_tolerated(
    function: Function,
) -> None:
    function.world.write("Things", {"id": "bad"})
    requested = {"step": "begin", "sources": ["Things"], "segments": 1, "tolerated_failures": 0}
    (segment,) = function(**requested)["segments"]
    with pytest.raises(TooManyFailuresError, match="1 items failed"):
        function(**segment)
    assert function(**requested | {"tolerated_failures": 1})["segments"] == []
    function.world.db.tables[PROGRESS].clear()
    with pytest.raises(TooManyFailuresError):
        function(**segment)
    function.world.put("bad", x="1")
    (again,) = function(**requested)["segments"]
    assert again["generation"] == 2
    assert function(**again)["done"]


def without_step(event: dict[str, Any]) -> dict[str, Any]:
    assert event["step"] == "begin"
    return {name: value for name, value in event.items() if name != "step"}


def executed(function: Function, **event: Any) -> list[str]:
    """Execute an event as the state machine does, and return the runs in order."""
    begun = json.loads(json.dumps(function(step="begin", **event)))
    runs = [*begun["finish"]["runs"]]
    for segment in begun["segments"]:
        while not function(**segment)["done"]:
            pass
    function(**begun["finish"])
    return runs + (executed(function, **without_step(begun["then"])) if "then" in begun else [])


@pytest.mark.parametrize("repair", [False, True])
def test_a_verification_is_two_runs_one_after_the_other(
    function: Function, *, repair: bool
) -> None:
    event = {"task": "verify", "segments": 2, "grace": 0, "repair": repair}
    runs = executed(function, **event)
    assert runs == ["verify/*", "verify-rows/*"]
    report = Verification(function.world.bulk).report(deadline=never())
    assert report.counts["Things"]["missing"] == 10
    assert report.total["repaired" if repair else "left"] == 11
    assert bool(function.world.view) is repair
    assert function.checked == [], "no stream need be read"
    logged = json.dumps(function.observer.segments)
    assert "t0" not in logged, "no key is logged"
    assert executed(function, **event, sources=["Notes"]) == ["verify/Notes", "verify-rows/Notes"]


def test_a_verification_of_totals_is_three_runs_one_after_the_other() -> None:
    lab = TotalsLab()
    lab.write_row(1, (group(1), 1))
    lab.settle()
    lab.totals[group(1)]["count"] = {"N": "7"}
    function = Function(lab)
    event = {"task": "verify-totals", "segments": 2, "grace": 0}
    runs = executed(function, **event)
    assert runs == [f"verify-totals{phase}/*" for phase in ("", "-sums", "-comparison")]
    report = Verification(lab.bulk, kind=VERIFY_TOTALS).report(deadline=never())
    assert groups_of(report) == {("north", "day-1")}
    assert "day-1" not in json.dumps(function.observer.segments), "no key is logged"
    with pytest.raises(SettingsError, match="rows of all sources contribute to a total"):
        function(step="begin", task="verify-totals", sources=["Orders"])
    lab.db.tables[PROGRESS].clear()
    with pytest.raises(BulkError, match="begin again"):
        function(step="begin", task="verify-totals-comparison")


@pytest.mark.parametrize(
    ("event", "words"),
    [
        ({"task": "backfill", "repair": True}, "only a verification takes repair"),
        ({"task": "verify", "sources": ["Things", "Notes"]}, "pass one source to verify, or none"),
        ({"task": "verify", "sources": ["Nope"]}, "no source is named 'Nope'"),
        ({"task": "daily-verify-rows"}, "daily-verify-rows is for the scheduled verification"),
        ({"task": "verify", "sample": 2}, "choose a share above 0 and up to 1"),
        ({"task": "verify", "grace": -1}, "grace is -1; it must be a number from 0 on"),
        ({"task": "verify", "sample": "1"}, "sample is '1'; it must be a number above 0"),
    ],
)
def test_a_verification_that_cannot_be_meant_is_refused(
    function: Function, event: dict[str, Any], words: str
) -> None:
    with pytest.raises(SettingsError, match=words):
        function(step="begin", **event)
    assert function.world.db.calls == []


def test_the_second_phase_does_not_begin_without_the_first(function: Function) -> None:
    with pytest.raises(BulkError, match="begin again"):
        function(step="begin", task="verify-rows")


def test_failures_of_all_segments_together_stop_a_run(function: Function) -> None:
    for number in range(20):
        function.world.write("Things", {"id": f"bad{number}"})
    requested = {"step": "begin", "sources": ["Things"], "segments": 4, "tolerated_failures": 9}
    segments = function(**requested)["segments"]
    with pytest.raises(TooManyFailuresError):
        [function(**segment) for segment in segments]
    assert any(record.counts["failed"] <= 9 for record in function.world.records())
    with pytest.raises(TooManyFailuresError):
        function(step="finish", runs=[RUN], tolerated_failures=9)


def test_the_code_of_another_model_does_not_go_on_with_an_execution(function: Function) -> None:
    (old,) = function(step="begin", segments=1, sources=["Things"])["segments"]
    function.world.fingerprint = "model-2"
    with pytest.raises(SettingsError, match=r"begun by model .*, but model-2 is deployed"):
        function(**old)
    assert function.world.db.written(TABLE) == []


def test_a_worker_of_an_execution_that_is_out_of_date_fails_at_once(function: Function) -> None:
    (old,) = function(step="begin", segments=1, sources=["Things"])["segments"]
    function.world.progress.take(Segment(RUN, 0, 2), "model-1", deadline=never())
    with pytest.raises(BulkError, match="was restarted meanwhile, with 2 segments"):
        function(**old)


def test_more_segments_than_a_state_machine_can_pass_on_are_refused(function: Function) -> None:
    requested = {"step": "begin", "segments": 1000, "max_rcu": 1000, "max_wcu": 1000}
    with pytest.raises(SettingsError, match="2000 segments exceed what a state machine step can"):
        function(**requested)
    assert len(function(**requested, sources=["Things"])["segments"]) == 1000


class Lambda:
    """Event source mappings by their ids."""

    def __init__(self, **states: str) -> None:
        self.states = states

    def get_event_source_mapping(self, UUID: str) -> Any:  # noqa: N803 - boto3's
        if UUID not in self.states:
            raise refusal("ResourceNotFoundException")
        return {"State": self.states[UUID]}


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("Disabled", "is Disabled: enable it .*--enabled --uuid u-1.*start when its state is"),
        ("Enabling", "is Enabling: enable it"),
        (None, "is deleted: deploy the sync again$"),
    ],
)
def test_a_mapping_that_is_not_enabled_is_named_with_what_to_do(
    state: str | None, words: str
) -> None:
    client: Any = Lambda(**({"u-1": state} if state else {}), fine="Enabled")
    mappings = {"Things": "u-1", "Notes": "fine"}
    check_followed(client, mappings, ["Notes"], never)
    with pytest.raises(SettingsError, match=f"stream of 'Things' is not read.*{words}"):
        check_followed(client, mappings, ["Notes", "Things"], never)
    with pytest.raises(SettingsError, match="is unknown: deploy the sync first"):
        check_followed(client, {}, ["Things"], never)


def test_a_container_connects_to_what_its_environment_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    environ = World().bulk.settings.to_env()
    for name, value in (environ | {"AWS_DEFAULT_REGION": "us-east-1"}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(
        "adminview.handlers.bulk.lambda_client", lambda: Lambda(**{"u-1": "Disabled"})
    )
    deps = dependencies.__wrapped__()
    bulk = deps.make(RateLimiter(3), RateLimiter(4))
    assert (bulk.client.reads.per_second, bulk.client.writes.per_second) == (3, 4)
    assert (bulk.settings.view_table, bulk.progress.name) == (TABLE, f"{TABLE}Progress")
    with pytest.raises(SettingsError, match="--uuid u-1"):
        deps.check({"Orders": "u-1"}, ["Orders"])
