"""`adminview model diff`: a change in words, what it costs, and what to do when that is unknown."""

import json
from copy import deepcopy
from io import StringIO
from pathlib import Path
from typing import Any

import boto3
import pytest
from typer.testing import CliRunner, Result

from adminview.aws.settings import MODEL_METADATA
from adminview.cli.commands import model as command
from adminview.cli.model_lock.lock import Lock, as_text
from adminview.cli.model_lock.model_diff import ModelDiff
from adminview.cli.model_lock.wording import NEVER_ADDED, describe_diff
from adminview.cli.output.printing import Console
from adminview.cli.planning.cost import Costs, Estimate, Indexes, SourceCosts, item_costs
from adminview.cli.planning.report import data, short, show
from adminview.model import Index, LocalIndex
from adminview.model.write_units import Units
from tests.support.fakes import refusal
from tests.support.model import registry

SURROUNDINGS = ("AWS_ENDPOINT_URL", "ADMINVIEW_TABLE", "ADMINVIEW_STAGE", "ADMINVIEW_PREFIX")


def model(**changes: Any) -> dict[str, Any]:
    """Describe a small model, as it is or otherwise."""
    return {
        "fingerprint": "aaa",
        "sources": [{"name": "Things", "key": [["id", "S"]]}],
        "indexes": [Index("ByShelf", partition="shelf", sort="day", include=["data"]).shape()],
        "patterns": [question()],
        "views": [["Things", "thing"]],
        "code": {"Things": "1"},
        **changes,
    }


def question(**changes: Any) -> dict[str, Any]:
    return {
        "name": "things-on-shelf",
        "index": "ByShelf",
        "conditions": [["shelf = {shelf}"], ["day >= {since}"]],
        "optional": [],
        "shows": ["data"],
        "joins": [],
        "descending": False,
        "consistent": False,
        **changes,
    }


def lines_of(**changes: Any) -> list[str]:
    """Say what changes from the small model to another."""
    words = describe_diff(ModelDiff.between(model(), model(fingerprint="bbb", **changes)))
    return [f"{heading}: {line}" for heading, lines in words.items() for line in lines]


CHANGED = "Access patterns: changed: things-on-shelf:"
KEYED = "keyed by shelf, then day, projecting"
CANNOT = (
    "; once it is deployed, DynamoDB cannot change its key or projection: give the new one another "
    "name; the old one is dropped when no access pattern uses it"
)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"patterns": [question(), question(name="all", index=None)]},
            "Access patterns: new: all, queries the table where shelf = {shelf} and day >= {since}",
        ),
        (
            {"patterns": []},
            "Access patterns: removed: things-on-shelf, which queried index ByShelf",
        ),
        (
            {"patterns": [question(index=None, shows=[])]},
            f"{CHANGED} queries index ByShelf, now the table; shows data, now nothing",
        ),
        (
            {"patterns": [question(conditions=[["shelf = {shelf}"]], newer="x")]},
            CHANGED
            + " where shelf = {shelf} and day >= {since}, now shelf = {shelf}; newer no, now x",
        ),
        (
            {"patterns": [question(descending=True, joins=[["a", "A#{day}", "{SK}"]])]},
            f"{CHANGED} joins nothing, now a at PK A#{{day}} and SK {{SK}}; descending no, now yes",
        ),
        ({"indexes": []}, "Indexes: dropped: ByShelf"),
        (
            {"indexes": [Index("ByShelf", partition="shelf", sort="day").shape()]},
            f"Indexes: changed: ByShelf, {KEYED} data, now {KEYED} keys only" + CANNOT,
        ),
        (
            {"sources": [{"name": "Things", "key": [["id", "N"]]}]},
            "Sources: changed: Things was keyed by id, now by id (number): its items differ",
        ),
        ({"sources": []}, "Sources: removed: Things; its rows are swept"),
        (
            {"code": {"Things": "2"}},
            "Rows: of Things must be rebuilt: its view files, or what they import, have changed",
        ),
    ],
)
def test_each_difference_is_described(changes: dict[str, Any], words: str) -> None:
    assert words in lines_of(**changes)


def test_a_new_index_says_what_it_is_and_a_local_one_that_it_cannot_come() -> None:
    more = [
        Index("Spread", partition=["a", "b"], all_because="a test", shards=4).shape(),
        LocalIndex("Local", sort="x").shape(),
    ]
    assert lines_of(indexes=[*model()["indexes"], *more]) == [
        "Indexes: created: Spread, keyed by a and b over 4 shards, projecting all attributes",
        f"Indexes: created: Local, keyed by PK, then x, projecting keys only; but {NEVER_ADDED}",
    ]
    fresh = describe_diff(ModelDiff.between(None, model(indexes=more)))
    assert fresh["Indexes"][1] == "created: Local, keyed by PK, then x, projecting keys only"


