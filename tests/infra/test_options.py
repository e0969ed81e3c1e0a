"""Options of the context are accepted as JSON and as text, or refused with the correction."""

import json
from typing import Any

import pytest

from adminview.cdk import DeploymentOptions
from adminview.cdk.options.customer_key import CustomerKey
from adminview.cdk.options.deployment import INNER as INNER_KEYS
from adminview.cdk.options.deployment import KEYS
from adminview.cdk.options.network import Network
from adminview.model.errors import SettingsError
from infra.stages import PROD, STAGES
from tests.support.all_options import EVERYTHING, KEY_ARN, STREAMS_ENDPOINT, VPC
from tests.support.shop import registry
from tests.support.synthesis import CONTEXT, imported


def read(**context: Any) -> DeploymentOptions:
    return DeploymentOptions.read({"adminview": context}, registry(), stages=STAGES)


def refusal(**context: Any) -> str:
    with pytest.raises(SettingsError) as caught:
        read(**context)
    return str(caught.value)


def test_cdk_json_shows_every_key_with_what_holds_without_it() -> None:
    assert {key for key in CONTEXT if not key.startswith("@aws-cdk")} == {"adminview"}
    shown = CONTEXT["adminview"]
    assert [*shown, "rolloutPhase"] == [*KEYS], "a phase is for `adminview apply` to set"
    assert read(**shown) == read()


def test_without_options_there_are_no_key_no_network_no_limits_and_our_own_tags() -> None:
    deployment = read()
    assert (deployment.customer_key, deployment.network) == (None, None)
    assert (deployment.stage.read_units, deployment.stage.write_units) == (None, None)
    assert deployment.tags == {"app": "adminview", "stage": "dev"}


def test_options_are_read_as_they_are_given() -> None:
    deployment = read(**EVERYTHING)
    assert deployment.customer_key == CustomerKey(KEY_ARN)
    subnets, groups = tuple(VPC["subnetIds"]), tuple(VPC["securityGroupIds"])
    assert deployment.network == Network(subnets, groups, STREAMS_ENDPOINT)
    assert (deployment.stage.read_units, deployment.stage.write_units) == (500, 0.5)
    assert deployment.stage.sync_concurrency == 50
    assert deployment.stage.tracing
    assert deployment.tags == {"app": "adminview", "stage": "prod", "team": "shop"}


def test_a_key_of_many_regions_is_a_key() -> None:
    arn = f"{KEY_ARN.partition('/')[0]}/mrk-{'0a' * 16}"
    assert read(customerKeyArn=arn).customer_key == CustomerKey(arn)


def test_options_given_on_the_command_line_arrive_as_text() -> None:
    as_text = {
        key: value if isinstance(value, str) else json.dumps(value)
        for key, value in EVERYTHING.items()
    }
    assert read(**as_text) == read(**EVERYTHING)


@pytest.mark.parametrize(
    ("tracing", "traced"), [(True, True), ("true", True), (False, False), ("false", False)]
)
def test_tracing_is_what_the_context_says(tracing: object, *, traced: bool) -> None:
    assert read(tracing=tracing).stage.tracing is traced


def test_only_prod_reserves_executions_for_the_sync_unless_the_context_says_so() -> None:
    """In a new account, where prod is rarely the first, anything reserved is refused."""
    assert read().stage.sync_concurrency is None
    assert read(stage="prod").stage.sync_concurrency == PROD.sync_concurrency == 100
    assert read(budgets={"syncConcurrency": 8}).stage.sync_concurrency == 8
    off = read(stage="prod", budgets={"syncConcurrency": "none"})
    assert off.stage.sync_concurrency is None


def test_one_budget_alone_leaves_the_others_as_the_stage_has_them() -> None:
    stage = read(stage="prod", budgets={"readUnits": 1}).stage
    assert (stage.read_units, stage.write_units, stage.sync_concurrency) == (1, None, 100)


