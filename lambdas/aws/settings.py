"""What a function is told by its environment: names spelled once, for infra and Lambda alike."""

from collections.abc import Mapping
from dataclasses import dataclass
from json import JSONDecodeError, dumps, loads

from lambdas.model.errors import SettingsError

SERVICE = "adminview"  # as Powertools calls us in logs and metrics
NAMESPACE = "AdminView"  # of the metrics

VIEW_TABLE = "ADMINVIEW_TABLE"
QUEUE_URL = "ADMINVIEW_DEAD_LETTER_QUEUE_URL"
SOURCES = "ADMINVIEW_SOURCES"
MODEL = "ADMINVIEW_MODEL"
TRACING = "ADMINVIEW_TRACING"
SYNC_FUNCTION = "ADMINVIEW_SYNC_FUNCTION"
STREAMS = "ADMINVIEW_STREAMS"

# Outputs of the stacks, by which a deployment is found.
SETTINGS_OUTPUT = "Settings"  # of the sync stack: the environment, as JSON
REPLAY_FUNCTION_OUTPUT = "ReplayFunctionName"  # of the recovery stack, as is the next
VERIFY_FUNCTION_OUTPUT = "VerifyFunctionName"
API_URL_OUTPUT = "ApiUrl"  # of the API stack


def stack_name(prefix: str, stage: str, part: str) -> str:
    """Name one stack: two prefixes are two deployments that never touch each other."""
    return f"{prefix}AdminView-{stage}-{part}"


@dataclass(frozen=True, slots=True)
class Settings:
    """Where the view and the dead letters are, and which table stands behind each source."""

    view_table: str
    dead_letter_queue_url: str
    sources: Mapping[str, str]  # source name -> table name
    model: str  # the fingerprint that rows are stamped with
    tracing: bool = False

    def to_env(self) -> dict[str, str]:
        """Write the settings as environment variables."""
        return {
            VIEW_TABLE: self.view_table,
            QUEUE_URL: self.dead_letter_queue_url,
            SOURCES: dumps(dict(self.sources)),
            MODEL: self.model,
            TRACING: "true" if self.tracing else "false",
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
        )


@dataclass(frozen=True, slots=True)
class PulseSettings:
    """Where the API sees whether the streams are read: the sync function, and each stream."""

    function: str
    streams: Mapping[str, str]  # source name -> ARN of its stream

    def label(self, source: str) -> str:
        """Name a stream as its metrics do."""
        return self.streams[source].partition("/stream/")[2]

    def to_env(self) -> dict[str, str]:
        """Write the settings as environment variables."""
        return {SYNC_FUNCTION: self.function, STREAMS: dumps(dict(self.streams))}

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> "PulseSettings | None":
        """Read the settings back; None where nobody keeps metrics."""
        if not environ.get(SYNC_FUNCTION):
            return None
        return cls(environ[SYNC_FUNCTION], loads(environ[STREAMS]))
