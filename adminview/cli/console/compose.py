"""Build the console's API for a local engine or a deployment."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from aws_lambda_powertools import Logger

from adminview.aws.boto3_clients import streams_client
from adminview.aws.clients import Clients
from adminview.aws.deadline import Deadline
from adminview.aws.endpoints import ENDPOINT, SDK_REGION, is_loopback
from adminview.aws.settings import SERVICE, Settings
from adminview.aws.stack_outputs import find_pending
from adminview.aws.view_reader import Boto3Reader, ViewReader
from adminview.bulk.lease_table import LeaseTable
from adminview.cli.console.local_status import LocalStatus, SyncCounts
from adminview.cli.console.progress import ProgressReader
from adminview.cli.console.sessions import Sessions, session_group
from adminview.cli.console.stage_status import StageStatus
from adminview.cli.dead_letters import hidden_seconds
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.find import check_model, find_settings
from adminview.cli.model_lock.lock import Lock
from adminview.cli.output.data_order import DataOrder
from adminview.cli.private_files import AUDIT, Audit, user_name
from adminview.dead_letters.replay import LOCALLY, Replayer, make_replayer
from adminview.http_api.handlers import Api
from adminview.http_api.health import NoAlarms
from adminview.http_api.openapi import document
from adminview.http_api.operations.console_api import ConsoleApi
from adminview.http_api.operations.dead_letters import DeadLetters
from adminview.http_api.operations.hidden_letters import HiddenLetters
from adminview.http_api.operations.model_graph import ModelHistory, model_group
from adminview.http_api.operations.repairs import Repairs
from adminview.http_api.operations.router import OperationGroup, Operations
from adminview.http_api.operations.rows import Provenance
from adminview.http_api.operations.status import StatusReader, status_group
from adminview.http_api.render import Order, Renderer
from adminview.local.http_server import LocalGateway
from adminview.model import Registry
from adminview.model.errors import SettingsError
from adminview.model.readiness import progress_table
from adminview.query.engine import QueryEngine
from adminview.reconcile.reconciler import make_reconciler
from adminview.sync.decode import routes

if TYPE_CHECKING:
    from mypy_boto3_dynamodbstreams import DynamoDBStreamsClient

LOOK_SECONDS: Final = 5.0  # to check at the start that the view table exists
REGIONS: Final = ("AWS_REGION", SDK_REGION)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleTarget:
    """What a console works on: a model, its tables and queue, and what is known about them."""

    registry: Registry
    settings: Settings
    clients: Clients
    streams: "DynamoDBStreamsClient"
    described: Mapping[str, Any]  # as /session describes it
    pending: Mapping[str, str | None] = field(default_factory=dict)
    local: bool = True
    deployment: Deployment | None = None  # None if there are no stacks
    counts: SyncCounts | None = None  # if the sync runs in this process
    audit: Audit = field(default_factory=lambda: Audit(AUDIT))
    # Raises a SettingsError if the deployed model is not this one any more.
    check: Callable[[], object] = lambda: None

    @classmethod
    def of(cls, registry: Registry, deployment: Deployment, audit: Audit) -> "ConsoleTarget":
        """Find the target that a command's options or the environment name."""
        settings = find_settings(registry, deployment)
        environ = deployment.environ
        endpoint = environ.get(ENDPOINT, "") if deployment.local else ""
        name = f"engine at {endpoint}" if endpoint else settings.view_table

        def check() -> None:
            check_model(registry, find_settings(registry, deployment.fresh()))

        return cls(
            registry=registry,
            settings=settings,
            clients=Clients(),
            streams=streams_client(),
            described={
                "kind": "local" if deployment.local else "stage",
                "name": name if deployment.local else deployment.stage,
                "stage": None if deployment.local else deployment.stage,
                "prefix": deployment.prefix,
                "viewTable": settings.view_table,
                "region": next((environ[name] for name in REGIONS if environ.get(name)), None),
            },
            pending=find_pending(registry, deployment),
            local=is_loopback(endpoint),
            deployment=None if deployment.local else deployment,
            audit=audit,
            check=check,
        )

    @property
    def order(self) -> Order:
        """The order of the attributes of data: as the view files write them, as in the CLI."""
        return DataOrder.of(self.registry).columns

    @property
    def renderer(self) -> Renderer:
        return Renderer(self.registry, self.order)

    @property
    def reader(self) -> ViewReader:
        return ViewReader(Boto3Reader(self.clients.dynamodb), self.settings.view_table)

    def check_view(self) -> None:
        """Raise a ServiceError if the view table cannot be read."""
        self.reader.get([("is", "it there?")], deadline=Deadline.after(LOOK_SECONDS))