def test_a_new_source_says_its_key_and_why_its_rows_are_built() -> None:
    sources = [*model()["sources"], {"name": "Carts", "key": [["user", "S"], ["at", "N"]]}]
    assert lines_of(sources=sources, code={"Things": "1", "Carts": "1"}) == [
        "Sources: new: Carts, keyed by user and at (number)",
        "Rows: of Carts must be rebuilt: it is new",
    ]


def test_other_shards_say_that_the_index_stays() -> None:
    shapes = [Index("ByShelf", partition="a", shards=n).shape() for n in (4, 8)]
    change = ModelDiff.between(*(model(indexes=[shape]) for shape in shapes))
    assert describe_diff(change)["Indexes"] == [
        "resharded: ByShelf, 4 shards, now 8: its rows move when they are rebuilt"
    ]


ROW = {"PK": {"S": "P"}, "SK": {"S": "S"}, "shelf": {"S": "A"}, "day": {"S": "1"}}
THEN = Index("ByShelfShort", partition="shelf", sort="day")
MOVE = ModelDiff.between(model(), model(indexes=[THEN.shape()], code={"Things": "2"}))


def row(size: int = 1, **more: Any) -> dict[str, Any]:
    return {**ROW, "data": {"M": {"text": {"S": "x" * size}}}, **more}


def test_rows_are_put_beside_the_old_index_and_swept_when_it_is_gone() -> None:
    indexes = Indexes.of(MOVE)
    stored = {("P", "1"): row(1100), ("P", "2"): row(1100), ("P", "3"): row()}
    wanted = {("P", "1"): row(), ("P", "3"): row(_at={"N": "5"}), ("P", "4"): row()}
    costs = item_costs(stored, wanted, indexes, rebuilt=True)
    assert (costs.rows, costs.put, costs.deleted) == (3, 2, 1)  # the third shows the same
    # The first is rewritten, the fourth is new in both, and the second leaves one only.
    assert costs.rebuilding == Units(2 + 1 + 2, {"ByShelf": 2 + 1, "ByShelfShort": 1 + 1})
    assert costs.filling == Units(0, {"ByShelfShort": 3})
    assert costs.change_before == Units(2 + 2 + 1, {"ByShelf": 5})
    assert costs.change_after == Units(3)  # keys alone: nothing changes there
    assert costs.insert_before == Units(5, {"ByShelf": 5})
    assert costs.insert_after == Units(3, {"ByShelfShort": 3})
    untouched = item_costs(stored, wanted, indexes, rebuilt=False)
    assert (untouched.put, untouched.deleted, untouched.rebuilding) == (0, 0, Units())
    assert untouched.filling == costs.filling


def an_estimate(**changes: Any) -> Estimate:
    costs = Costs(Units(30), Units(0, {"a": 10}), Units(20), Units(40), Units(5), Units(6))
    return Estimate([SourceCosts("Things", 1000, 100, costs)], **{"unknown": {}, **changes})


def shown(change: ModelDiff, estimate: Estimate | None, trouble: str = "") -> str:
    written = StringIO()
    show(change, "there", estimate, trouble, Console(file=written, width=120))
    return written.getvalue()


def test_the_costs_are_scaled_from_the_sample_and_shown_before_and_after() -> None:
    text = " ".join(shown(MOVE, an_estimate(unknown={"Carts": "no table"})).split())
    assert "from aaa (there) to aaa" in text
    assert "Things ~1,000 ~300 ~100 ~200k ~400k ~50k ~60k" in text
    assert "400 write units once, in total. ~ is estimated from a sample" in text
    assert "There is no estimate for Carts: no table" in text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (9_999, "9,999"),
        (10_000, "10k"),
        (123_456, "123.5k"),
        (7_495_000, "7.495M"),
        (12_345_678_901, "12.35G"),
    ],
)
def test_figures_are_short_enough_for_a_line(number: int, text: str) -> None:
    assert short(number) == text


def test_the_table_fits_a_terminal() -> None:
    written = StringIO()
    units = Units(1234)
    big = SourceCosts("Organisations", 10**9, 100, Costs(units, units, units, units, units, units))
    show(MOVE, "there", Estimate([big], {}), "", Console(file=written, width=80))
    assert "\u2026" not in written.getvalue()


def test_a_source_without_items_costs_nothing() -> None:
    costs = SourceCosts("Things", 0, 0, Costs())
    assert (costs.rebuilding, costs.filling, costs.per_million(Units())) == (0, 0, 0)


def test_items_that_fail_are_counted() -> None:
    estimate = Estimate([SourceCosts("Things", 5, 5, Costs(failed=2))], {})
    assert "2 of 5 items of Things fail with these views." in shown(MOVE, estimate)


