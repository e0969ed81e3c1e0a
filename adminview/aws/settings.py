"""The environment variables of a function. No other module has their names.

Whatever grows with the model is in the bundle instead: see `manifest`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from json import JSONDecodeError, dumps, loads
from typing import Any

from adminview.aws.manifest import own_manifest
from adminview.model.errors import SettingsError

SERVICE = "adminview"  # in logs and metrics, if the deployment is not known
NAMESPACE = "AdminView"  # of the metrics

SERVICE_NAME = "POWERTOOLS_SERVICE_NAME"

VIEW_TABLE = "ADMINVIEW_TABLE"
TOTALS_TABLE = "ADMINVIEW_TOTALS_TABLE"
QUEUE_URL = "ADMINVIEW_DEAD_LETTER_QUEUE_URL"
SOURCES = "ADMINVIEW_SOURCES"
MODEL = "ADMINVIEW_MODEL"
VIEW_STREAM = "ADMINVIEW_VIEW_STREAM"  # the ARN, where totals are awaited
BACKFILL_MACHINE = "ADMINVIEW_BACKFILL_MACHINE"  # the ARN, where builds are started
TRACING = "ADMINVIEW_TRACING"
PLAIN_CLIENT = "ADMINVIEW_PLAIN_CLIENT"  # forces boto3: see `transport.eligibility`
PENDING = "ADMINVIEW_PENDING_PATTERNS"  # only locally: a bundle has them in its manifest
ITEMS_FILE = "ADMINVIEW_ITEMS_FILE"  # only in tests: gets the items that they derive
VIEWS_PACKAGE, DEFAULT_VIEWS = "ADMINVIEW_VIEWS", "lambdas.views"
STAGES = "stages"  # the key of cdk.json with the keys of single stages
STAGE, PREFIX = "ADMINVIEW_STAGE", "ADMINVIEW_PREFIX"  # of the deployment that commands use
MIGRATIONS_PACKAGE, DEFAULT_MIGRATIONS = "ADMINVIEW_MIGRATIONS", "lambdas.migrations"

SYNC_STACK, API_STACK = "Sync", "Api"  # the parts of their names

# Outputs of the stacks: the commands find a deployment by them.
SETTINGS_OUTPUT = "Settings"  # of the sync stack: the environment, as JSON
MAPPINGS_OUTPUT = "Mappings"  # of the sync stack: source name -> UUID of its mapping, as JSON
SYNC_FUNCTION_OUTPUT = "SyncFunctionName"
TOTALS_FUNCTION_OUTPUT = "TotalsFunctionName"  # of the totals stack
REPLAY_FUNCTION_OUTPUT = "ReplayFunctionName"  # of the recovery stack, as are the next
VERIFY_FUNCTION_OUTPUT = "VerifyFunctionName"
BACKFILL_MACHINE_OUTPUT = "BackfillMachineArn"
MIGRATE_MACHINE_OUTPUT = "MigrateMachineArn"  # only if there are migrations
API_URL_OUTPUT = "ApiUrl"  # of the API stack, as is the next
PATTERNS_OUTPUT = "AccessPatterns"  # the queried model and its pending patterns, as JSON
TOPIC_OUTPUT = "AlarmTopicArn"  # of the watch stack, as is the next
DASHBOARD_OUTPUT = "DashboardName"

# Metadata in the templates of stacks with functions: the model's description as JSON text, because
# the CDK drops null values.
MODEL_METADATA = "AdminViewModel"
# Metadata in the template of the alarms: the parts of the model that they depend on. CloudFormation
# does not update a stack for metadata alone, so it names nothing else.
WATCHED_METADATA = "AdminViewWatched"


def keys_of_stage(entries: Mapping[str, Any], stage: str) -> dict[str, Any]:
    """Return the keys of `adminview` in cdk.json for one stage: those under `stages` come first."""
    own = (entries.get(STAGES) or {}).get(stage) or {}
    return {key: value for key, value in entries.items() if key != STAGES} | dict(own)


def deployment_name(prefix: str, stage: str) -> str:
    """Return the name of a deployment; deployments with different prefixes are independent."""
    return f"{prefix}AdminView-{stage}"


def stack_name(prefix: str, stage: str, part: str) -> str:
    return f"{deployment_name(prefix, stage)}-{part}"


@dataclass(frozen=True, slots=True)
class Settings:
    """The view table, the dead-letter queue and the source tables of a deployment."""

    view_table: str
    dead_letter_queue_url: str
    sources: Mapping[str, str]  # source name -> table name
    model: str  # the fingerprint that is written to rows
    tracing: bool = False
    # In log lines, and a dimension of each metric: keeps the metrics of two deployments apart.
    service: str = SERVICE

    def to_env(self) -> dict[str, str]:
        """Return the settings as environment variables."""
        return {
            VIEW_TABLE: self.view_table,
            QUEUE_URL: self.dead_letter_queue_url,
            SOURCES: dumps(dict(self.sources)),
            MODEL: self.model,
            TRACING: "true" if self.tracing else "false",
            SERVICE_NAME: self.service,
        }

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> "Settings":
        """Read the settings; raises a SettingsError that names what is missing or malformed.

        Sources that *environ* does not name get their tables from the bundle's manifest.
        """
        manifest = own_manifest()
        known = dict(manifest.sources) if manifest else {}
        needed = (VIEW_TABLE, QUEUE_URL, MODEL, *(() if known else (SOURCES,)))
        if missing := [name for name in needed if not environ.get(name)]:
            msg = f"environment variables not set: {', '.join(missing)}"
            raise SettingsError(msg)
        try:
            sources = loads(environ.get(SOURCES, "{}"))
        except JSONDecodeError as error:
            sources = error
        if not isinstance(sources, dict):
            msg = f'{SOURCES} must be a JSON object such as {{"Orders": "prod-Orders"}}'
            raise SettingsError(msg)
        return cls(
            view_table=environ[VIEW_TABLE],
            dead_letter_queue_url=environ[QUEUE_URL],
            sources=known | sources,
            model=environ[MODEL],
            tracing=environ.get(TRACING) == "true",
            service=environ.get(SERVICE_NAME) or SERVICE,
        )


@dataclass(frozen=True, slots=True)
class TotalsSettings:
    """The settings of the totals function, which knows neither the model nor the sources."""

    table: str  # the totals table
    tracing: bool = False
    service: str = SERVICE

    def to_env(self) -> dict[str, str]:
        """Return the settings as environment variables."""
        return {
            TOTALS_TABLE: self.table,
            TRACING: "true" if self.tracing else "false",
            SERVICE_NAME: self.service,
        }

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> "TotalsSettings":
        """Read the settings; raises a SettingsError if the table is missing."""
        if not environ.get(TOTALS_TABLE):
            msg = f"environment variables not set: {TOTALS_TABLE}"
            raise SettingsError(msg)
        return cls(
            table=environ[TOTALS_TABLE],
            tracing=environ.get(TRACING) == "true",
            service=environ.get(SERVICE_NAME) or SERVICE,
        )


@dataclass(frozen=True, slots=True)
class PendingPatterns:
    """Access patterns that are not ready, each with the older index that serves it, if any."""

    patterns: Mapping[str, str | None] = field(default_factory=dict)

    def to_env(self) -> dict[str, str]:
        """Return them as an environment variable; none if all patterns are ready."""
        return {PENDING: dumps(dict(self.patterns))} if self.patterns else {}

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> "PendingPatterns":
        """Read them; the bundle's manifest is the default. Raises a SettingsError."""
        text, manifest = environ.get(PENDING), own_manifest()
        if not text:
            return cls(manifest.pending) if manifest else cls()
        try:
            return cls.read(loads(text), PENDING)
        except JSONDecodeError as error:
            msg = f"{PENDING} is not JSON; expected {PENDING_EXAMPLE}"
            raise SettingsError(msg) from error

    @classmethod
    def read(cls, patterns: Any, where: str) -> "PendingPatterns":
        """Check plain data; raises a SettingsError that names *where* it is from."""
        if isinstance(patterns, dict) and all(
            index is None or _is_name(index) for index in patterns.values()
        ):
            return cls(patterns)
        msg = f"{where} is malformed; expected {PENDING_EXAMPLE}"
        raise SettingsError(msg)


PENDING_EXAMPLE = (
    'a JSON object such as {"orders-by-status": "GSI1", "orders-by-day": null}: each access '
    "pattern that is not ready, with the older index that serves it meanwhile, or null to reject it"
)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value)