def make_repairs(target: ConsoleTarget) -> Repairs | None:
    """Build the dead letters and the repairs; None without a dead-letter queue."""
    if not target.settings.dead_letter_queue_url:
        return None
    replayer = _replayer(target)
    hidden = HiddenLetters(lambda: hidden_seconds(replayer))
    letters = DeadLetters(target.renderer, replayer, hidden)

    def writer() -> Replayer:
        target.check()
        return letters.replayer

    return Repairs(letters=letters, writer=writer, audit=target.audit, hidden=hidden)


def use_model(repairs: Repairs, target: ConsoleTarget) -> None:
    """Let the repairs, and the jobs among them, continue with another model."""
    repairs.letters.use(target.renderer, _replayer(target))


def make_console_api(
    target: ConsoleTarget, sessions: Sessions, repairs: Repairs | None
) -> ConsoleApi:
    """Build the API; without repairs, it has no dead letters either."""
    registry = target.registry
    engine = QueryEngine(registry, target.reader, target.pending)
    logger = Logger(service=SERVICE)
    queries = LocalGateway(Api(engine, NoAlarms(), registry.fingerprint, logger, target.order))
    letters = repairs.letters if repairs else None
    groups: list[OperationGroup] = []
    groups.append(session_group(sessions, user_name(), target.described, lambda: api.features))
    groups.append(_provenance(target).group())
    if repairs:
        groups += [repairs.letters.group(), repairs.group()]
    groups.append(status_group(_status(target, letters)))
    groups.append(model_group(registry, lambda: history(registry)))
    operations = Operations(groups, logger)
    api = ConsoleApi(queries.query, operations, document(registry, registry.fingerprint))
    return api


def _provenance(target: ConsoleTarget) -> Provenance:
    registry, settings = target.registry, target.settings
    by_table = routes(registry, settings.sources)
    reconciler = make_reconciler(registry, settings, target.clients)
    return Provenance(registry, by_table, reconciler, target.renderer)


def _replayer(target: ConsoleTarget) -> Replayer:
    patience = LOCALLY if target.local else None
    return make_replayer(target.registry, target.settings, target.clients, target.streams, patience)


def _status(target: ConsoleTarget, letters: DeadLetters | None) -> StatusReader:
    settings = target.settings
    table = LeaseTable(target.clients.dynamodb, progress_table(settings.view_table))
    progress = ProgressReader(target.registry, table, target.pending)
    if target.deployment:
        return StageStatus(
            registry=target.registry,
            settings=settings,
            deployment=target.deployment,
            progress_reader=progress,
            letters=letters,
        )
    return LocalStatus(
        registry=target.registry,
        settings=settings,
        progress_reader=progress,
        letters=letters,
        pending=target.pending,
        counts=target.counts,
    )


def history(registry: Registry) -> ModelHistory:
    """Return the recorded changes of the app in the current folder."""
    lock = Lock()
    try:
        agreed = lock.read()
        changes = lock.history()
    except (OSError, SettingsError):
        return ModelHistory(None, ())
    locked = None if agreed is None else agreed["fingerprint"] == registry.fingerprint
    return ModelHistory(
        locked,
        [
            {
                "day": change.day,
                "model": change.model,
                "reason": change.reason,
                "lines": list(change.lines),
            }
            for change in changes
        ],
    )
