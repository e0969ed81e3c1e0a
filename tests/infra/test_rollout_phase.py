"""A phase of a plan: the indexes of the table, and the access patterns that are rejected."""

import json
from pathlib import Path
from typing import Any

import pytest

from adminview.cdk import DeploymentOptions
from adminview.cdk.options.rollout_phase import RolloutPhase
from adminview.model import Index, LocalIndex, number
from adminview.model.errors import SettingsError
from infra.stages import STAGES
from tests.support.shop import registry
from tests.support.synthesis import Assembly, synthesize
from tests.support.view_files import with_view_file

# The earlier index of orders-by-status: the same keys, with fewer attributes. And a removed one.
OLDER = Index("OldGSI1", partition="GSI1_PK", sort="GSI1_SK")
DROPPED = Index("ByWeight", partition="depot", sort=number("grams"), include=["data"], shards=4)
PHASE: dict[str, Any] = {
    "keep": [OLDER.shape(), DROPPED.shape()],
    "without": ["GSI2"],
    "pending": {"orders-by-status": "OldGSI1", "payments-by-status": None},
}


def written(folder: Path, phase: object) -> str:
    path = folder / "phase.json"
    path.write_text(phase if isinstance(phase, str) else json.dumps(phase))
    return str(path)


@pytest.fixture(scope="module")
def phase(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """Synthesize the middle of a plan."""
    path = written(tmp_path_factory.mktemp("phase"), PHASE)
    return synthesize(registry(), tmp_path_factory.mktemp("cdk"), rolloutPhase=path)


def view_of(assembly: Assembly) -> dict[str, Any]:
    return dict(assembly.tables()["AdminViewTable"]["Properties"])


def indexes_of(assembly: Assembly) -> dict[str, Any]:
    return {index["IndexName"]: index for index in view_of(assembly)["GlobalSecondaryIndexes"]}


def may_ask(assembly: Assembly) -> set[str]:
    (resources,) = [
        on for actions, on in assembly.statements("Api") if actions == ["dynamodb:Query"]
    ]
    return {
        resource.removeprefix("AdminViewTable.Arn").removeprefix("/index/")
        for resource in resources
    }


def variables(assembly: Assembly, function: str) -> dict[str, Any]:
    return dict(assembly.function(function)["Environment"]["Variables"])


def test_the_table_has_what_is_declared_less_what_is_to_come_and_what_is_kept(
    phase: Assembly, dev: Assembly
) -> None:
    plain, indexes = indexes_of(dev), indexes_of(phase)
    assert indexes.keys() == plain.keys() - {"GSI2"} | {"OldGSI1", "ByWeight"}
    assert {name: indexes[name] for name in plain.keys() & indexes.keys()} == {
        name: index for name, index in plain.items() if name != "GSI2"
    }
    assert indexes["ByWeight"] == {
        "IndexName": "ByWeight",
        "KeySchema": [
            {"AttributeName": "depot", "KeyType": "HASH"},
            {"AttributeName": "_ByWeight_shard", "KeyType": "HASH"},
            {"AttributeName": "grams", "KeyType": "RANGE"},
        ],
        "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["data"]},
    }
    assert indexes["OldGSI1"]["Projection"] == {"ProjectionType": "KEYS_ONLY"}


def test_the_attributes_defined_are_those_that_are_keys_in_this_wave(phase: Assembly) -> None:
    """CloudFormation refuses one too many as it does one too few."""
    view = view_of(phase)
    keys = [view["KeySchema"], *(index["KeySchema"] for index in view["GlobalSecondaryIndexes"])]
    used = {key["AttributeName"] for schema in keys for key in schema}
    defined = [attribute["AttributeName"] for attribute in view["AttributeDefinitions"]]
    assert sorted(defined) == sorted(used)
    assert {"grams", "_ByWeight_shard"} <= used
    assert not {"GSI2_PK", "GSI2_SK"} & used


def test_the_api_and_its_output_name_the_access_patterns_that_are_not_ready(
    phase: Assembly,
) -> None:
    pending = {
        "orders-by-status": "OldGSI1",
        "payments-by-status": None,
        "buyers-of-product": None,  # GSI2 is not there yet, whatever the phase says of it
    }
    reported = json.loads(phase.outputs()["AccessPatterns"])
    assert reported == {"model": registry().fingerprint, "pending": pending}
    manifests = {name: phase.manifest_of(name) for name in ("Api", "Sync", "Replay", "Verify")}
    assert manifests.pop("Api").pending == pending
    assert {name: manifest.pending for name, manifest in manifests.items()} == {
        name: {} for name in manifests
    }, "a phase deploys the API's stack alone"


def test_without_a_wave_everything_is_switched_on(dev: Assembly) -> None:
    assert dev.manifest_of("Api").pending == {}
    assert indexes_of(dev).keys() == {index.name for index in registry().indexes}


def test_the_api_may_query_both_indexes_that_a_phase_switches(
    phase: Assembly, dev: Assembly
) -> None:
    """For its role changes before its environment does, and takes a while to be obeyed."""
    assert may_ask(phase) == may_ask(dev) | {"OldGSI1", "ByWeight"}
    assert "Owner" not in may_ask(phase)


def test_a_fallback_index_may_be_queried(tmp_path: Path) -> None:
    """The older index is kept by the phase; no model declares two indexes of the same keys."""
    changed = with_view_file(tmp_path / "carriers.py", VIEW_FILE)
    older = Index("ByCarrierOnce", partition="carrier")
    path = written(tmp_path, {"keep": [older.shape()], "pending": {"of-carrier": older.name}})
    assembly = synthesize(changed, tmp_path / "cdk", rolloutPhase=path)
    assert {"ByCarrier", "ByCarrierOnce"} <= may_ask(assembly)


@pytest.mark.parametrize("part", ["Sync", "Api"])
def test_the_stacks_that_know_the_model_describe_it(part: str, dev: Assembly) -> None:
    description = json.loads(dev.metadata(part)["AdminViewModel"])
    assert description == json.loads(json.dumps(registry().description()))


VIEW_FILE = '''
"""Shipments, by carrier."""

from collections.abc import Iterator

from adminview import AccessPattern, Index, Item, Row, Source, view

shipments = Source("Shipments", partition_key="id")
by_carrier = Index("ByCarrier", partition="carrier")
of_carrier = AccessPattern("of-carrier", index=by_carrier, partition="{carrier}", shows=())


@view(shipments)
def shipment(item: Item) -> Iterator[Row]:
    """Show a shipment."""
    yield Row(f"SHIPMENT#{item['id']}", "DETAILS", indexes=[by_carrier(item["carrier"])])
'''


def test_a_comment_in_a_view_file_changes_no_template(tmp_path: Path) -> None:
    """The file stands beside the others here, not in the bundle."""
    text = VIEW_FILE
    before = synthesize(with_view_file(tmp_path / "shipments.py", text), tmp_path / "before")
    text = text.replace("yield Row", "# Why not?\n    yield Row").replace("a shipment.", "it.")
    after = synthesize(with_view_file(tmp_path / "shipments.py", text), tmp_path / "after")
    assert "Why not?" in (tmp_path / "shipments.py").read_text()
    assert before.templates == after.templates
    text = text.replace("DETAILS", "OTHER")
    other = synthesize(with_view_file(tmp_path / "shipments.py", text), tmp_path / "other")
    for part in ("Sync", "Api"):
        assert other.metadata(part) != before.metadata(part)


def read(path: object) -> RolloutPhase:
    context = {"adminview": {"rolloutPhase": path}}
    return DeploymentOptions.read(context, registry(), stages=STAGES).phase


def test_a_wave_holds_indexes_as_they_are_described(tmp_path: Path) -> None:
    assert read(written(tmp_path, PHASE)) == RolloutPhase(
        (OLDER, DROPPED), frozenset({"GSI2"}), PHASE["pending"], planned=True
    )
    assert read(written(tmp_path, {})) == RolloutPhase(planned=True)
    assert read(None) == read("") == RolloutPhase()


def test_an_index_that_stays_as_it_is_declared_is_there_once(tmp_path: Path) -> None:
    kept = registry().pattern("orders-by-status").index
    assert kept
    phase = read(written(tmp_path, {"keep": [kept.shape()]}))
    assert phase.indexes(registry()) == registry().indexes


def test_a_local_index_which_nobody_can_drop_is_kept_as_one(tmp_path: Path) -> None:
    local = LocalIndex("BySize", sort=number("size"))
    path = written(tmp_path, {"keep": [local.shape()]})
    view = view_of(synthesize(registry(), tmp_path / "cdk", rolloutPhase=path))
    (index,) = view["LocalSecondaryIndexes"]
    assert index["IndexName"] == "BySize"


GSI1 = Index("GSI1", partition="GSI1_PK", sort="GSI1_SK").shape()
TYPED = Index("Typed", partition=number("GSI1_PK")).shape()
MANY = [Index(f"Index{place}", partition="x").shape() for place in range(20)]
WRONG: dict[str, tuple[Any, str]] = {
    "no JSON": ("{", "is not JSON"),
    "no object": ([1], "found list; expected an object such as"),
    "an unknown key": ({"drop": []}, "unknown 'drop'; there are keep, without, pending"),
    "no names": ({"without": "GSI1"}, "without is not a list of names"),
    "names that are none": ({"without": [1]}, "without is not a list of names"),
    "an undeclared index": (
        {"without": ["GSI9"]},
        "names index 'GSI9', which is not declared; declared are ",
    ),
    "no list to keep": ({"keep": {}}, "keep is not a list"),
    "no index": ({"keep": ["GSI9"]}, "keep does not describe an index"),
    "half an index": ({"keep": [{"name": "GSI9"}]}, "keep does not describe an index"),
    "a bad index": ({"keep": [GSI1 | {"name": "a b"}]}, "an index's name must have 3 to 255"),
    "an index of another shape": ({"keep": [GSI1]}, "differs from the declared one"),
    "an index twice": ({"keep": [OLDER.shape()] * 2}, "keep has an index twice"),
    "kept and absent": (
        {"keep": [registry().indexes[0].shape()], "without": [registry().indexes[0].name]},
        "is both in keep and in without",
    ),
    "two types of one attribute": ({"keep": [TYPED]}, "'GSI1_PK' as N, and another has it as S"),
    "too many indexes": ({"keep": MANY}, "indexes at once; DynamoDB allows 20"),
    "pending nothing": ({"pending": []}, "pending is malformed; expected"),
    "pending a number": ({"pending": {"orders-by-status": 1}}, "pending is malformed"),
    "an unknown access pattern": (
        {"pending": {"nope": None}},
        "names 'nope', which is no access pattern",
    ),
    "an older index that is not there": (
        {"pending": {"orders-by-status": "OldGSI1"}},
        "access pattern 'orders-by-status' cannot query 'OldGSI1': there are",
    ),
    "an older index that is to come": (
        {"pending": {"orders-by-status": "GSI2"}, "without": ["GSI2"]},
        "cannot query 'GSI2': there are",
    ),
    "an older index of other keys": (
        {"pending": {"orders-by-status": "GSI2"}},
        "cannot query 'GSI2', which has other keys",
    ),
    "an index instead of the table": (
        {"pending": {"orders-of-user": "GSI1"}},
        "cannot query 'GSI1', which has other keys",
    ),
}


@pytest.mark.parametrize(("entry", "reason"), WRONG.values(), ids=WRONG)
def test_a_wrong_wave_is_refused_with_what_would_be_right(
    tmp_path: Path, entry: object, reason: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        read(written(tmp_path, entry))
    assert str(caught.value).startswith("context rolloutPhase: ")
    assert reason in str(caught.value)


@pytest.mark.parametrize("path", ["nowhere/phase.json", ".", 7, {"keep": []}])
def test_a_wave_that_is_no_file_is_refused(path: object) -> None:
    with pytest.raises(SettingsError, match=r"context rolloutPhase: .* cannot be read"):
        read(path)
