"""Check that each source's stream is read, with the deployed settings."""

from collections.abc import Iterator, Mapping
from functools import partial
from json import dumps
from typing import Any, Final

from adminview.aws.event_source_mappings import ENABLED
from adminview.cli.deployment.deployment import DeployedStack, Deployment
from adminview.cli.deployment.stacks import API, RECOVERY, RETAINED, SOURCES, SYNC, TABLE, WATCH
from adminview.cli.doctor.finding import Check, Fault, State, Verdict
from adminview.cli.doctor.references import resolve
from adminview.model.stream import VIEW_TYPE

MAPPING: Final = "AWS::Lambda::EventSourceMapping"
PASSING: Final = ("Creating", "Enabling", "Updating")
FAILED: Final = "PROBLEM"  # prefix of LastProcessingResult for a failed batch
ON_FAILURE: Final = "OnFailure destination"
WINDOW: Final = "TumblingWindowInSeconds"
UNREAD: Final = "no change reaches the view"
# Lambda's names for the settings in adminview/model/delivery.py.
RULES: Final = (
    "BatchSize",
    "MaximumBatchingWindowInSeconds",
    "ParallelizationFactor",
    "BisectBatchOnFunctionError",
    "MaximumRetryAttempts",
    "MaximumRecordAgeInSeconds",
)


def checks(deployment: Deployment) -> Iterator[Check]:
    for source in deployment.settings.sources:
        yield Check(f"mapping of {source}", partial(fetch_mapping, deployment, source))


def fetch_mapping(deployment: Deployment, source: str) -> Verdict:
    uuid, table = deployment.mappings.get(source, ""), deployment.settings.sources[source]
    mapping = deployment.aws.find("lambda", "GetEventSourceMapping", UUID=uuid) if uuid else None
    stream = deployment.table(table)
    # A stream that is off or of the wrong type is reported by the check of the table.
    usable = stream is not None and stream.stream_type == VIEW_TYPE
    arn = (stream.stream_arn or "") if stream and usable else ""
    faults = evaluate_mapping(deployment, source, mapping, arn)
    return faults, "enabled, with the deployed settings"


def evaluate_mapping(
    deployment: Deployment, source: str, mapping: Mapping[str, Any] | None, stream: str
) -> Iterator[Fault]:
    """Report what is wrong with a mapping that must read *stream*; "" is not compared."""
    restore = deployment.restore(deployment.part(SYNC))
    if mapping is None:
        again = f"{restore}; {_catch_up(deployment, source)}"
        yield Fault(f"it is deleted: {UNREAD}", again)
        return
    yield from evaluate_state(mapping, UNREAD)
    if stream and mapping.get("EventSourceArn") != stream:
        yield _another_stream(deployment, source, str(mapping.get("EventSourceArn")), stream)
    yield from evaluate_filters(mapping, _catch_up(deployment, source))
    part, uuid = deployment.part(SYNC), deployment.mappings[source]
    yield from evaluate_settings(deployment, part, uuid, mapping)


def evaluate_settings(
    deployment: Deployment, part: DeployedStack, uuid: str, mapping: Mapping[str, Any]
) -> Iterator[Fault]:
    """Compare a mapping with the template of its stack."""
    actual = settings_of(mapping)
    for name, expected in expected_settings(deployment, uuid, part).items():
        if actual[name] != expected:
            problem = f"{name} is {actual[name]}, but {expected} was deployed"
            yield Fault(problem, deployment.restore(part))


def evaluate_state(mapping: Mapping[str, Any], unread: str) -> Iterator[Fault]:
    """Report a mapping that is disabled, or whose last batch failed."""
    state, result = str(mapping.get("State")), str(mapping.get("LastProcessingResult", ""))
    if state in PASSING:
        yield Fault(f"it is {state}", "wait a minute, and run this again", State.WARNING)
    elif state != ENABLED:
        enable = f"aws lambda update-event-source-mapping --enabled --uuid {mapping['UUID']}"
        yield Fault(f"it is {state}: {unread}", enable)
    if result.startswith(FAILED):
        function = str(mapping.get("FunctionArn")).rpartition(":")[2]
        why = f"look for the error in the log of {function}: {_log(function)}"
        yield Fault(f"the last batch failed: {result}", why)


def evaluate_filters(mapping: Mapping[str, Any], catch_up: str) -> Iterator[Fault]:
    """Report a filter. The template has none, so CloudFormation would not detect it as drift."""
    filters = (mapping.get("FilterCriteria") or {}).get("Filters") or []
    if filters or mapping.get("FilterCriteriaError"):
        remove = "aws lambda update-event-source-mapping --filter-criteria '{}'"
        yield Fault(
            "it has a filter, but none was deployed: the filter drops changes silently",
            f"{remove} --uuid {mapping['UUID']}; {catch_up}",
        )


def _another_stream(deployment: Deployment, source: str, read: str, stream: str) -> Fault:
    """Report a mapping of an old stream: a stream that is turned off and on again is a new one.

    So is the stream of a table that was restored from a backup.
    """
    table = deployment.settings.sources[source]
    readers = [deployment.part(name) for name in (SYNC, RECOVERY, API, WATCH)]
    entry = {"tableName": table, "streamArn": stream, "streamViewType": VIEW_TYPE}
    # CloudFormation does not notice: the stack of the table still exports the old stream.
    return Fault(
        f"it reads {read}, but the table's stream is {stream}: no change reaches the view",
        f'put "{source}": {dumps(entry)} into "sources" of cdk.json; '
        f"{deployment.deploy(*readers)} --exclusively; {_catch_up(deployment, source)} "
        f"(docs/runbook.md#new-stream){_warning(deployment, table)}",
    )


def _warning(deployment: Deployment, table: str) -> str:
    """Return a warning if importing a table of our own stack lets that stack delete it."""
    part = deployment.part(SOURCES)
    declared = part.stack.template["Resources"] if part.stack else {}
    owned = [declared[own.id] for own in part.of(TABLE) if own.name == table]
    if all(resource.get("DeletionPolicy") in RETAINED for resource in owned):
        return ""
    return (
        f". Warning: this stage retains no data: the next deployment of {part.name} deletes {table}"
    )


def settings_of(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a mapping, from Lambda or from a template."""
    destination = mapping.get("DestinationConfig") or {}
    return {
        **{name: mapping.get(name) for name in RULES},
        WINDOW: mapping.get(WINDOW) or 0,  # a template without a window leaves it out
        "FunctionResponseTypes": ", ".join(mapping.get("FunctionResponseTypes") or ()) or "none",
        ON_FAILURE: (destination.get("OnFailure") or {}).get("Destination"),
        "function": mapping.get("FunctionName")
        or str(mapping.get("FunctionArn")).rpartition(":function:")[2],
    }


def expected_settings(
    deployment: Deployment, uuid: str, part: DeployedStack | None = None
) -> dict[str, Any]:
    """Return the settings of a mapping in its template; without *part*, that of the sync."""
    part = part or deployment.part(SYNC)
    (declared,) = (mapping.properties for mapping in part.of(MAPPING) if mapping.name == uuid)
    return {
        name: resolve(value, part, deployment) if isinstance(value, dict) else value
        for name, value in settings_of(declared).items()
    }


def _catch_up(deployment: Deployment, source: str) -> str:
    return (
        f"then adminview verify --source {source} --repair {deployment.options}, "
        "for the changes that were not read"
    )


def _log(function: str) -> str:
    query = f"aws lambda get-function-configuration --function-name {function}"
    return f"aws logs tail --since 1h $({query} --query LoggingConfig.LogGroup --output text)"
