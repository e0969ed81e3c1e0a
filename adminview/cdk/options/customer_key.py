"""The customer's own KMS key, as cdk.json's `customerKeyArn` names it.

docs/configuration.md has the policy that the key itself must have.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from adminview.cdk.options.context import is_nothing
from adminview.model.errors import SettingsError

ARN: Final = re.compile(
    r"arn:[a-z-]+:kms:[a-z0-9-]+:\d{12}:key/"
    r"([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|mrk-[0-9a-f]{32})"  # the latter in many regions
)
ID: Final = "CustomerKey"
SEND: Final = "sqs:SendMessage"


@dataclass(frozen=True, slots=True)
class CustomerKey:
    """A key that exists already, and that others manage."""

    arn: str

    @classmethod
    def read(cls, given: object) -> "CustomerKey | None":
        """Read the context's `customerKeyArn`, or say what would be one; none if it is empty."""
        if is_nothing(given):
            return None
        if isinstance(given, str) and ARN.fullmatch(given):
            return cls(given)
        msg = (
            f"context customerKeyArn: {given!r} is not the ARN of a KMS key, such as "
            "arn:aws:kms:<region>:<account>:key/<id> (an alias will not do: policies cannot name "
            "one). Look it up with: aws kms describe-key --key-id <id or alias> "
            "--query KeyMetadata.Arn"
        )
        raise SettingsError(msg)

    def imported(self, scope: Construct) -> kms.IKey:
        """Let the stack of *scope* know the key; nothing is made, and nobody is asked."""
        stack = Stack.of(scope)
        found = stack.node.try_find_child(ID)
        return found or kms.Key.from_key_arn(stack, ID, self.arn)  # type: ignore[return-value]  # what an earlier call made

    def needed_for(self, statements: Sequence[iam.PolicyStatement]) -> iam.PolicyStatement:
        """Allow what a function needs of the key, that may do what *statements* say.

        Decrypt: Lambda opens the function's environment by its role; DynamoDB opens a table's key,
        for reads and writes alike, in the name of whoever calls it; so does SQS with a message's.
        GenerateDataKey: who sends to a queue has the messages encrypted. Nobody needs Encrypt or
        CreateGrant: tables, functions and log groups are made by whoever deploys.
        """
        sends = any(SEND in statement.actions for statement in statements)
        return iam.PolicyStatement(
            actions=["kms:Decrypt", *(["kms:GenerateDataKey"] if sends else [])],
            resources=[self.arn],
        )