def test_the_same_is_there_for_machines() -> None:
    printed = json.loads(json.dumps(data(MOVE, an_estimate(), "")))
    assert printed["indexes"]["new"] == ["ByShelfShort"]
    assert printed["indexes"]["dropped"] == ["ByShelf"]
    assert printed["rebuilt"] == ["Things"]
    assert printed["costs"]["one_time"] == 400
    costs = printed["costs"]["sources"]["Things"]
    assert costs["million_changes"] == {"now": 200000, "then": 400000}
    assert costs["million_inserts"] == {"now": 50000, "then": 60000}
    assert (costs["rebuilding"], costs["filling"]) == (300, 100)


class FakeStacks:
    """Stacks with templates."""

    def __init__(self) -> None:
        self.templates: dict[str, Any] = {}
        self.code = "ValidationError"

    def client(self, service: str, **_: Any) -> "FakeStacks":
        assert service == "cloudformation"
        return self

    def get_template(self, StackName: str) -> Any:  # noqa: N803 - boto3's
        if StackName not in self.templates:
            raise refusal(self.code, "GetTemplate")
        return {"TemplateBody": self.templates[StackName]}

    def describe_stacks(self, StackName: str) -> Any:  # noqa: N803 - boto3's
        if StackName not in self.templates:
            raise refusal(self.code, "DescribeStacks")
        return {"Stacks": [{"StackStatus": "UPDATE_COMPLETE"}]}


@pytest.fixture
def stacks(monkeypatch: pytest.MonkeyPatch) -> FakeStacks:
    """Stand in for CloudFormation, and know of no tables."""
    stacks = FakeStacks()
    monkeypatch.setattr(boto3, "client", stacks.client)
    for name in SURROUNDINGS:
        monkeypatch.delenv(name, raising=False)
    return stacks


def diff(*words: str) -> Result:
    return CliRunner().invoke(command.app, ["diff", *words], env={"COLUMNS": "200"})


def other() -> dict[str, Any]:
    described = deepcopy(registry().description())
    described["fingerprint"] = "000000000000"
    described["indexes"].pop(0)
    return described


@pytest.mark.usefixtures("stacks")
def test_the_exit_status_says_the_same_another_or_trouble(tmp_path: Path) -> None:
    same, another, none = (tmp_path / name for name in ("same.json", "another.json", "none.json"))
    same.write_text(as_text(registry().description()))
    another.write_text(as_text(other()))
    done = diff("--against", str(same))
    assert (done.exit_code, f"no change: {same} describes" in done.stdout) == (0, True)
    done = diff("--against", str(another))
    assert done.exit_code == 1
    assert "created: GSI1, keyed by GSI1_PK, then GSI1_SK, projecting data" in done.stdout
    assert "There is no estimate of the cost: there are no tables to sample" in done.stdout
    done = diff("--against", str(none))
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == f"adminview: there is no file {none}\n"
    another.write_text("{}")
    assert (
        "does not describe a model as model.lock.json does"
        in diff("--against", str(another)).stderr
    )
    assert diff("--sample", "0").exit_code == 2


@pytest.mark.usefixtures("stacks")
def test_it_compares_with_the_lock_if_nothing_else_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "Lock", lambda: Lock(tmp_path))
    assert "from nothing (model.lock.json) to" in diff().stdout
    (tmp_path / "model.lock.json").write_text(as_text(other()))
    assert "from 000000000000 (model.lock.json) to" in diff().stdout
    assert json.loads(diff("--json").stdout)["trouble"] == command.NO_TABLES


def test_it_compares_with_what_a_stack_was_deployed_with(stacks: FakeStacks) -> None:
    name = "my-AdminView-prod-Sync"
    done = diff("--stage", "prod", "--prefix", "my-")
    assert done.exit_code == 1
    assert f"from nothing (stack {name}) to" in done.stdout
    assert f"There is no estimate of the cost: there is no stack '{name}'" in done.stdout
    stacks.templates[name] = {
        "Resources": {"F": {"Type": "x", "Metadata": {MODEL_METADATA: json.dumps(other())}}}
    }
    done = diff("--stage", "prod", "--prefix", "my-")
    assert f"from 000000000000 (stack {name}) to" in done.stdout
    stacks.templates[name] = {"Resources": {}}
    done = diff("--stage", "prod", "--prefix", "my-")
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"stack '{name}' does not describe its model" in done.stderr
    stacks.templates.clear()
    stacks.code = "AccessDenied"
    assert diff("--stage", "prod").exit_code == 2


@pytest.mark.usefixtures("stacks")
def test_an_error_of_our_own_is_not_taken_for_another_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(command, "registry", lambda: 1 / 0)
    assert diff().exit_code == 2
