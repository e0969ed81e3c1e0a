"""Options reach every function, table, log and queue that they apply to, and nothing else."""

import json
from typing import Any

import pytest

from adminview.aws.settings import TRACING
from adminview.aws.transport.eligibility import deployed_fallback
from adminview.bulk.request import validate_request
from adminview.handlers.verify import FIELDS
from tests.infra.roles import held
from tests.infra.test_functions import FUNCTIONS, each_function
from tests.support.all_options import BUDGETS, KEY_ARN, STREAMS_ENDPOINT, VPC
from tests.support.synthesis import Assembly

Statements = dict[tuple[str, ...], list[str]]

EC2 = "arn:AWS::Partition:ec2:AWS::Region:AWS::AccountId:"
INTERFACES: Statements = {
    ("ec2:CreateNetworkInterface",): [
        f"{EC2}network-interface/*",
        f"{EC2}security-group/sg-0123456789abcdef0",
        f"{EC2}subnet/subnet-0123456789abcdef0",
        f"{EC2}subnet/subnet-0123456789abcdef1",
    ],
    (
        "ec2:AssignPrivateIpAddresses",
        "ec2:DeleteNetworkInterface",
        "ec2:UnassignPrivateIpAddresses",
    ): [f"{EC2}*/*"],
    ("ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets"): ["*"],
}
XRAY: Statements = {("xray:PutTelemetryRecords", "xray:PutTraceSegments"): ["*"]}
OUTSIDE = "Build"  # in a VPC without a way to S3, it could not answer CloudFormation
SENDERS = ("Sync", "Replay", "Backfill")


def functions(assembly: Assembly) -> dict[str, dict[str, Any]]:
    resources = assembly.named("AWS::Lambda::Function")
    return {
        name.removesuffix("Function"): resource["Properties"]
        for name, resource in resources.items()
    }


def pairs(statements: Statements) -> set[tuple[str, str]]:
    return {
        (do, on) for actions, resources in statements.items() for do in actions for on in resources
    }


@each_function
def test_a_function_may_use_the_key_and_the_network_and_no_more_than_before(
    everything: Assembly, dev: Assembly, function: str
) -> None:
    open_, send = "kms:Decrypt", "kms:GenerateDataKey"
    key: Statements = {(open_, send) if function in SENDERS else (open_,): [KEY_ARN]}
    more = pairs({**key, **(INTERFACES if function != OUTSIDE else {}), **XRAY})
    assert held(everything, f"{function}Role") == held(dev, f"{function}Role") | more


def test_every_table_is_encrypted_with_the_customers_key(everything: Assembly) -> None:
    assert everything.tables()
    for table in everything.tables().values():
        (replica,) = table["Properties"]["Replicas"]
        assert table["Properties"]["SSESpecification"] == {"SSEEnabled": True, "SSEType": "KMS"}
        assert replica["SSESpecification"] == {"KMSMasterKeyId": KEY_ARN}


@pytest.mark.parametrize(
    ("type_", "property_"),
    [
        ("AWS::SQS::Queue", "KmsMasterKeyId"),
        ("AWS::SNS::Topic", "KmsMasterKeyId"),
        ("AWS::Logs::LogGroup", "KmsKeyId"),
        ("AWS::Lambda::Function", "KmsKeyArn"),
    ],
)
def test_queue_logs_and_environments_are_encrypted_with_the_customers_key_or_with_none_of_ours(
    everything: Assembly, dev: Assembly, type_: str, property_: str
) -> None:
    keys = {resource["Properties"].get(property_) for resource in everything.resources(type_)}
    assert keys == {KEY_ARN}
    assert {resource["Properties"].get(property_) for resource in dev.resources(type_)} == {None}


def test_the_key_is_imported_and_its_policy_is_left_alone(everything: Assembly) -> None:
    assert not everything.resources("AWS::KMS::Key")
    assert not everything.resources("AWS::KMS::Alias")


