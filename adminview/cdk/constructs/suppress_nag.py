"""Suppression of cdk-nag findings, each next to its construct and with a reason.

`make check` runs cdk-nag, and fails on a suppression of something that it does not find.
"""

from typing import Final

from aws_cdk import Acknowledgment, Validations
from constructs import IConstruct

PACK: Final = "AwsSolutions"


def suppress_nag(construct: IConstruct, finding: str, because: str) -> None:
    """Suppress one finding on one construct, such as ``SQS3`` or ``IAM5[Resource::*]``."""
    Validations.of(construct).acknowledge(
        Acknowledgment(id=f"{PACK}::{PACK}-{finding}", reason=because)
    )
