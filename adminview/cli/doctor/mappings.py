"""Whether each source's stream is followed, and by the rules."""

from collections.abc import Iterator, Mapping
from functools import partial
from json import dumps
from typing import Any, Final

from adminview.aws.event_source_mappings import ENABLED
from adminview.aws.table_description import TableDescription
from adminview.cli.deployment.aws_calls import Aws
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.stacks import API, RECOVERY, SOURCES, SYNC, TABLE
from adminview.cli.doctor.finding import Check, Fault, State, Verdict
from adminview.cli.doctor.references import resolve
from adminview.model.stream import VIEW_TYPE

MAPPING: Final = "AWS::Lambda::EventSourceMapping"
PASSING: Final = ("Creating", "Enabling", "Updating")
FAILED: Final = "PROBLEM"  # so begins what Lambda says of a batch that it could not deliver
ON_FAILURE: Final = "OnFailure destination"
# What adminview/model/delivery.py says, in the words of Lambda.
RULES: Final = (
    "BatchSize",
    "MaximumBatchingWindowInSeconds",
    "ParallelizationFactor",
    "BisectBatchOnFunctionError",
    "MaximumRetryAttempts",
    "MaximumRecordAgeInSeconds",
)


def checks(aws: Aws, deployment: Deployment) -> Iterator[Check]:
    """List what is to be looked at."""
    for source in deployment.settings.sources:
        yield Check(f"mapping of {source}", partial(fetch_mapping, aws, deployment, source))


def fetch_mapping(aws: Aws, deployment: Deployment, source: str) -> Verdict:
    """Look at how a source's stream is followed."""
    uuid, table = deployment.mappings.get(source, ""), deployment.settings.sources[source]
    found = aws.find("lambda", "GetEventSourceMapping", UUID=uuid) if uuid else None
    described = aws.find("dynamodb", "DescribeTable", TableName=table)
    stream = TableDescription.of(described["Table"]) if described else None
    # A stream that is off or of the wrong type has to go first, and that is said of the table.
    right = stream is not None and stream.stream_type == VIEW_TYPE
    arn = (stream.stream_arn or "") if stream and right else ""
    faults = evaluate_mapping(deployment, source, found, arn)
    return faults, "enabled, and set as it was deployed"


def evaluate_mapping(
    deployment: Deployment, source: str, found: Mapping[str, Any] | None, stream: str
) -> Iterator[Fault]:
    """Find what is wrong with a mapping; *stream* is what is to be read."""
    restore = deployment.restore(deployment.part(SYNC))
    if found is None:
        again = f"{restore}; {_catch_up(deployment, source)}"
        yield Fault("it is gone: no change reaches the view", again)
        return
    yield from _state_faults(found)
    if stream and found.get("EventSourceArn") != stream:
        yield _another_stream(deployment, source, str(found.get("EventSourceArn")), stream)
    yield from _filter_faults(deployment, source, found)
    seen = settings_of(found)
    for name, wanted in expected_settings(deployment, deployment.mappings[source]).items():
        if seen[name] != wanted:
            yield Fault(f"{name} is {seen[name]}, and deployed was {wanted}", restore)


def _state_faults(found: Mapping[str, Any]) -> Iterator[Fault]:
    state, result = str(found.get("State")), str(found.get("LastProcessingResult", ""))
    if state in PASSING:
        yield Fault(f"it is {state}", "wait a minute, and ask again", State.WARNING)
    elif state != ENABLED:
        enable = f"aws lambda update-event-source-mapping --enabled --uuid {found['UUID']}"
        yield Fault(f"it is {state}: no change reaches the view", enable)
    if result.startswith(FAILED):
        function = str(found.get("FunctionArn")).rpartition(":")[2]
        why = f"look for the error in the log of {function}: {_log(function)}"
        yield Fault(f"the last batch was not taken: {result}", why)


def _filter_faults(
    deployment: Deployment, source: str, found: Mapping[str, Any]
) -> Iterator[Fault]:
    """Find a filter: ours are deployed without, so that CloudFormation sees no drift in one."""
    filters = (found.get("FilterCriteria") or {}).get("Filters") or []
    if filters or found.get("FilterCriteriaError"):
        remove = "aws lambda update-event-source-mapping --filter-criteria '{}'"
        yield Fault(
            "it has a filter, and deployed was none: it drops changes without a trace",
            f"{remove} --uuid {found['UUID']}; {_catch_up(deployment, source)}",
        )


def _another_stream(deployment: Deployment, source: str, read: str, stream: str) -> Fault:
    """Say how a stream is followed that was turned off and on: it is another one since."""
    table = deployment.settings.sources[source]
    readers = [deployment.part(one) for one in (SYNC, RECOVERY, API)]
    entry = {"tableName": table, "streamArn": stream, "streamViewType": VIEW_TYPE}
    # CloudFormation has no eye for it: the stack of the table goes on naming the stream of old.
    return Fault(
        f"it reads {read}, and the table's stream is {stream}: no change reaches the view",
        f'put "{source}": {dumps(entry)} into "sources" of cdk.json; '
        f"{deployment.deploy(*readers)} --exclusively; {_catch_up(deployment, source)}"
        f"{_warning(deployment, table)}",
    )


def _warning(deployment: Deployment, table: str) -> str:
    """Say what becomes of a table of ours that is named as another's from now on."""
    part = deployment.part(SOURCES)
    declared = part.stack.template["Resources"] if part.stack else {}
    owned = [declared[one.id] for one in part.of(TABLE) if one.name == table]
    if all(one.get("DeletionPolicy") == "Retain" for one in owned):
        return ""
    return f". Beware: this stage keeps no data, and {part.name} deletes {table} when next deployed"


def settings_of(found: Mapping[str, Any]) -> dict[str, Any]:
    """Read the settings of a mapping, or of what was asked for: both have them alike."""
    destination = found.get("DestinationConfig") or {}
    return {
        **{name: found.get(name) for name in RULES},
        "FunctionResponseTypes": ", ".join(found.get("FunctionResponseTypes") or ()) or "none",
        ON_FAILURE: (destination.get("OnFailure") or {}).get("Destination"),
        "function": found.get("FunctionName")
        or str(found.get("FunctionArn")).rpartition(":function:")[2],
    }


def expected_settings(deployment: Deployment, uuid: str) -> dict[str, Any]:
    """Say how a mapping must be set: as it was deployed."""
    part = deployment.part(SYNC)
    (asked,) = (one.properties for one in part.of(MAPPING) if one.name == uuid)
    return {
        name: resolve(value, part, deployment) if isinstance(value, dict) else value
        for name, value in settings_of(asked).items()
    }


def _catch_up(deployment: Deployment, source: str) -> str:
    return (
        f"then adminview verify --source {source} --repair {deployment.options}, "
        "for the changes that were not read meanwhile"
    )


def _log(function: str) -> str:
    query = f"aws lambda get-function-configuration --function-name {function}"
    return f"aws logs tail --since 1h $({query} --query LoggingConfig.LogGroup --output text)"
