"""Stacks on a local engine: tables, indexes one at a time, and the code of sync and API."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from adminview.aws.table_description import TableDescription
from adminview.bulk.totals_probes import TotalsProbes
from adminview.cli.deployment.facts import Declared
from adminview.cli.deployment.read import Tables
from adminview.cli.deployment.stacks import API, SOURCES, SYNC, TOTALS, VIEW, WATCH
from adminview.cli.planning.steps import Phase, WarmUp
from adminview.local.event_source import EventSource
from adminview.local.local_cloud import LocalCloud
from adminview.local.settings import declared
from adminview.local.tables import create, source_table, totals_table
from adminview.model import Index, Registry
from adminview.model.delivery import Delivery
from adminview.model.registry import monitored_parts
from adminview.model.row import VIEW_TABLE
from adminview.model.stream import VIEW_TYPE
from adminview.model.total import totals_table as totals_name
from tests.support.fakes import NO_WAIT


@dataclass
class LocalDeployer:
    """Deploys each stack separately, as CloudFormation does."""

    cloud: LocalCloud
    model: Registry  # the declared model
    api: Registry
    pending: Mapping[str, str | None] = field(default_factory=dict)
    after: Callable[[str], None] = lambda _: None  # called with the name of each deployed stack
    watch: str = ""  # what the alarms cover
    created: dict[str, EventSource] = field(default_factory=dict)  # sources that were added

    def deploy(self, stacks: Sequence[str], phase: Phase) -> None:
        """Deploy only these stacks."""
        for stack in stacks:
            if stack == SOURCES:
                self._sources()
            elif stack == VIEW:
                self._view(phase)
            elif stack == TOTALS:
                create(self.cloud.clients.dynamodb, totals_table(totals_name(VIEW_TABLE)))
                self.cloud.totals = self.cloud.follow_view(self.stream or "")
            elif stack == SYNC:
                settings = declared(self.model, self.cloud.queue_url)
                self.cloud.settings = settings
                self.cloud.deploy(self.model)
            elif stack == WATCH:
                self.watch = monitored_parts(self.model.description())
            elif stack == API:
                self.api, self.pending = self.model, dict(phase.pending)
            self.after(stack)

    def await_index(self, name: str, *, gone: bool, stopped: Callable[[], bool]) -> None:
        """Wait until an index is active, or deleted."""
        while not stopped():
            indexes = {index.name: index for index in self.tables.indexes() or ()}
            if (name not in indexes) if gone else indexes[name].ready:
                return

    def warm_up(self, step: WarmUp, *, stopped: Callable[[], bool]) -> None:
        """Fail: a local engine has no warm throughput, and no plan raises it."""
        raise AssertionError(step.title, stopped())

    def await_totals(self, *, stopped: Callable[[], bool]) -> None:
        """Wait until the totals include all rows."""
        assert not stopped()
        assert self.cloud.totals
        probes = TotalsProbes(
            self.cloud.clients.dynamodb, self.cloud.engine.streams(), VIEW_TABLE, NO_WAIT
        )
        while not probes.have_arrived():
            self.cloud.totals.drain()

    @property
    def tables(self) -> Tables:
        """Return a reader of the tables."""
        return Tables(self.cloud.clients.dynamodb, VIEW_TABLE, lambda: 0.0)

    @property
    def stream(self) -> str | None:
        """The stream of the view table, if it is on."""
        table = self.cloud.clients.dynamodb.describe_table(TableName=VIEW_TABLE)["Table"]
        # DynamoDB reports the latest stream even if it is off.
        described = TableDescription.of(table)
        return described.stream_arn if described.stream_type else None

    def _sources(self) -> None:
        dynamodb = self.cloud.clients.dynamodb
        existing = set(dynamodb.list_tables()["TableNames"])
        for source in self.model.sources:
            if source.name not in existing:
                stream = create(dynamodb, source_table(source, source.name))
                assert stream
                rules = replace(Delivery(), window_seconds=0)
                self.created[source.name] = self.cloud.follow(stream, rules)
                self.cloud.sources.append(self.created[source.name])
        for name in self.created.keys() - {source.name for source in self.model.sources}:
            self.cloud.sources.remove(self.created.pop(name))
            dynamodb.delete_table(TableName=name)

    def _view(self, phase: Phase) -> None:
        """Create or delete one index: CloudFormation refuses more in one update."""
        declared = phase.indexes(Declared(self.model.description()).indexes)
        existing = {index.name: index for index in self.tables.indexes() or ()}
        dynamodb = self.cloud.clients.dynamodb
        if self.model.totals and not self.stream:
            assert declared.keys() == existing.keys(), "one change of a table at a time"
            stream: Any = {"StreamEnabled": True, "StreamViewType": VIEW_TYPE}
            dynamodb.update_table(TableName=VIEW_TABLE, StreamSpecification=stream)
            return
        (changed,) = declared.keys() ^ existing.keys()  # CloudFormation would refuse more than one
        if changed in existing:
            update: Any = {"Delete": {"IndexName": changed}}
            dynamodb.update_table(TableName=VIEW_TABLE, GlobalSecondaryIndexUpdates=[update])
            return
        index = Index.from_shape(declared[changed].shape())
        attributes = {
            name: kind
            for declared_index in declared.values()
            for name, kind in declared_index.attributes.items()
        }
        projection: Any = {"ProjectionType": index.projection}
        if index.include:
            projection["NonKeyAttributes"] = list(index.include)
        update = {
            "Create": {
                "IndexName": changed,
                "KeySchema": [
                    *(
                        {"AttributeName": attribute.name, "KeyType": "HASH"}
                        for attribute in index.partition
                    ),
                    *(
                        {"AttributeName": attribute.name, "KeyType": "RANGE"}
                        for attribute in index.sort
                    ),
                ],
                "Projection": projection,
            }
        }
        dynamodb.update_table(
            TableName=VIEW_TABLE,
            AttributeDefinitions=[
                {"AttributeName": name, "AttributeType": kind}  # type: ignore[typeddict-item]
                for name, kind in {"PK": "S", "SK": "S", **attributes}.items()
            ],
            GlobalSecondaryIndexUpdates=[update],
        )
