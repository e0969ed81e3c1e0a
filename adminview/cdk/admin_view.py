"""`AdminView`: everything in one construct, for a stack of your own."""

from collections.abc import Iterable, Mapping
from typing import Final

from aws_cdk import Tags
from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from adminview.cdk.constructs.query_api import QueryApi
from adminview.cdk.constructs.recovery import Recovery
from adminview.cdk.constructs.source_tables import SourceTables, source_streams
from adminview.cdk.constructs.sync_pipeline import SyncPipeline
from adminview.cdk.constructs.table import AdminViewTable
from adminview.cdk.constructs.totals import Totals
from adminview.cdk.monitoring.monitoring import Monitoring
from adminview.cdk.options.alarm_contact import AlarmContact
from adminview.cdk.options.api_access import ApiAccess
from adminview.cdk.options.context import read_context
from adminview.cdk.options.customer_key import CustomerKey
from adminview.cdk.options.deployment import DeploymentOptions
from adminview.cdk.options.imported_table import ImportedTable
from adminview.cdk.options.network import Network
from adminview.cdk.options.rollout_phase import RolloutPhase
from adminview.cdk.options.stage import Stage
from adminview.model import Migration, Registry
from adminview.model.errors import SettingsError

DEFAULT_STAGE: Final = Stage("dev", retain=False)
PHASE: Final = "rolloutPhase"


class AdminView(Construct):
    """The view table, totals, the sync, recovery, the read API and monitoring, in one stack.

    *tables* names the tables of existing sources; those of other sources are created. Resources
    outside the construct do not change: none gets a tag, a policy or deletion protection.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        views: Registry,
        migrations: Iterable[Migration] = (),
        tables: Mapping[str, dynamodb.ITable | dynamodb.ITableV2] | None = None,  # by source
        stage: Stage = DEFAULT_STAGE,
        prefix: str = "",  # begins the names of tables; unique for each AdminView of a region
        handlers: str = "",  # a package with your own Lambda handlers; empty: the library's
        api: ApiAccess | None = None,
        alarms: AlarmContact | None = None,
        customer_key: CustomerKey | None = None,
        network: Network | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(scope, id_)
        for name in tables or {}:
            if name not in {source.name for source in views.sources}:
                declared = ", ".join(sorted(source.name for source in views.sources))
                msg = f"tables: no view declares a source {name!r}; declared are {declared}"
                raise SettingsError(msg)
        phase = read_context(self.node.get_all_context(), (PHASE,)).get(PHASE)
        options = DeploymentOptions(
            views=views,
            stage=stage,
            migrations=tuple(migrations),
            handlers=handlers,
            prefix=prefix,
            imported={
                name: ImportedTable.of(views.source(name), table)
                for name, table in (tables or {}).items()
            },
            api=api or ApiAccess(),
            alarms=alarms or AlarmContact(),
            phase=RolloutPhase.read(phase, views),
            customer_key=customer_key,
            network=network,
        )
        created = SourceTables(self, "Sources", options=options) if options.owned_sources else None
        streams = source_streams(options, created.streams if created else {})
        view = AdminViewTable(self, "View", options=options)
        totals = Totals(self, "Totals", options=options, view=view) if options.has_totals else None
        sync = SyncPipeline(self, "Sync", options=options, view=view, streams=streams)
        recovery = Recovery(
            self, "Recovery", options=options, view=view, streams=streams, sync=sync
        )
        if totals:
            totals.precede(sync, recovery)
        query_api = QueryApi(self, "Api", options=options, view=view, sync=sync)
        query_api.function.node.add_dependency(recovery.build)  # which records what is ready
        Monitoring(
            self,
            "Watch",
            options=options,
            sync=sync,
            recovery=recovery,
            api=query_api,
            totals=totals,
        )
        for name, value in (tags or {}).items():
            Tags.of(self).add(name, value)
        self.view_table = view.table
        self.dead_letters = sync.dead_letters
        self.sync_function = sync.function
        self.api = query_api.api
