"""The environment variables of a function: the only place with their names, for CDK and Lambda.

Whatever grows with the model is in the bundle instead: see `manifest`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from json import JSONDecodeError, dumps, loads
from typing import Any

from adminview.aws.manifest import own_manifest
from adminview.model.errors import SettingsError

SERVICE = "adminview"  # as logs and metrics call us where nobody says which deployment this is
NAMESPACE = "AdminView"  # of the metrics

SERVICE_NAME = "POWERTOOLS_SERVICE_NAME"

VIEW_TABLE = "ADMINVIEW_TABLE"
QUEUE_URL = "ADMINVIEW_DEAD_LETTER_QUEUE_URL"
SOURCES = "ADMINVIEW_SOURCES"
MODEL = "ADMINVIEW_MODEL"
TRACING = "ADMINVIEW_TRACING"
PLAIN_CLIENT = "ADMINVIEW_PLAIN_CLIENT"  # an operator's way back to boto3: see `way`
SYNC_FUNCTION = "ADMINVIEW_SYNC_FUNCTION"
STREAMS = "ADMINVIEW_STREAMS"  # the labels of the streams, in the order of the sources' names
SEPARATOR = ","
PENDING = "ADMINVIEW_PENDING_PATTERNS"  # locally: the bundle's manifest has them
VIEWS_PACKAGE, DEFAULT_VIEWS = "ADMINVIEW_VIEWS", "lambdas.views"
MIGRATIONS_PACKAGE, DEFAULT_MIGRATIONS = "ADMINVIEW_MIGRATIONS", "lambdas.migrations"

# Outputs of the stacks, by which a deployment is found.
SETTINGS_OUTPUT = "Settings"  # of the sync stack: the environment, as JSON
MAPPINGS_OUTPUT = "Mappings"  # of the sync stack: source name -> UUID of its mapping, as JSON
SYNC_FUNCTION_OUTPUT = "SyncFunctionName"
REPLAY_FUNCTION_OUTPUT = "ReplayFunctionName"  # of the recovery stack, as are the next
VERIFY_FUNCTION_OUTPUT = "VerifyFunctionName"
BACKFILL_MACHINE_OUTPUT = "BackfillMachineArn"
MIGRATE_MACHINE_OUTPUT = "MigrateMachineArn"  # where there are migrations
API_URL_OUTPUT = "ApiUrl"  # of the API stack, as is the next
PATTERNS_OUTPUT = "AccessPatterns"  # the model that is queried, and what is pending, as JSON
TOPIC_OUTPUT = "AlarmTopicArn"  # of the watch stack, as is the next
DASHBOARD_OUTPUT = "DashboardName"

# In the templates of the stacks whose functions know the model: its description, as JSON text, for
# the CDK would leave out what is null in it.
MODEL_METADATA = "AdminViewModel"
# In the template of the alarms: what of the model they look at. CloudFormation does not update a
# stack for its metadata alone, so it says no more than what its resources follow from.
WATCHED_METADATA = "AdminViewWatched"


def deployment_name(prefix: str, stage: str) -> str:
    """Name one deployment: two prefixes are two deployments that never touch each other."""
    return f"{prefix}AdminView-{stage}"


def stack_name(prefix: str, stage: str, part: str) -> str:
    """Name one stack of a deployment."""
    return f"{deployment_name(prefix, stage)}-{part}"


@dataclass(frozen=True, slots=True)
class Settings:
    """Where the view and the dead letters are, and which table stands behind each source."""

    view_table: str
    dead_letter_queue_url: str
    sources: Mapping[str, str]  # source name -> table name
    model: str  # the fingerprint that rows are stamped with
    tracing: bool = False
    # The deployment, in log lines and as a dimension of each metric: two deployments of one account
    # and region must not add up.
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
        """Read the settings, or raise a SettingsError that names what is missing or malformed.

        The tables of sources that *environ* does not name are those of the bundle's manifest.
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
class PulseSettings:
    """Where the API sees whether the streams are read: the sync function, and each stream."""

    function: str
    streams: Mapping[str, str]  # source name -> the label that metrics have of its stream

    def to_env(self) -> dict[str, str]:
        """Return the settings as environment variables.

        A label is known only once its stream exists, so it cannot be in the bundle. Without names,
        a hundred of them take 2.4 KB.
        """
        labels = [self.streams[source] for source in sorted(self.streams)]
        return {SYNC_FUNCTION: self.function, STREAMS: SEPARATOR.join(labels)}

    @classmethod
    def from_env(cls, environ: Mapping[str, str], sources: Iterable[str]) -> "PulseSettings | None":
        """Read the settings; None where nobody keeps metrics."""
        if not environ.get(SYNC_FUNCTION):
            return None
        labels = environ[STREAMS].split(SEPARATOR)
        return cls(environ[SYNC_FUNCTION], dict(zip(sorted(sources), labels, strict=True)))


@dataclass(frozen=True, slots=True)
class PendingPatterns:
    """Access patterns that are not ready, each with the older index that serves it, if any."""

    patterns: Mapping[str, str | None] = field(default_factory=dict)

    def to_env(self) -> dict[str, str]:
        """Return them as an environment variable; none if all patterns are ready."""
        return {PENDING: dumps(dict(self.patterns))} if self.patterns else {}

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> "PendingPatterns":
        """Read them, or raise a SettingsError; by default those of the bundle's manifest."""
        text, manifest = environ.get(PENDING), own_manifest()
        if not text:
            return cls(manifest.pending) if manifest else cls()
        try:
            return cls.read(loads(text), PENDING)
        except JSONDecodeError as error:
            msg = f"{PENDING} is not JSON; expected {PENDING_EXAMPLE}"
            raise SettingsError(msg) from error

    @classmethod
    def read(cls, given: Any, where: str) -> "PendingPatterns":
        """Take them from plain data, or raise a SettingsError."""
        if isinstance(given, dict) and all(one is None or _is_name(one) for one in given.values()):
            return cls(given)
        msg = f"{where} is not understood; expected {PENDING_EXAMPLE}"
        raise SettingsError(msg)


PENDING_EXAMPLE = (
    'a JSON object such as {"orders-by-status": "GSI1", "orders-by-day": null}: each access '
    "pattern that is not ready, with the older index that serves it meanwhile, or null to refuse it"
)


def _is_name(given: object) -> bool:
    return isinstance(given, str) and bool(given)
