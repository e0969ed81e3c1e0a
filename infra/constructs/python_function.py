"""A function of the `lambdas` package, with its log group and a role of its own."""

from collections.abc import Mapping, Sequence

from aws_cdk import Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.bundle import bundle
from infra.stages import Stage
from lambdas.aws.settings import NAMESPACE, SERVICE


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
        stage: Stage,
    ) -> None:
        super().__init__(scope, id_)
        self.log_group = logs.LogGroup(
            self, "Logs", retention=stage.log_retention, removal_policy=stage.removal_policy
        )
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
                "LeastPrivilege": iam.PolicyDocument(statements=[write_log, *statements])
            },
        )
        self.function = lambda_.Function(
            self,
            "Function",
            code=lambda_.Code.from_asset(str(bundle(tracing=stage.tracing))),
            handler=handler,
            description=description,
            runtime=lambda_.Runtime.PYTHON_3_13,
            architecture=lambda_.Architecture.ARM_64,
            memory_size=memory_mb,
            timeout=timeout,
            role=self.role,
            log_group=self.log_group,
            tracing=lambda_.Tracing.ACTIVE if stage.tracing else lambda_.Tracing.DISABLED,
            environment={
                **environment,
                "POWERTOOLS_SERVICE_NAME": SERVICE,
                "POWERTOOLS_METRICS_NAMESPACE": NAMESPACE,
            },
        )
