"""A deployed model change on real engines: not ready before its build, and answered after it."""

import json
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from adminview.aws.metered_client import Metered
from adminview.aws.rate_limit import RateLimiter
from adminview.aws.readiness import LATER_SECONDS, Readiness, read_built
from adminview.aws.view_reader import Boto3Reader, HttpReader, Reader, ViewReader
from adminview.bulk.builds import OLD_CODE_SECONDS, Builds
from adminview.bulk.lease_table import LeaseTable
from adminview.bulk.runs import Bulk, make_bulk
from adminview.bulk.totals_probes import TotalsProbes
from adminview.handlers import build
from adminview.handlers.build import BuildDependencies
from adminview.handlers.bulk import BulkDependencies, run_step
from adminview.local.local_cloud import LocalCloud, direct_client_to
from adminview.model import Registry
from adminview.model.errors import PatternNotReadyError
from adminview.model.readiness import progress_table
from adminview.model.row import VIEW_TABLE
from adminview.query.engine import QueryEngine
from tests.support.fakes import NO_WAIT, Context
from tests.support.view_files import load_view_file

OLD = """
from adminview import AccessPattern, Item, Row, Source, key, view

parcels = Source("Parcels", partition_key="id")
parcel = AccessPattern("parcel", partition="PARCEL#{id}")


@view(parcels)
def parcel_row(item: Item):
    yield Row(key("PARCEL", item["id"]), "DETAILS", data=item.pick("depot"))
    yield Row(key("PARCEL", item["id"]), "LABEL", data=item.pick("depot"))
"""
NEW = """
from adminview import AccessPattern, Index, Item, Row, Source, Total, key, view

parcels = Source("Parcels", partition_key="id")
parcel = AccessPattern("parcel", partition="PARCEL#{id}")
by_depot = Index("ByDepot", partition="depot", sort="id", include=["data"])
in_depot = AccessPattern("in-depot", index=by_depot, partition="{depot}")
depots = Total("Depots", sort="depot")
per_depot = AccessPattern("per-depot", total=depots)


@view(parcels)
def parcel_row(item: Item):
    yield Row(
        key("PARCEL", item["id"]),
        "DETAILS",
        data=item.pick("depot"),
        indexes=[by_depot(item["depot"], item["id"])],
        totals=[depots(item["depot"])],
    )
"""
CONTEXT = Context(900_000)


class Deployment:
    """The functions on an engine, and the queries of the API."""

    def __init__(self, cloud: LocalCloud, reader: Reader) -> None:
        self.cloud, self.reader = cloud, reader
        self.ahead = 0.0
        self.started: list[Any] = []

    def now(self) -> float:
        return time.time() + self.ahead

    def deploy(self, registry: Registry) -> None:
        self.cloud.deploy(registry)
        table = LeaseTable(
            self.cloud.clients.dynamodb, progress_table(VIEW_TABLE), NO_WAIT, self.now
        )
        builds = Builds(table, registry.description(), self.now)
        observer: Any = Mock()
        event = {"RequestType": "Update"}
        build.run(event, CONTEXT, BuildDependencies(builds, self.start, observer))
        record = ViewReader(reader=self.reader, name=progress_table(VIEW_TABLE))
        readiness = Readiness(registry, {}, partial(read_built, record), self.now)
        view = ViewReader(self.reader, VIEW_TABLE)
        self.engine = QueryEngine(registry, view, readiness)

    def start(self, name: str, text: str) -> str:
        self.started.append(json.loads(text))
        return name

    def execute(self) -> None:
        """Do what the state machine does."""
        event = self.started[-1]
        while event:
            begun = self.step({"step": "begin", "segments": 2, **event})
            for segment in begun["segments"]:
                assert self.step(segment)["done"]
            self.step(begun["finish"])
            event = begun.get("then")
            self.ahead += begun.get("wait", 0)
        self.ahead += LATER_SECONDS  # until the API reads the record again

    def step(self, event: Any) -> Any:
        observer: Any = Mock()
        dependencies = BulkDependencies(
            self._bulk, lambda *_: None, observer, self._probes, self._count
        )
        return run_step(event, CONTEXT, dependencies)

    def _bulk(self, *_: Any) -> Bulk:
        cloud = self.cloud
        client: Any = cloud.clients.dynamodb
        metered = Metered(client, RateLimiter(), RateLimiter())
        bulk = make_bulk(cloud.registry, cloud.settings, cloud.clients, metered)
        return replace(bulk, now=self.now, progress=replace(bulk.progress, now=self.now))

    def _probes(self) -> TotalsProbes:
        streams = self.cloud.engine.streams()
        return TotalsProbes(self.cloud.clients.dynamodb, streams, VIEW_TABLE, NO_WAIT)

    def _count(self, _: float) -> None:
        """Let the totals function count what is in the stream."""
        assert self.cloud.totals
        self.cloud.totals.drain()

    def rows(self, pattern: str, **parameters: str) -> list[str]:
        query_results = self.engine.rows(pattern, **parameters)
        return sorted(
            query_result.row["PK"]["S"] + " " + query_result.row["SK"]["S"]
            for query_result in query_results
        )


@pytest.mark.parametrize("client", ["boto3", "direct"])
def test_new_access_patterns_are_not_ready_until_the_build_is_complete(
    client: str, start: Callable[[Registry], LocalCloud], tmp_path: Path
) -> None:
    old, new = (
        Registry.of([load_view_file(tmp_path / f"{name}.py", text)])
        for name, text in (("old", OLD), ("new", NEW))
    )
    cloud = start(new)  # with the index and the stream, as the first stacks of a deployment
    reader: Reader = Boto3Reader(cloud.clients.dynamodb)
    if client == "direct":
        reader = HttpReader(direct_client_to(cloud.engine))
    deployment = Deployment(cloud, reader)

    deployment.deploy(old)
    for number in range(3):
        cloud.put("Parcels", {"id": str(number), "depot": "north"})
    with pytest.raises(PatternNotReadyError):
        deployment.rows("parcel", id="0")
    deployment.execute()
    assert deployment.rows("parcel", id="0") == ["PARCEL#0 DETAILS", "PARCEL#0 LABEL"]
    cloud.settle()

    deployment.deploy(new)
    cloud.put("Parcels", {"id": "3", "depot": "north"})
    cloud.settle()
    for pattern, parameters in (("in-depot", {"depot": "north"}), ("per-depot", {})):
        with pytest.raises(PatternNotReadyError):
            deployment.rows(pattern, **parameters)
        with pytest.raises(PatternNotReadyError):
            deployment.engine.count(pattern, **parameters)
    assert deployment.rows("parcel", id="0"), "it was ready before"
    before = deployment.ahead
    deployment.execute()
    assert deployment.ahead - before >= OLD_CODE_SECONDS
    assert deployment.rows("in-depot", depot="north") == [
        f"PARCEL#{number} DETAILS" for number in range(4)
    ]
    (total,) = [result.row for result in deployment.engine.rows("per-depot")]
    assert total["data"]["M"]["count"] == {"N": "4"}
    assert deployment.rows("parcel", id="0") == ["PARCEL#0 DETAILS"], "the rest is swept"