OBJECT = "expected an object such as"
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a key's id": ({"customerKeyArn": "1234abcd-12ab"}, "is not the ARN of a KMS key, such as"),
    "a cut ARN": ({"customerKeyArn": KEY_ARN[:-1]}, "is not the ARN of a KMS key, such as"),
    "an alias": ({"customerKeyArn": KEY_ARN.replace("key/", "alias/")}, "policies accept no alias"),
    "no text": ({"customerKeyArn": {"arn": KEY_ARN}}, "aws kms describe-key"),
    "no JSON": ({"budgets": "{"}, "not JSON (Expecting property name"),
    "a list of budgets": ({"budgets": [1]}, f"found list; {OBJECT}"),
    "an unknown budget": (
        {"budgets": {"readunits": 1}},
        "unknown 'readunits'; there are readUnits, writeUnits, syncConcurrency, syncPar",
    ),
    "no units": ({"budgets": {"readUnits": 0}}, "readUnits is 0; it must be a number above 0"),
    "a yes for a number": (
        {"budgets": {"writeUnits": True}},
        "writeUnits is True; it must be a number",
    ),
    "endless units": (
        {"budgets": '{"readUnits": Infinity}'},
        "readUnits is inf; it must be a number",
    ),
    "nobody at once": (
        {"budgets": {"syncConcurrency": 0}},
        "syncConcurrency is 0; it must be a whole number from 1 on, or 'none' to reserve nothing",
    ),
    "fewer at once than streams": (
        {"budgets": {"syncConcurrency": 3}},
        "syncConcurrency is 3, but 4 streams have at least one shard each",
    ),
    "fewer at once than batches": (
        {"budgets": {"syncConcurrency": 8, "syncParallelization": 3}},
        "and a shard has 3 batches in progress: give 12 or more",
    ),
    "no batch of a shard": (
        {"budgets": {"syncParallelization": 0}},
        "syncParallelization is 0; it must be a whole number from 1 on, at most 10",
    ),
    "too many batches of a shard": (
        {"budgets": {"syncParallelization": 11}},
        "is 11; it must be a whole",
    ),
    "protection for a while": ({"protect": "later"}, "'later' is neither true nor false"),
    "tracing sometimes": ({"tracing": "yes"}, "'yes' is neither true nor false"),
    "a VPC": ({"vpc": {"vpcId": "vpc-1"}}, "unknown 'vpcId'; there are subnetIds, securityG"),
    "no groups": ({"vpc": {"subnetIds": VPC["subnetIds"]}}, "securityGroupIds is missing"),
    "no subnets": ({"vpc": VPC | {"subnetIds": []}}, "subnetIds is missing"),
    "a subnet alone": ({"vpc": VPC | {"subnetIds": "subnet-1"}}, "is not a list, such as ['subnet"),
    "a group for a subnet": (
        {"vpc": VPC | {"subnetIds": VPC["securityGroupIds"]}},
        "subnetIds has 'sg-0123456789abcdef0', which is not an id such as subnet-0123456789abcdef0",
    ),
    "a subnet twice": ({"vpc": VPC | {"subnetIds": VPC["subnetIds"] * 2}}, "each once"),
    "too many groups": (
        {"vpc": VPC | {"securityGroupIds": [f"sg-{number:08}" for number in range(6)]}},
        "securityGroupIds has 6 ids; Lambda accepts at most 5",
    ),
    "no URL": ({"vpc": VPC | {"streamsEndpoint": "vpce-1"}}, "is not the URL of an endpoint"),
    "a list of tags": ({"tags": ["team"]}, f"found list; {OBJECT}"),
    "our own tag": ({"tags": {"stage": "x"}}, "'stage' is set already, to 'dev'"),
    "a tag of AWS's": ({"tags": {"aws:team": "shop"}}, "not beginning with aws:"),
    "a tag that is a number": ({"tags": {"team": 7}}, "'team' is 7; it must be a text of 1 to 256"),
    "an empty tag": ({"tags": {"team": ""}}, "'team' is ''; it must be a text of 1 to 256"),
    "too many tags": ({"tags": {f"t{n}": "x" for n in range(49)}}, "AWS allows 50, and 2 of them"),
}


@pytest.mark.parametrize(("context", "reason"), WRONG.values(), ids=WRONG)
def test_a_wrong_option_is_refused_with_what_would_be_right(
    context: dict[str, Any], reason: str
) -> None:
    (key,) = context
    message = refusal(**context)
    assert message.startswith(f"context {key}: ")
    assert reason in message


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("Prefix", "prefix"),
        ("customerKey", "customerKeyArn"),
        ("customerkeyarn", "customerKeyArn"),
        ("budget", "budgets"),
        ("source", "sources"),
        ("tag", "tags"),
        ("VPC", "vpc"),
    ],
)
def test_an_unknown_key_is_refused_with_the_one_that_was_meant(key: str, meant: str) -> None:
    message = f"context adminview: unknown key {key!r}; did you mean {meant!r}?"
    assert refusal(**{key: "x"}) == message


@pytest.mark.parametrize(
    ("key", "outer"), [(key, outer) for outer, keys in INNER_KEYS.items() for key in keys]
)
def test_a_key_of_an_inner_object_is_refused_with_its_place(key: str, outer: str) -> None:
    assert refusal(**{key: "x"}).endswith(f"it belongs in {outer!r}")


def test_the_number_of_shards_is_declared_with_its_index() -> None:
    assert 'Index("GSI1", …, shards=8)' in refusal(writeShards={"GSI1": 8})


