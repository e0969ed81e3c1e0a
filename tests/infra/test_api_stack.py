"""The API is closed: callers are authenticated, and queries are not logged."""

import json
from pathlib import Path
from typing import Any

import pytest

from adminview.http_api.paths import PATHS
from tests.support.shop import registry
from tests.support.synthesis import Assembly, synthesize

JWT = {"jwtIssuer": "https://login.example/pool", "jwtAudience": ["panel", "reports"]}
PANEL = "https://panel.example"


@pytest.fixture(scope="module")
def with_jwt(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """Synthesize an API that takes JWTs, for the pages of one origin."""
    directory = tmp_path_factory.mktemp("cdk")
    return synthesize(registry(), directory, api=JWT | {"corsOrigins": [PANEL]})


def only(assembly: Assembly, type_: str) -> dict[str, Any]:
    (resource,) = assembly.resources(type_)
    return dict(resource["Properties"])


def routes(assembly: Assembly) -> dict[str, dict[str, Any]]:
    properties = [route["Properties"] for route in assembly.resources("AWS::ApiGatewayV2::Route")]
    return {route["RouteKey"]: route for route in properties}


@pytest.mark.parametrize("stage", ["dev", "prod", "mixed"])
def test_every_route_asks_for_a_signature_and_none_catches_all(
    stage: str, request: pytest.FixtureRequest
) -> None:
    by_key = routes(request.getfixturevalue(stage))
    assert by_key.keys() == {f"GET {path}" for path in PATHS}
    assert {route["AuthorizationType"] for route in by_key.values()} == {"AWS_IAM"}


def test_every_route_asks_for_a_jwt_when_an_issuer_is_named(with_jwt: Assembly) -> None:
    by_key = routes(with_jwt)
    assert by_key.keys() == {f"GET {path}" for path in PATHS}
    (authorizer,) = with_jwt.named("AWS::ApiGatewayV2::Authorizer")
    for route in by_key.values():
        assert route["AuthorizationType"] == "JWT"
        assert with_jwt.name(route["AuthorizerId"]) == authorizer
    properties = only(with_jwt, "AWS::ApiGatewayV2::Authorizer")
    assert properties["AuthorizerType"] == "JWT"
    assert properties["IdentitySource"] == ["$request.header.Authorization"]
    assert properties["JwtConfiguration"] == {
        "Audience": ["panel", "reports"],
        "Issuer": "https://login.example/pool",
    }


def test_nobody_else_can_reach_the_function(dev: Assembly) -> None:
    permissions = [
        permission["Properties"]
        for permission in dev.resources("AWS::Lambda::Permission")
        if dev.name(permission["Properties"]["FunctionName"]) == "ApiFunction.Arn"
    ]
    assert {permission["Principal"] for permission in permissions} == {"apigateway.amazonaws.com"}
    assert all("HttpApi" in json.dumps(permission["SourceArn"]) for permission in permissions)
    assert not dev.resources("AWS::Lambda::Url")


def test_pages_of_other_origins_may_not_query_unless_they_are_named(
    dev: Assembly, with_jwt: Assembly
) -> None:
    assert "CorsConfiguration" not in only(dev, "AWS::ApiGatewayV2::Api")
    cors = only(with_jwt, "AWS::ApiGatewayV2::Api")["CorsConfiguration"]
    assert cors["AllowOrigins"] == [PANEL]
    assert cors["AllowMethods"] == ["GET"]
    assert "AllowCredentials" not in cors


def test_each_stage_lets_so_many_requests_through(dev: Assembly, prod: Assembly) -> None:
    assert only(dev, "AWS::ApiGatewayV2::Stage")["DefaultRouteSettings"] == {
        "ThrottlingRateLimit": 20,
        "ThrottlingBurstLimit": 40,
    }
    assert only(prod, "AWS::ApiGatewayV2::Stage")["DefaultRouteSettings"] == {
        "ThrottlingRateLimit": 100,
        "ThrottlingBurstLimit": 200,
    }


@pytest.mark.parametrize(
    ("assembly", "caller"),
    [("dev", "$context.identity.userArn"), ("with_jwt", "$context.authorizer.claims.sub")],
)
def test_the_access_log_has_the_caller_and_the_status_and_no_key(
    assembly: str, caller: str, request: pytest.FixtureRequest
) -> None:
    settings = only(request.getfixturevalue(assembly), "AWS::ApiGatewayV2::Stage")
    line = json.loads(settings["AccessLogSettings"]["Format"])
    assert line["route"] == "$context.routeKey"
    assert line["caller"] == caller
    # These hold keys and parameters, as they were sent.
    for reported in ("$context.path", "query", "$context.integration.", "$request"):
        assert reported not in json.dumps(line)


def test_access_logs_are_kept_as_long_as_the_stage_says(dev: Assembly, prod: Assembly) -> None:
    for assembly, days, policy in ((dev, 7, "Delete"), (prod, 90, "RetainExceptOnCreate")):
        log = assembly.named("AWS::Logs::LogGroup")["AccessLogs"]
        assert (log["Properties"]["RetentionInDays"], log["DeletionPolicy"]) == (days, policy)
        stage = only(assembly, "AWS::ApiGatewayV2::Stage")
        assert assembly.name(stage["AccessLogSettings"]["DestinationArn"]) == "AccessLogs.Arn"


def test_the_gateway_hands_requests_over_as_the_function_reads_them(dev: Assembly) -> None:
    integration = only(dev, "AWS::ApiGatewayV2::Integration")
    assert integration["PayloadFormatVersion"] == "2.0"
    assert dev.name(integration["IntegrationUri"]) == "ApiFunction.Arn"
    # In a stage of another name, the path would begin with it.
    assert only(dev, "AWS::ApiGatewayV2::Stage")["StageName"] == "$default"
    assert dev.function("Api")["Timeout"] < 30  # after which the gateway gives up


def test_an_index_that_no_access_pattern_uses_may_not_be_read(tmp_path: Path) -> None:
    assembly = synthesize(registry(), tmp_path)
    read = {resource for _, resources in assembly.statements("Api") for resource in resources}
    assert "AdminViewTable.Arn/index/Owner" not in read