def test_every_function_but_that_for_cloudformation_runs_in_the_subnets_or_in_none(
    everything: Assembly, dev: Assembly
) -> None:
    config = {"SubnetIds": VPC["subnetIds"], "SecurityGroupIds": VPC["securityGroupIds"]}
    assert functions(everything).keys() == {*FUNCTIONS}
    for name, properties in functions(everything).items():
        assert properties.get("VpcConfig") == (config if name != OUTSIDE else None)
    assert not [name for name, settings in functions(dev).items() if "VpcConfig" in settings]


def test_no_network_is_looked_up_or_made(everything: Assembly) -> None:
    assert "missing" not in everything.manifest
    types = {
        resource["Type"]
        for part in everything.templates.values()
        for resource in part["Resources"].values()
    }
    assert not [type_ for type_ in types if type_.startswith("AWS::EC2")]


def test_functions_that_read_streams_get_their_endpoint(everything: Assembly) -> None:
    """The backfill waits until the totals have read the stream of the view."""
    reported = {
        name: properties["Environment"]["Variables"].get("AWS_ENDPOINT_URL_DYNAMODB_STREAMS")
        for name, properties in functions(everything).items()
    }
    assert {name: url for name, url in reported.items() if url} == dict.fromkeys(
        ("Replay", "Backfill"), STREAMS_ENDPOINT
    )


def test_no_option_but_tracing_makes_a_function_use_boto3(everything: Assembly) -> None:
    """As docs/configuration.md says: AdminView sets no other variable that requires it."""
    for name, properties in functions(everything).items():
        variables = properties["Environment"]["Variables"]
        fallback = deployed_fallback(variables, "eu-west-1")
        assert (fallback and fallback.setting) in (TRACING, None), name
        untraced = {key: value for key, value in variables.items() if key != TRACING}
        assert deployed_fallback(untraced, "eu-west-1") is None, name


def test_executions_are_reserved_for_the_sync_alone(
    dev: Assembly, prod: Assembly, everything: Assembly
) -> None:
    def reserved(assembly: Assembly) -> dict[str, int]:
        wanted = "ReservedConcurrentExecutions"
        by_name = functions(assembly).items()
        return {name: properties[wanted] for name, properties in by_name if wanted in properties}

    assert reserved(dev) == {}
    assert reserved(prod) == {"Sync": 100}
    assert reserved(everything) == {"Sync": BUDGETS["syncConcurrency"]}


def test_batches_of_a_shard_run_in_parallel_as_the_option_says(
    prod: Assembly, everything: Assembly
) -> None:
    """Two batches of a shard at a time would break the positions of totals."""

    def parallel(assembly: Assembly) -> dict[str, set[int]]:
        factors: dict[str, set[int]] = {}
        for mapping in assembly.mappings().values():
            function = assembly.name(mapping["FunctionName"])
            factors.setdefault(function, set()).add(mapping["ParallelizationFactor"])
        return factors

    assert parallel(prod) == {"SyncFunction": {1}, "TotalsFunction": {1}}
    wanted = BUDGETS["syncParallelization"]
    assert parallel(everything) == {"SyncFunction": {wanted}, "TotalsFunction": {1}}


def merged(assembly: Assembly, machine: str) -> dict[str, Any]:
    text = assembly.name(assembly.machine(machine)["DefinitionString"])
    return dict(json.loads(text)["States"]["Merge"]["Parameters"])


@pytest.mark.parametrize("machine", ["Backfill", "Migrate"])
def test_bulk_work_keeps_within_the_budgets_unless_whoever_starts_it_says_otherwise(
    everything: Assembly, machine: str
) -> None:
    parts = merged(everything, machine)
    event = parts["default"] | parts["fixed"]
    assert (event["max_rcu"], event["max_wcu"]) == (500, 0.5)
    assert validate_request(event) == event, "the function understands it"
    assert "max_rcu" not in parts["fixed"]


def test_the_daily_verification_keeps_within_the_budget(everything: Assembly) -> None:
    events = [
        json.loads(target["Input"])
        for rule in everything.resources("AWS::Events::Rule")
        for target in rule["Properties"]["Targets"]
    ]
    (event,) = [event for event in events if "sample" in event]
    assert event == {"sample": 0.01, "max_rcu": 500}
    assert event.keys() <= {*FIELDS}
