"""Rules for every resource of every stack: a new resource is checked without being listed."""

import json
import re
from collections.abc import Iterator

import pytest

from tests.support.all_options import TAGS
from tests.support.synthesis import Assembly, Resource

UNTAGGED = {  # AWS has no tags for them
    "AWS::ApiGatewayV2::Integration",
    "AWS::ApiGatewayV2::Route",
    "AWS::IAM::Policy",
    "AWS::Lambda::Permission",
    "AWS::SNS::Subscription",
    "AWS::SNS::TopicPolicy",
    "AWS::SQS::QueuePolicy",
    "Custom::AdminViewBuild",
}
DAYS = {"dev": 7, "mixed": 7, "prod": 90, "everything": 90}

every_deployment = pytest.mark.parametrize("deployment", DAYS)


@pytest.fixture
def assembly(deployment: str, request: pytest.FixtureRequest) -> Assembly:
    synthesized: Assembly = request.getfixturevalue(deployment)
    return synthesized


def resources(assembly: Assembly) -> Iterator[tuple[str, Resource]]:
    for template in assembly.templates.values():
        yield from template["Resources"].items()


@every_deployment
def test_every_log_is_one_of_ours_and_ends(assembly: Assembly, deployment: str) -> None:
    groups = assembly.named("AWS::Logs::LogGroup")
    for group in groups.values():
        assert group["Properties"]["RetentionInDays"] == DAYS[deployment]
    used = {
        assembly.name(function["Properties"]["LoggingConfig"]["LogGroup"])
        for function in assembly.resources("AWS::Lambda::Function")
    }
    for machine in assembly.resources("AWS::StepFunctions::StateMachine"):
        (log,) = machine["Properties"]["LoggingConfiguration"]["Destinations"]
        used.add(assembly.name(log["CloudWatchLogsLogGroup"]["LogGroupArn"]).removesuffix(".Arn"))
    for stage in assembly.resources("AWS::ApiGatewayV2::Stage"):
        log = stage["Properties"]["AccessLogSettings"]["DestinationArn"]
        used.add(assembly.name(log).removesuffix(".Arn"))
    assert used == groups.keys()


@every_deployment
def test_logs_that_services_deliver_are_where_the_resource_policy_does_not_grow(
    assembly: Assembly, deployment: str
) -> None:
    groups = assembly.named("AWS::Logs::LogGroup")
    delivered = {name for name in groups if name == "AccessLogs" or name.endswith("SegmentsLogs")}
    assert delivered >= {"AccessLogs", "BackfillSegmentsLogs"}
    prefixes = set()
    for name in delivered:
        text, parts = groups[name]["Properties"]["LogGroupName"]["Fn::Join"]
        prefixes.add(parts[0])
        # A retained log must not block the next stack of the same name.
        split = {"Fn::Split": ["/", {"Ref": "AWS::StackId"}]}
        assert (text, parts[1:]) == ("", [{"Fn::Select": [2, split]}]), deployment
    assert all(prefix.startswith("/aws/vendedlogs/") for prefix in prefixes)
    assert len(prefixes) == len(delivered)


@every_deployment
def test_every_function_and_state_machine_traces_only_if_configured(
    assembly: Assembly, deployment: str
) -> None:
    traced = deployment == "everything"
    for function in assembly.resources("AWS::Lambda::Function"):
        mode = function["Properties"].get("TracingConfig")
        assert mode == ({"Mode": "Active"} if traced else None)
    for machine in assembly.resources("AWS::StepFunctions::StateMachine"):
        assert machine["Properties"]["TracingConfiguration"] == {"Enabled": traced}


def tags_of(resource: Resource) -> list[dict[str, str]]:
    """Give the tags of a resource, of each replica of a table, as one kind of mapping."""
    properties = resource["Properties"]
    tag_lists = [replica.get("Tags") for replica in properties.get("Replicas", [properties])]
    return [
        tags if isinstance(tags, dict) else {tag["Key"]: tag["Value"] for tag in tags or []}
        for tags in tag_lists
    ]


@every_deployment
def test_every_resource_that_can_carry_tags_does(assembly: Assembly, deployment: str) -> None:
    stage = "prod" if DAYS[deployment] == DAYS["prod"] else "dev"
    wanted = {"app": "adminview", "stage": stage} | (TAGS if deployment == "everything" else {})
    for id_, resource in resources(assembly):
        if resource["Type"] not in UNTAGGED:
            assert tags_of(resource) == [wanted], f"{resource['Type']} {id_}"


def secrets_in(text: str, known: set[str]) -> list[str]:
    """Find what may be a secret: a private key, an access key, or long and mixed or all hex."""
    secrets = re.findall(r"-----BEGIN [A-Z ]+-----|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b", text)
    for word in re.findall(r"[A-Za-z0-9+/_=-]{30,}", text):
        mixed = all(re.search(kind, word) for kind in ("[a-z]", "[A-Z]", "[0-9]"))
        if word not in known and (mixed or re.fullmatch(r"[0-9a-fA-F]+", word)):
            secrets.append(word)
    return secrets


def names_of(assembly: Assembly) -> set[str]:
    """List the names that the CDK makes up, alarms have, and the hashes of what it uploads."""
    names = {
        name
        for template in assembly.templates.values()
        for name in (*template["Resources"], *template.get("Outputs", {}))
    }
    names |= {
        alarm["Properties"]["AlarmName"] for alarm in assembly.resources("AWS::CloudWatch::Alarm")
    }
    functions = assembly.resources("AWS::Lambda::Function")
    return names | {
        function["Properties"]["Code"]["S3Key"].partition(".")[0] for function in functions
    }


@pytest.mark.parametrize("deployment", ["dev", "prod", "everything"])
def test_no_template_holds_what_looks_like_a_secret(assembly: Assembly) -> None:
    for template in assembly.templates.values():
        assert secrets_in(json.dumps(template), names_of(assembly)) == []


@pytest.mark.parametrize(
    "secret",
    [
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "AKIAIOSFODNN7EXAMPLE",
        "-----BEGIN RSA PRIVATE KEY-----",
        "9f86d081884c7d659a2feaa0c55ad015",
    ],
)
def test_a_secret_would_be_found(secret: str) -> None:
    assert secrets_in(json.dumps({"Variables": {"TOKEN": secret}}), {"AdminViewTable"}) == [secret]