@pytest.mark.parametrize("key", ["@aws-cdk/core:stage", "aws-cdk:tags", "state", "tags", "vpc"])
def test_a_key_beside_ours_is_left_alone(key: str) -> None:
    options = DeploymentOptions.read({key: "x"}, registry(), stages=STAGES)
    assert options == read()


def test_a_key_on_the_command_line_wins_over_cdk_json() -> None:
    context = {"adminview": {"stage": "dev", "prefix": "a-"}, "adminview:stage": "prod"}
    options = DeploymentOptions.read(context, registry(), stages=STAGES)
    assert (options.stage.name, options.prefix) == ("prod", "a-")


def test_the_stage_of_another_key_is_refused_if_it_would_deploy_another_stage() -> None:
    """`-c stage=prod` must not silently deploy dev."""
    with pytest.raises(SettingsError, match="use `-c adminview:stage=prod`"):
        DeploymentOptions.read({"stage": "prod"}, registry(), stages=STAGES)
    for context in ({"stage": "dev"}, {"stage": "blue"}, {"stage": 7}):
        assert DeploymentOptions.read(context, registry(), stages=STAGES) == read()


def test_the_progress_of_bulk_work_cannot_be_a_source() -> None:
    table = "team-AdminViewTableProgress"
    message = refusal(prefix="team-", sources={"Orders": imported(table)})
    assert f"{table!r} is both the progress table of bulk work and source 'Orders'" in message


EMPTY = [0, False, [], {}]  # and yet not nothing
OBJECTS = ["alarms", "api", "budgets", "sources", "tags", "vpc"]
TEXTS = {
    "stage": "no stage is named {!r}; there are dev, prod",
    "prefix": "context prefix: {!r} cannot begin the names",
    "customerKeyArn": "context customerKeyArn: {!r} is not the ARN of a KMS key",
    "rolloutPhase": "context rolloutPhase: {!r} cannot be read",
}
INNER: dict[str, tuple[str, dict[str, Any]]] = {
    "email": ("alarms", {}),
    "runbookUrl": ("alarms", {}),
    "jwtIssuer": ("api", {}),
    "jwtAudience": ("api", {}),
    "corsOrigins": ("api", {}),
    "streamsEndpoint": ("vpc", VPC),
}
LISTS = ("jwtAudience", "corsOrigins")  # of which an empty one plainly means none


@pytest.mark.parametrize("key", OBJECTS)
@pytest.mark.parametrize("value", EMPTY[:-1])
def test_only_nothing_is_taken_for_nothing(key: str, value: object) -> None:
    assert refusal(**{key: value}).startswith(f"context {key}: found {type(value).__name__}")
    assert read(**{key: ""}) == read(**{key: None}) == read(**{key: {}}) == read()


@pytest.mark.parametrize("key", TEXTS)
@pytest.mark.parametrize("value", EMPTY)
def test_only_nothing_is_taken_for_no_text(key: str, value: object) -> None:
    assert refusal(**{key: value}).startswith(TEXTS[key].format(value))
    assert read(**{key: ""}) == read(**{key: None}) == read()


@pytest.mark.parametrize("key", INNER)
@pytest.mark.parametrize("value", EMPTY)
def test_only_nothing_is_taken_for_nothing_within_an_object(key: str, value: object) -> None:
    outer, others = INNER[key]
    if key in LISTS and value == []:
        assert read(**{outer: others | {key: value}}) == read(**{outer: others})
    else:
        message = refusal(**{outer: others | {key: value}})
        assert message.startswith(f"context {outer}: {key} {value!r} is not ")
    for nothing in ("", None):
        assert read(**{outer: others | {key: nothing}}) == read(**{outer: others})


@pytest.mark.parametrize("subnets", EMPTY[:2])
def test_a_list_of_a_network_that_is_no_list_is_not_called_missing(subnets: object) -> None:
    assert "subnetIds" in (message := refusal(vpc=VPC | {"subnetIds": subnets}))
    assert "is not a list, such as" in message


def test_what_exists_already_is_in_one_account_and_region() -> None:
    elsewhere = imported("users") | {
        "streamArn": imported("users")["streamArn"].replace("eu-west-1", "us-east-1")
    }
    message = refusal(sources={"Orders": imported("orders"), "Users": elsewhere})
    assert message == (
        "context sources.Users: aws:us-east-1:111122223333 is another account or region than "
        "aws:eu-west-1:111122223333 of sources.Orders; a deployment spans only one"
    )
    message = refusal(sources={"Users": elsewhere}, customerKeyArn=KEY_ARN)
    assert message.startswith("context customerKeyArn: aws:eu-west-1")
