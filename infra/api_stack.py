"""The read API: an HTTP API, closed, before a function that may read the view."""

from collections.abc import Mapping, Sequence
from json import dumps
from typing import Any, Final

import jsii
from aws_cdk import CfnOutput, Duration, Stack
from aws_cdk import aws_apigatewayv2 as gateway
from aws_cdk import aws_apigatewayv2_authorizers as authorizers
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk.aws_apigateway import AccessLogFormat
from constructs import Construct

from adminview.aws.settings import (
    API_URL_OUTPUT,
    MODEL_METADATA,
    QUESTIONS_OUTPUT,
    PendingPatterns,
    PulseSettings,
    Settings,
)
from adminview.cdk.api_access import ApiAccess
from adminview.cdk.constructs.log_group import LogGroup
from adminview.cdk.constructs.python_function import PythonFunction
from adminview.cdk.options import Deployment
from adminview.cdk.rollout_phase import Wave
from adminview.http_api.paths import CORS_EXPOSED, CORS_HEADERS, PATHS
from adminview.model import Registry
from infra.sources_stack import SourceStream, label_of

# A page of rows is 6 MB at most, several times that as Python objects; the rest buys processor
# time, of which a cold start takes the most.
MEMORY_MB: Final = 1024
TIMEOUT_SECONDS: Final = 29  # the gateway gives up after 30
# Who asked what kind of question, and how it went. Not the path nor the query: they hold keys, that
# is, names of customers. The address tells callers apart who are refused before they have a name.
LOGGED: Final = {
    "requestId": "$context.requestId",
    "time": "$context.requestTimeEpoch",
    "ip": "$context.identity.sourceIp",
    "method": "$context.httpMethod",
    "route": "$context.routeKey",
    "status": "$context.status",
    "error": "$context.error.message",
    "milliseconds": "$context.responseLatency",
    "bytes": "$context.responseLength",
}
IAM_CALLER: Final = "$context.identity.userArn"
JWT_CALLER: Final = "$context.authorizer.claims.sub"
METRICS_ARE_UNSCOPED: Final = (
    "CloudWatch knows no resources: metrics can be read all together or not at all."
)


class ApiStack(Stack):
    """Questions in over HTTPS, rows out. No route is open to everyone."""

    def __init__(  # noqa: PLR0913 - all are keywords
        self,
        scope: Construct,
        id_: str,
        *,
        registry: Registry,
        deployment: Deployment,
        settings: Settings,
        sync: lambda_.IFunction,
        view_table: dynamodb.ITableV2,
        followed: Sequence[SourceStream],
        **kwargs: Any,
    ) -> None:
        super().__init__(scope, id_, **kwargs)
        stage, building = deployment.stage, deployment.wave.questions(registry)
        streams = {table.source.name: label_of(table.stream_arn) for table in followed}
        pulse = PulseSettings(sync.function_name, streams)
        self.function = PythonFunction(
            self,
            "Api",
            handler="lambdas.api.handler",
            description="Answers questions to AdminViewTable, and writes nothing",
            memory_mb=MEMORY_MB,
            timeout=Duration.seconds(TIMEOUT_SECONDS),
            environment=settings.to_env() | pulse.to_env() | PendingPatterns(building).to_env(),
            statements=_may_read(view_table, registry, deployment.wave),
            unscoped=METRICS_ARE_UNSCOPED,
            deployment=deployment,
        ).function
        access = deployment.api
        self.api = gateway.HttpApi(
            self,
            "HttpApi",
            api_name=id_,
            description="Questions to AdminViewTable",
            create_default_stage=False,
            default_authorizer=_authorizer(access),
            cors_preflight=_cors(access),
        )
        integration = integrations.HttpLambdaIntegration(
            "Questions", self.function, scope_permission_to_route=False
        )
        for path in PATHS:
            self.api.add_routes(
                path=path, methods=[gateway.HttpMethod.GET], integration=integration
            )
        self.access_logs = LogGroup(self, "AccessLogs", deployment=deployment)
        gateway.HttpStage(
            self,
            "Stage",
            http_api=self.api,
            stage_name="$default",
            auto_deploy=True,
            throttle=gateway.ThrottleSettings(
                rate_limit=stage.api_rate, burst_limit=stage.api_burst
            ),
            access_log_settings=_AccessLog(
                self.access_logs, {**LOGGED, "caller": JWT_CALLER if access.issuer else IAM_CALLER}
            ),
        )
        self._tell(registry, building)

    def _tell(self, registry: Registry, building: Mapping[str, str | None]) -> None:
        """Say where the API is and what is deployed: to whoever asks, or plans a change of it."""
        self.template_options.metadata = {MODEL_METADATA: dumps(registry.description())}
        CfnOutput(self, API_URL_OUTPUT, value=self.api.api_endpoint)
        CfnOutput(self, "ApiFunctionName", value=self.function.function_name)
        CfnOutput(self, "AccessLogGroup", value=self.access_logs.log_group_name)
        questions = {"model": registry.fingerprint, "building": dict(building)}
        CfnOutput(self, QUESTIONS_OUTPUT, value=dumps(questions))


@jsii.implements(gateway.IAccessLogSettings)
class _AccessLog:
    """One line of JSON for each request."""

    def __init__(self, group: logs.ILogGroup, fields: Mapping[str, str]) -> None:
        self._destination = gateway.LogGroupLogDestination(group)
        self._format = AccessLogFormat.custom(Stack.of(group).to_json_string(dict(fields)))

    @property
    def destination(self) -> gateway.IAccessLogDestination:
        """Say where the lines go."""
        return self._destination

    @property
    def format(self) -> AccessLogFormat:
        """Say what is in a line."""
        return self._format


def _authorizer(access: ApiAccess) -> gateway.IHttpRouteAuthorizer:
    """Let in who is signed with IAM and may invoke the API, or who holds a JWT."""
    if not access.issuer:
        return authorizers.HttpIamAuthorizer()
    return authorizers.HttpJwtAuthorizer("Jwt", access.issuer, jwt_audience=[*access.audience])


def _cors(access: ApiAccess) -> gateway.CorsPreflightOptions | None:
    if not access.origins:
        return None
    return gateway.CorsPreflightOptions(
        allow_origins=[*access.origins],
        allow_methods=[gateway.CorsHttpMethod.GET],
        allow_headers=[*CORS_HEADERS],
        expose_headers=[*CORS_EXPOSED],
        max_age=Duration.hours(1),
    )


def _may_read(
    view_table: dynamodb.ITableV2, registry: Registry, wave: Wave
) -> list[iam.PolicyStatement]:
    """List all that the API may do: ask what is declared, read rows, and look at metrics.

    A role changes before its function does, and is obeyed everywhere only a while later. So it has
    an index from the wave before the first that asks it (a policy may name what is not there yet)
    until it is dropped: whatever a wave switches, both sides of it may be asked.
    """
    indexes = {pattern.index.name for pattern in registry.patterns if pattern.index}
    indexes |= {index.name for index in wave.keep}
    indexes |= {older for older in wave.building.values() if older}
    return [
        iam.PolicyStatement(
            actions=["dynamodb:Query"],
            resources=[
                view_table.table_arn,
                *(f"{view_table.table_arn}/index/{name}" for name in sorted(indexes)),
            ],
        ),
        iam.PolicyStatement(actions=["dynamodb:BatchGetItem"], resources=[view_table.table_arn]),
        # All of them: METRICS_ARE_UNSCOPED.
        iam.PolicyStatement(actions=["cloudwatch:GetMetricData"], resources=["*"]),
    ]
