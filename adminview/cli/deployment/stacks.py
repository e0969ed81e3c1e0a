"""The stacks of a deployment, as CloudFormation tells them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from json import loads
from typing import Any, Final

from adminview.aws.settings import MODEL, MODEL_METADATA, WATCHED_METADATA
from adminview.aws.table_description import TableDescription, TableIndex
from adminview.model.errors import SettingsError

# The stacks of a deployment.
PARTS = SOURCES, VIEW, SYNC, RECOVERY, API, WATCH = (
    "Sources",
    "View",
    "Sync",
    "Recovery",
    "Api",
    "Watch",
)
# Of a stack that was never made, though it has a name: CDK makes it anew.
NOTHING: Final = ("REVIEW_IN_PROGRESS", "ROLLBACK_COMPLETE", "DELETE_COMPLETE")
CREATED: Final = "CREATE_COMPLETE"
TABLE, FUNCTION = "AWS::DynamoDB::GlobalTable", "AWS::Lambda::Function"


@dataclass(frozen=True, slots=True)
class Stack:
    """One stack that is deployed."""

    name: str
    status: str
    updated: float | None  # when it last was, if ever
    outputs: Mapping[str, str]
    template: Mapping[str, Any]

    @classmethod
    def of(cls, name: str, described: Mapping[str, Any], template: Any) -> "Stack":
        """Make a stack of what DescribeStacks and GetTemplate return."""
        if isinstance(template, str):
            try:
                template = loads(template)
            except ValueError as error:
                msg = f"the template of stack {name!r} is not JSON: it was not deployed from here"
                raise SettingsError(msg) from error
        updated = described.get("LastUpdatedTime")
        when = updated.timestamp() if updated else None
        return cls(name, described["StackStatus"], when, outputs_of(described), template)

    @property
    def replaced_at(self) -> float | None:
        """Say when older code may last have begun to run; None if there never was any."""
        return None if self.status == CREATED else self.updated

    def description(self) -> Any:
        """Read the model it was deployed with, or None if it does not say."""
        found = self._metadata(MODEL_METADATA)
        return loads(found) if isinstance(found, str) else found

    def watched(self) -> str | None:
        """Read what its alarms look at, or None if there are none."""
        found = self._metadata(WATCHED_METADATA)
        return None if found is None else str(found)

    def _metadata(self, name: str) -> Any:
        """Return what one of its resources says under *name*; None if none does."""
        found = (one.get("Metadata", {}) for one in self.template.get("Resources", {}).values())
        return next((one[name] for one in found if name in one), None)

    def fingerprint(self) -> str | None:
        """Read the fingerprint of the model that its functions are told."""
        found = {
            resource["Properties"].get("Environment", {}).get("Variables", {}).get(MODEL)
            for resource in self._resources(FUNCTION)
        } - {None}
        return found.pop() if len(found) == 1 else None

    def tables(self) -> list[str]:
        """List the names of its tables."""
        return [resource["Properties"]["TableName"] for resource in self._resources(TABLE)]

    def indexes(self) -> list[TableIndex]:
        """List the indexes of its one table, as they were asked for."""
        (table,) = (resource["Properties"] for resource in self._resources(TABLE))
        return [*TableDescription.of(table).indexes]

    def _resources(self, kind: str) -> Iterator[Any]:
        resources = self.template.get("Resources", {}).values()
        return (resource for resource in resources if resource["Type"] == kind)


def outputs_of(described: Mapping[str, Any]) -> dict[str, str]:
    """Read the outputs of a stack from what DescribeStacks returns."""
    return {one["OutputKey"]: str(one["OutputValue"]) for one in described.get("Outputs", [])}
