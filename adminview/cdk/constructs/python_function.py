"""A function of the `lambdas` package, with its log group and a role of its own."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

from aws_cdk import Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from adminview.aws.settings import NAMESPACE
from adminview.cdk.constructs.log_group import LogGroup
from adminview.cdk.constructs.suppress_nag import acknowledge
from adminview.cdk.options import Deployment
from adminview.model.errors import SettingsError

OLDER_RUNTIME: Final = (
    "Python 3.13 is the newest on which a view file is known to have the same fingerprint as on "
    "older ones (tests/unit/test_fingerprint.py), and the one that the bundle's wheels are for "
    "(adminview/cdk/bundle.py). Lambda supports it until June 2029."
)
DESCRIPTIONS_ARE_UNSCOPED: Final = "EC2 knows no resources for what only describes."
INTERFACES_HAVE_NO_NAME: Final = (
    "Lambda makes a function's network interfaces, and names them only then "
    "(adminview/cdk/network.py)."
)
TRACES_ARE_UNSCOPED: Final = "X-Ray knows no resources: traces can be sent, or not at all."


ENVIRONMENT_BYTES: Final = 4096 - 100  # set by Lambda; some are left to what is added below
TOKEN: Final = re.compile(r"\$\{Token\[[^]]*\]\}")
ESTIMATE: Final = "x" * 40  # a mapping's id is shorter, a queue's URL longer


class PythonFunction(Construct):
    """A Lambda function that may do what *statements* say, and write its own log."""

    def __init__(  # noqa: PLR0913 - all are keywords
        self,
        scope: Construct,
        id_: str,
        *,
        handler: str,
        description: str,
        memory_mb: int,
        timeout: Duration,
        environment: Mapping[str, str],
        statements: Sequence[iam.PolicyStatement],
        deployment: Deployment,
        reserved_concurrency: int | None = None,
        unscoped: str = "",  # why one of them is about everything, if one is
    ) -> None:
        super().__init__(scope, id_)
        _check_size(id_, environment)
        tracing, network = deployment.stage.tracing, deployment.network
        self.log_group = LogGroup(self, "Logs", deployment=deployment)
        write_log = iam.PolicyStatement(
            actions=["logs:CreateLogStream", "logs:PutLogEvents"],
            resources=[self.log_group.log_group_arn],
        )
        # Inline, so that the role has its permissions the moment it exists: Lambda tries them out
        # when a stream is subscribed.
        self.role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            inline_policies={
                "LeastPrivilege": iam.PolicyDocument(
                    statements=[write_log, *statements, *self._also(statements, deployment)]
                )
            },
        )
        self.function = _Function(
            self,
            "Function",
            code=lambda_.Code.from_asset(str(deployment.code.build(tracing=tracing))),
            handler=handler,
            description=description,
            runtime=lambda_.Runtime.PYTHON_3_13,
            architecture=lambda_.Architecture.ARM_64,
            memory_size=memory_mb,
            timeout=timeout,
            role=self.role,
            log_group=self.log_group,
            environment_encryption=deployment.key_in(self),
            reserved_concurrent_executions=reserved_concurrency,
            tracing=lambda_.Tracing.ACTIVE if tracing else lambda_.Tracing.DISABLED,
            environment={
                **environment,
                "POWERTOOLS_METRICS_NAMESPACE": NAMESPACE,
            },
        )
        if network:
            made = cast("lambda_.CfnFunction", self.function.node.default_child)
            made.vpc_config = network.vpc_config

        self._acknowledge(unscoped, deployment)

    def _also(
        self, statements: Sequence[iam.PolicyStatement], deployment: Deployment
    ) -> Iterator[iam.PolicyStatement]:
        """Allow what follows from where the function runs, and whose key it meets."""
        if deployment.customer_key:
            yield deployment.customer_key.needed_for(statements)
        if deployment.network:
            yield from deployment.network.statements(self)

    def _acknowledge(self, unscoped: str, deployment: Deployment) -> None:
        """Say why what cdk-nag finds does not hold here."""
        acknowledge(self.function, "L1", OLDER_RUNTIME)
        policy = self.role.node.find_child("Resource")
        if unscoped:
            acknowledge(policy, "IAM5[Resource::*]", unscoped)
        elif deployment.network:
            acknowledge(policy, "IAM5[Resource::*]", DESCRIPTIONS_ARE_UNSCOPED)
        for interfaces in deployment.network.unnamed if deployment.network else ():
            acknowledge(policy, f"IAM5[Resource::{interfaces}]", INTERFACES_HAVE_NO_NAME)
        if deployment.stage.tracing:
            added = self.role.node.find_child("DefaultPolicy")
            acknowledge(added, "IAM5[Resource::*]", TRACES_ARE_UNSCOPED)


def _check_size(name: str, environment: Mapping[str, str]) -> None:
    """Refuse more variables than Lambda takes; what is known only when deployed is estimated."""
    size = sum(len(key) + len(TOKEN.sub(ESTIMATE, value)) for key, value in environment.items())
    if size > ENVIRONMENT_BYTES:
        msg = (
            f"the environment of function {name!r} takes about {size} bytes, and Lambda takes "
            f"{ENVIRONMENT_BYTES}: there are too many sources for one deployment, or their names "
            "are too long; give some of the view files a deployment of their own, with a prefix"
        )
        raise SettingsError(msg)


class _Function(lambda_.Function):
    """A function without versions: who may invoke it need not be let invoke any."""

    @property
    def resource_arns_for_grant_invoke(self) -> list[str]:
        """Name the function itself, and nothing else."""
        return [self.function_arn]
