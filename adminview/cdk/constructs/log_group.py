"""A log that is kept and encrypted as the deployment says."""

from aws_cdk import aws_logs as logs
from constructs import Construct

from adminview.cdk.options.deployment import DeploymentOptions


class LogGroup(logs.LogGroup):
    """The log of one function, machine or API.

    Who writes to it needs nothing of the customer's key: CloudWatch Logs encrypts by a leave of its
    own, in the key's policy.
    """

    def __init__(self, scope: Construct, id_: str, *, options: DeploymentOptions) -> None:
        super().__init__(
            scope,
            id_,
            retention=options.stage.log_retention,
            removal_policy=options.stage.removal_policy,
            encryption_key=options.key_in(scope),
        )
