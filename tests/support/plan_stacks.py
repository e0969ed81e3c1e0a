"""Fakes of the stacks and tables that a plan reads."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import ClientError

from adminview.aws.deadline import Deadline
from adminview.aws.table_description import TableIndex
from tests.support.plan_simulator import index, model, question

BY = index("ByStatus", "status", include=("data", "_at"))
OLD = model({"Orders": "a"}, (BY,), (question("by-status", BY),))
THEN = datetime(2026, 1, 31, tzinfo=UTC)


def refusal(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": ""}}, "Call")


def function(fingerprint: str) -> dict[str, Any]:
    variables = {"ADMINVIEW_MODEL": fingerprint}
    properties = {"Environment": {"Variables": variables}}
    return {"Type": "AWS::Lambda::Function", "Properties": properties}


def described() -> dict[str, Any]:
    """Describe the view table as a template and DynamoDB both do."""
    table: dict[str, Any] = {
        "TableName": "team-AdminViewTable",
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": "S"} for name in ("PK", "status", "_owner")
        ],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": index.name,
                "KeySchema": [{"AttributeName": index.partition[0][0], "KeyType": "HASH"}],
                "Projection": {
                    "ProjectionType": index.projection,
                    **({"NonKeyAttributes": list(index.include)} if index.include else {}),
                },
            }
            for index in map(TableIndex.of, OLD["indexes"])
        ],
    }
    return table


@dataclass
class Cloud:
    """The calls of CloudFormation and DynamoDB that a plan makes."""

    stacks: dict[str, Any] = field(default_factory=dict)
    table: dict[str, Any] | None = None
    rows: list[dict[str, Any]] = field(default_factory=list)
    progress: dict[str, Any] | None = field(default_factory=dict)

    def describe_stacks(self, *, StackName: str) -> Any:  # noqa: N803 - as boto3 has it
        if StackName not in self.stacks:
            raise refusal("ValidationError")
        return {"Stacks": [self.stacks[StackName]["stack"]]}

    def get_template(self, *, StackName: str) -> Any:  # noqa: N803
        return {"TemplateBody": self.stacks[StackName]["template"]}

    def describe_table(self, **_: Any) -> Any:
        if self.table is None:
            raise refusal("ResourceNotFoundException")
        return {"Table": self.table}

    def scan(self, *, Segment: int, **_: Any) -> Any:  # noqa: N803
        rows = [] if Segment else self.rows
        return {"Items": rows, "ScannedCount": len(rows)}

    def query(self, *, ExpressionAttributeValues: Any, **_: Any) -> Any:  # noqa: N803
        if self.progress is None:
            raise refusal("ResourceNotFoundException")
        items = self.progress.get(ExpressionAttributeValues[":pk"]["S"], {})
        return {"Items": list(items.values())}

    def put_item(self, *, Item: Any, **_: Any) -> Any:  # noqa: N803
        if self.progress is None:
            raise refusal("ResourceNotFoundException")
        self.progress.setdefault(Item["PK"]["S"], {})[Item["SK"]["S"]] = Item
        return {}

    def get_item(self, *, Key: Any, **_: Any) -> Any:  # noqa: N803
        item = (self.progress or {}).get(Key["PK"]["S"], {}).get(Key["SK"]["S"])
        return {"Item": item} if item else {}

    def get_paginator(self, _: str) -> Any:
        return self

    def paginate(self) -> Any:
        return [{"TableNames": ["Orders", "team-AdminViewTable"]}]

    def add(self, part: str, template: Any, *, status: str = "UPDATE_COMPLETE", **out: str) -> None:
        outputs = [{"OutputKey": name, "OutputValue": value} for name, value in out.items()]
        stack = {"StackStatus": status, "LastUpdatedTime": THEN, "Outputs": outputs}
        self.stacks[f"team-AdminView-dev-{part}"] = {"stack": stack, "template": template}


def ever() -> Deadline:
    return Deadline.after(60)
