"""The option `customerKeyArn`: a KMS key of your own.

docs/configuration.md has the policy that the key must have.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from adminview.cdk.options.context import is_empty
from adminview.model.errors import SettingsError

ARN: Final = re.compile(
    r"arn:[a-z-]+:kms:[a-z0-9-]+:\d{12}:key/"
    r"([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|mrk-[0-9a-f]{32})"  # mrk: multi-Region key
)
ID: Final = "CustomerKey"
SEND: Final = "sqs:SendMessage"


@dataclass(frozen=True, slots=True)
class CustomerKey:
    """An existing key, managed outside this deployment."""

    arn: str

    @classmethod
    def read(cls, value: object) -> "CustomerKey | None":
        """Read the context's `customerKeyArn`, or raise a SettingsError; None if it is empty."""
        if is_empty(value):
            return None
        if isinstance(value, str) and ARN.fullmatch(value):
            return cls(value)
        msg = (
            f"context customerKeyArn: {value!r} is not the ARN of a KMS key, such as "
            "arn:aws:kms:<region>:<account>:key/<id> (policies accept no alias). "
            "Look it up with: aws kms describe-key --key-id <id or alias> "
            "--query KeyMetadata.Arn"
        )
        raise SettingsError(msg)

    def import_into(self, scope: Construct) -> kms.IKey:
        """Return the key as a construct of the stack of *scope*. Creates no resource."""
        stack = Stack.of(scope)
        imported = stack.node.try_find_child(ID)  # by an earlier call
        return imported or kms.Key.from_key_arn(stack, ID, self.arn)  # type: ignore[return-value]

    def statement_for(self, statements: Sequence[iam.PolicyStatement]) -> iam.PolicyStatement:
        """Return the key permissions of a function that has the permissions *statements*.

        Decrypt: Lambda decrypts the function's environment with the function's role. DynamoDB, on
        reads and writes, and SQS decrypt data keys on behalf of the caller. GenerateDataKey: SQS
        encrypts messages on behalf of the sender. No function needs Encrypt or CreateGrant:
        whoever deploys creates tables, functions and log groups.
        """
        sends = any(SEND in statement.actions for statement in statements)
        return iam.PolicyStatement(
            actions=["kms:Decrypt", *(["kms:GenerateDataKey"] if sends else [])],
            resources=[self.arn],
        )
