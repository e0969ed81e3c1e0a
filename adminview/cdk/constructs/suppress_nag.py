"""What cdk-nag finds and does not hold here: acknowledged beside its construct, with evidence.

`make check` runs cdk-nag, and fails on an acknowledgment of something that it does not find.
"""

from typing import Final

from aws_cdk import Acknowledgment, Validations
from constructs import IConstruct

PACK: Final = "AwsSolutions"


def suppress_nag(construct: IConstruct, finding: str, because: str) -> None:
    """Accept one finding on one construct, such as ``SQS3`` or ``IAM5[Resource::*]``."""
    Validations.of(construct).acknowledge(
        Acknowledgment(id=f"{PACK}::{PACK}-{finding}", reason=because)
    )
