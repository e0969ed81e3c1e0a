"""The stacks of a deployment, as CloudFormation describes them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from json import loads
from typing import Any, Final

from adminview.aws.settings import (
    API_STACK,
    MODEL,
    MODEL_METADATA,
    SYNC_STACK,
    WATCHED_METADATA,
)
from adminview.aws.stack_outputs import outputs_of
from adminview.aws.table_description import TableDescription, TableIndex
from adminview.model.errors import SettingsError

PARTS = SOURCES, VIEW, TOTALS, SYNC, RECOVERY, API, WATCH = (
    "Sources",
    "View",
    "Totals",
    SYNC_STACK,
    "Recovery",
    API_STACK,
    "Watch",
)
# Its creation failed. The next deployment deletes the stack and creates it again: that fails if the
# stack is protected, or if a resource with a fixed name was retained.
FAILED: Final = ("ROLLBACK_COMPLETE", "ROLLBACK_FAILED")
# A stack in one of these states was never created.
NOTHING: Final = ("REVIEW_IN_PROGRESS", *FAILED, "DELETE_COMPLETE")
RETAINED: Final = ("Retain", "RetainExceptOnCreate")  # deletion policies
CREATED: Final = "CREATE_COMPLETE"
TABLE, FUNCTION = "AWS::DynamoDB::GlobalTable", "AWS::Lambda::Function"


@dataclass(frozen=True, slots=True)
class Stack:
    """A deployed stack with its template."""

    name: str
    status: str
    updated: float | None  # the time of the last update, if any
    outputs: Mapping[str, str]
    template: Mapping[str, Any]

    @classmethod
    def of(cls, name: str, described: Mapping[str, Any], template: Any) -> "Stack":
        """Return the stack that DescribeStacks and GetTemplate describe."""
        if isinstance(template, str):
            try:
                template = loads(template)
            except ValueError as error:
                msg = f"the template of stack {name!r} is not JSON: AdminView did not deploy it"
                raise SettingsError(msg) from error
        updated = described.get("LastUpdatedTime")
        when = updated.timestamp() if updated else None
        return cls(name, described["StackStatus"], when, outputs_of(described), template)

    @property
    def replaced_at(self) -> float | None:
        """When older code was last replaced; None if there never was any."""
        return None if self.status == CREATED else self.updated

    def description(self) -> Any:
        """Return the model it was deployed with; None if its template has none."""
        model = self._metadata(MODEL_METADATA)
        return loads(model) if isinstance(model, str) else model

    def watched(self) -> str | None:
        """Return what its alarms cover; None if there are none."""
        digest = self._metadata(WATCHED_METADATA)
        return None if digest is None else str(digest)

    def _metadata(self, name: str) -> Any:
        """Return the metadata *name* of the first resource that has it; None if none does."""
        resources = self.template.get("Resources", {}).values()
        metadata = (resource.get("Metadata", {}) for resource in resources)
        return next((values[name] for values in metadata if name in values), None)

    def fingerprint(self) -> str | None:
        """Return the model fingerprint of its functions; None if they differ or have none."""
        fingerprints = {
            resource["Properties"].get("Environment", {}).get("Variables", {}).get(MODEL)
            for resource in self._resources(FUNCTION)
        } - {None}
        return fingerprints.pop() if len(fingerprints) == 1 else None

    def tables(self) -> list[str]:
        """Return the names of its tables."""
        return [resource["Properties"]["TableName"] for resource in self._resources(TABLE)]

    def indexes(self) -> list[TableIndex]:
        """Return the indexes of its only table, as the template declares them."""
        (table,) = (resource["Properties"] for resource in self._resources(TABLE))
        return [*TableDescription.of(table).indexes]

    def has_stream(self) -> bool:
        """Return whether the template gives its only table a stream."""
        (table,) = (resource["Properties"] for resource in self._resources(TABLE))
        return "StreamSpecification" in table

    def _resources(self, kind: str) -> Iterator[Any]:
        resources = self.template.get("Resources", {}).values()
        return (resource for resource in resources if resource["Type"] == kind)
