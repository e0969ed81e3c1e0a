"""What a function is told by its environment: names spelled once, for infra and Lambda alike."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from json import JSONDecodeError, dumps, loads
from typing import Any

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
STREAMS = "ADMINVIEW_STREAMS"
BUILDING = "ADMINVIEW_BUILDING"
VIEWS_PACKAGE, DEFAULT_VIEWS = "ADMINVIEW_VIEWS", "lambdas.views"
MIGRATIONS_PACKAGE, DEFAULT_MIGRATIONS = "ADMINVIEW_MIGRATIONS", "lambdas.migrations"
MAPPINGS = "ADMINVIEW_MAPPINGS"  # source name -> UUID of the mapping of its stream, as JSON

# Outputs of the stacks, by which a deployment is found.
SETTINGS_OUTPUT = "Settings"  # of the sync stack: the environment, as JSON
MAPPINGS_OUTPUT = "Mappings"  # of the sync stack: what functions are told as MAPPINGS
SYNC_FUNCTION_OUTPUT = "SyncFunctionName"
REPLAY_FUNCTION_OUTPUT = "ReplayFunctionName"  # of the recovery stack, as are the next
VERIFY_FUNCTION_OUTPUT = "VerifyFunctionName"
BACKFILL_MACHINE_OUTPUT = "BackfillMachineArn"
MIGRATE_MACHINE_OUTPUT = "MigrateMachineArn"  # where there are migrations
API_URL_OUTPUT = "ApiUrl"  # of the API stack, as is the next
QUESTIONS_OUTPUT = "Questions"  # the model that is asked, and what of it is being built, as JSON
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
        """Write the settings as environment variables."""
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
        """Read the settings back, or say which one is missing or malformed."""
        missing = [
            name for name in (VIEW_TABLE, QUEUE_URL, SOURCES, MODEL) if not environ.get(name)
        ]
        if missing:
            msg = f"environment variables not set: {', '.join(missing)}"
            raise SettingsError(msg)
        try:
            sources = loads(environ[SOURCES])
        except JSONDecodeError as error:
            sources = error
        if not isinstance(sources, dict):
            msg = f'{SOURCES} must be a JSON object such as {{"Orders": "prod-Orders"}}'
            raise SettingsError(msg)
        return cls(
            view_table=environ[VIEW_TABLE],
            dead_letter_queue_url=environ[QUEUE_URL],
            sources=sources,
            model=environ[MODEL],
            tracing=environ.get(TRACING) == "true",
            service=environ.get(SERVICE_NAME) or SERVICE,
        )


@dataclass(frozen=True, slots=True)
class PulseSettings:
    """Where the API sees whether the streams are read: the sync function, and each stream."""

    function: str
    # Source name -> what metrics name its stream by: no ARN, for an environment is small.
    streams: Mapping[str, str]

    def to_env(self) -> dict[str, str]:
        """Write the settings as environment variables."""
        return {SYNC_FUNCTION: self.function, STREAMS: dumps(dict(self.streams))}

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> "PulseSettings | None":
        """Read the settings back; None where nobody keeps metrics."""
        if not environ.get(SYNC_FUNCTION):
            return None
        return cls(environ[SYNC_FUNCTION], loads(environ[STREAMS]))


@dataclass(frozen=True, slots=True)
class PendingPatterns:
    """The questions that are being built: each with the older index to ask meanwhile, if any.

    A name that no pattern has is not refused: while a function is updated, the code of one model
    may see the environment of another for a moment, and must answer the other questions.
    """

    questions: Mapping[str, str | None] = field(default_factory=dict)

    def to_env(self) -> dict[str, str]:
        """Write it as an environment variable; none if nothing is being built."""
        return {BUILDING: dumps(dict(self.questions))} if self.questions else {}

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> "PendingPatterns":
        """Read it back, or say what would be right."""
        text = environ.get(BUILDING)
        if not text:
            return cls()
        try:
            return cls.read(loads(text), BUILDING)
        except JSONDecodeError as error:
            msg = f"{BUILDING} is not JSON; expected {BUILDING_EXAMPLE}"
            raise SettingsError(msg) from error

    @classmethod
    def read(cls, given: Any, where: str) -> "PendingPatterns":
        """Take plain data for it, if it is such."""
        if isinstance(given, dict) and all(one is None or _is_name(one) for one in given.values()):
            return cls(given)
        msg = f"{where} is not understood; expected {BUILDING_EXAMPLE}"
        raise SettingsError(msg)


BUILDING_EXAMPLE = (
    'a JSON object such as {"orders-by-status": "GSI1", "orders-by-day": null}: each question that '
    "is being built, with the older index that answers it meanwhile, or null to refuse it"
)


def _is_name(given: object) -> bool:
    return isinstance(given, str) and bool(given)
