"""The read API: an HTTP API, closed by default, and a function that may read the view."""

from collections.abc import Mapping
from json import dumps
from typing import Final

import jsii
from aws_cdk import CfnOutput, Duration, Stack
from aws_cdk import aws_apigatewayv2 as gateway
from aws_cdk import aws_apigatewayv2_authorizers as authorizers
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk.aws_apigateway import AccessLogFormat
from constructs import Construct

from adminview.aws.settings import (
    API_URL_OUTPUT,
    MODEL_METADATA,
    PATTERNS_OUTPUT,
)
from adminview.cdk.constructs.python_function import LogGroup, PythonFunction, add_metadata
from adminview.cdk.constructs.recovery_access import may_read_readiness
from adminview.cdk.constructs.sync_pipeline import SyncPipeline
from adminview.cdk.constructs.table import AdminViewTable
from adminview.cdk.constructs.totals import may_query_totals
from adminview.cdk.options.api_access import ApiAccess
from adminview.cdk.options.deployment import DeploymentOptions
from adminview.cdk.options.rollout_phase import RolloutPhase
from adminview.http_api.paths import CORS_EXPOSED, CORS_HEADERS, PATHS
from adminview.model import Registry

# A page of rows has at most 6 MB, several times that as Python objects. The rest buys processor
# time, mostly for cold starts.
MEMORY_MB: Final = 1024
TIMEOUT_SECONDS: Final = 29  # the gateway gives up after 30
# Neither the path nor the query string: they contain keys, and so customer data. The address
# distinguishes callers that are refused before they are authenticated.
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
ALARMS_ARE_LISTED: Final = (
    "Alarms are found by their state and the beginning of their names: /health lists those of this "
    "deployment that ring, however many sources there are."
)


class QueryApi(Construct):
    """Queries in over HTTPS, rows out. No route is open to everyone."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        options: DeploymentOptions,
        view: AdminViewTable,
        sync: SyncPipeline,
    ) -> None:
        super().__init__(scope, id_)
        views = options.views
        pending = options.phase.pending_patterns(views)
        self.function = PythonFunction(
            self,
            "Api",
            handler="api",
            description="Answers queries to AdminViewTable, and writes nothing",
            memory_mb=MEMORY_MB,
            timeout=Duration.seconds(TIMEOUT_SECONDS),
            settings=sync.settings,
            pending=pending,
            statements=[
                *_may_read(view.table, views, options.phase),
                *may_query_totals(self, options),
                may_read_readiness(self, options),
            ],
            unscoped=ALARMS_ARE_LISTED,
            options=options,
        ).function
        self.access_logs = LogGroup(
            self, "AccessLogs", options=options, delivered="apis/AccessLogs"
        )
        self.api = self._gateway(options)
        # Read by `adminview plan`.
        add_metadata(self.function, MODEL_METADATA, dumps(views.description()))
        CfnOutput(self, API_URL_OUTPUT, value=self.api.api_endpoint)
        CfnOutput(self, "ApiFunctionName", value=self.function.function_name)
        CfnOutput(self, "AccessLogGroup", value=self.access_logs.log_group_name)
        served = {"model": views.fingerprint, "pending": dict(pending)}
        CfnOutput(self, PATTERNS_OUTPUT, value=dumps(served))

    def _gateway(self, options: DeploymentOptions) -> gateway.HttpApi:
        stage, access = options.stage, options.api
        api = gateway.HttpApi(
            self,
            "HttpApi",
            api_name=options.stack("Api"),
            description="Queries to AdminViewTable",
            create_default_stage=False,
            default_authorizer=_authorizer(access),
            cors_preflight=_cors(access),
        )
        integration = integrations.HttpLambdaIntegration(
            "Queries", self.function, scope_permission_to_route=False
        )
        for path in PATHS:
            api.add_routes(path=path, methods=[gateway.HttpMethod.GET], integration=integration)
        gateway.HttpStage(
            self,
            "Stage",
            http_api=api,
            stage_name="$default",
            auto_deploy=True,
            throttle=gateway.ThrottleSettings(
                rate_limit=stage.api_rate, burst_limit=stage.api_burst
            ),
            access_log_settings=_AccessLog(
                self.access_logs, {**LOGGED, "caller": JWT_CALLER if access.issuer else IAM_CALLER}
            ),
        )
        return api


@jsii.implements(gateway.IAccessLogSettings)
class _AccessLog:
    """Access logs with one line of JSON per request."""

    def __init__(self, group: logs.ILogGroup, fields: Mapping[str, str]) -> None:
        self._destination = gateway.LogGroupLogDestination(group)
        self._format = AccessLogFormat.custom(Stack.of(group).to_json_string(dict(fields)))

    @property
    def destination(self) -> gateway.IAccessLogDestination:
        return self._destination

    @property
    def format(self) -> AccessLogFormat:
        return self._format


def _authorizer(access: ApiAccess) -> gateway.IHttpRouteAuthorizer:
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
    view_table: dynamodb.ITableV2, registry: Registry, phase: RolloutPhase
) -> list[iam.PolicyStatement]:
    """Return the API's permissions: query declared indexes, read rows, and list alarms.

    A role changes before its function, and IAM takes a while to propagate. So the API may query an
    index one phase before it is used (a policy may name an index that does not exist yet), and
    until the index is dropped.
    """
    indexes = {
        pattern.index.name for pattern in registry.patterns if pattern.index and not pattern.total
    }
    indexes |= {index.name for index in phase.keep}
    rows = {pattern.name for pattern in registry.patterns if not pattern.total}
    indexes |= {older for name, older in phase.pending.items() if older and name in rows}
    return [
        iam.PolicyStatement(
            actions=["dynamodb:Query"],
            resources=[
                view_table.table_arn,
                *(f"{view_table.table_arn}/index/{name}" for name in sorted(indexes)),
            ],
        ),
        iam.PolicyStatement(actions=["dynamodb:BatchGetItem"], resources=[view_table.table_arn]),
        iam.PolicyStatement(actions=["cloudwatch:DescribeAlarms"], resources=["*"]),
    ]
