"""A wrong context is refused before anything is built; the error states valid values."""

from json import dumps
from typing import Any

import pytest

from adminview.cdk import DeploymentOptions
from adminview.cdk.options.api_access import ApiAccess
from adminview.model.errors import SettingsError
from infra.stages import STAGES
from tests.support.shop import registry

TABLE_ARN = "arn:aws:dynamodb:eu-west-1:111122223333:table/legacy-orders"
STREAM_ARN = f"{TABLE_ARN}/stream/2025-03-01T00:00:00.000"
RIGHT = {
    "tableName": "legacy-orders",
    "streamArn": STREAM_ARN,
    "streamViewType": "NEW_AND_OLD_IMAGES",
}
TURN_ON = (
    "aws dynamodb update-table --table-name legacy-orders "
    "--stream-specification StreamEnabled=true,StreamViewType=NEW_AND_OLD_IMAGES"
)
LOOK_UP = "aws dynamodb describe-table --table-name legacy-orders"


def read(**context: Any) -> DeploymentOptions:
    return DeploymentOptions.read({"adminview": context}, registry(), stages=STAGES)


def without(key: str) -> dict[str, str]:
    return {name: value for name, value in RIGHT.items() if name != key}


def refusal(**context: Any) -> str:
    with pytest.raises(SettingsError) as caught:
        read(**context)
    return str(caught.value)


def test_nothing_given_means_dev_with_plain_names() -> None:
    deployment = read()
    assert deployment.stage.name == "dev"
    assert deployment.view_table == "AdminViewTable"
    assert deployment.stack("Sync") == "AdminView-dev-Sync"
    assert [deployment.table_of(source) for source in registry().sources] == [
        "Orders",
        "Payments",
        "Products",
        "Users",
    ]


def test_a_prefix_begins_the_names_of_our_tables_and_stacks_only() -> None:
    deployment = read(prefix="team-a-", sources={"Orders": RIGHT})
    assert deployment.view_table == "team-a-AdminViewTable"
    assert deployment.stack("Sync") == "team-a-AdminView-dev-Sync"
    assert deployment.table_of(registry().source("Users")) == "team-a-Users"
    assert deployment.table_of(registry().source("Orders")) == "legacy-orders"


@pytest.mark.parametrize(
    "entry", [RIGHT, without("tableName") | {"tableArn": TABLE_ARN}], ids=["by name", "by ARN"]
)
def test_an_existing_table_is_found_by_name_or_by_arn(entry: dict[str, str]) -> None:
    imported = read(sources={"Orders": entry}).imported["Orders"]
    assert imported.table_name == "legacy-orders"
    assert imported.table_arn == TABLE_ARN
    assert imported.stream_arn == STREAM_ARN


@pytest.mark.parametrize("nothing", ["", None])
def test_the_name_or_the_arn_of_an_existing_table_may_be_left_empty(nothing: object) -> None:
    imported = read(sources={"Orders": RIGHT}).imported
    assert read(sources={"Orders": RIGHT | {"tableArn": nothing}}).imported == imported
    by_arn = RIGHT | {"tableName": nothing, "tableArn": TABLE_ARN}
    assert read(sources={"Orders": by_arn}).imported == imported


def test_sources_given_on_the_command_line_arrive_as_text() -> None:
    text = '{"Orders": ' + str(RIGHT).replace("'", '"') + "}"
    assert read(sources=text) == read(sources={"Orders": RIGHT})


def test_an_unknown_stage_is_answered_with_those_that_exist() -> None:
    assert "no stage is named 'staging'; there are dev, prod" in refusal(stage="staging")


def test_options_of_a_stage_replace_the_general_ones_and_the_command_line_replaces_both() -> None:
    prod = {"sources": {"Orders": RIGHT}, "tags": {"team": "ops"}}
    keys = {"tags": {"team": "shop"}, "tracing": "true", "stages": {"prod": prod}}
    dev, deployed = read(**keys), read(**keys, stage="prod")
    assert (dev.tags["team"], list(dev.imported)) == ("shop", [])
    assert (deployed.tags["team"], list(deployed.imported)) == ("ops", ["Orders"])
    assert deployed.stage.tracing
    typed = {"adminview:stage": "prod", "adminview:tags": '{"team": "typed"}'}
    options = DeploymentOptions.read({"adminview": keys} | typed, registry(), stages=STAGES)
    assert (options.tags["team"], list(options.imported)) == ("typed", ["Orders"])


def test_mistakes_in_the_options_of_any_stage_are_refused() -> None:
    assert "context stages: unknown 'pord'; there are dev, prod" in refusal(stages={"pord": {}})
    assert "context stages.prod: unknown key 'tag'; did you mean 'tags'?" in refusal(
        stages={"prod": {"tag": {}}}
    )
    assert "context stages.prod: unknown key 'stage'" in refusal(stages={"prod": {"stage": "dev"}})
    assert "context stages: found list" in refusal(stages=[])
    assert "no stage is named ['prod']" in refusal(stage=["prod"], stages={"prod": {}})


@pytest.mark.parametrize("prefix", ["a_b", "-a", "1a", "a b", "ä", 7, ["a"]])
def test_a_prefix_that_a_stack_could_not_carry_is_refused(prefix: object) -> None:
    assert f"context prefix: {prefix!r} cannot begin" in refusal(prefix=prefix)


def test_a_prefix_that_makes_a_table_name_too_long_is_refused() -> None:
    assert "too long" in refusal(prefix="a" * 250)


def test_a_prefix_that_makes_a_stack_name_too_long_is_refused() -> None:
    room = 128 - len("AdminView-dev-Recovery")
    assert len(read(prefix="a" * room).stack("Recovery")) == 128
    assert "too long for a stack's name" in refusal(prefix="a" * (room + 1))


def test_an_undeclared_source_is_answered_with_those_declared() -> None:
    message = refusal(sources={"Order": RIGHT})
    assert "'Order'" in message
    assert "declared are Orders, Payments, Products, Users" in message


@pytest.mark.parametrize("sources", ["not json", "[]", [1], 7])
def test_sources_that_are_no_object_are_refused(sources: object) -> None:
    assert "context sources:" in refusal(sources=sources)


WRONG: dict[str, tuple[Any, list[str]]] = {
    "no object": ("legacy-orders", ["expected an object", "found str"]),
    "unknown key": (
        RIGHT | {"stream": "x"},
        ["unknown 'stream'; there are tableName, tableArn, streamArn, streamViewType"],
    ),
    "neither name nor ARN": (without("tableName"), ["either tableName or tableArn; neither"]),
    "both name and ARN": (RIGHT | {"tableArn": TABLE_ARN}, ["tableName and tableArn was given"]),
    "a name, and an ARN that is neither": (RIGHT | {"tableArn": 0}, ["give either tableName or"]),
    "an empty ARN and another table's stream": (
        RIGHT | {"tableArn": None, "streamArn": STREAM_ARN.replace("legacy-", "old-")},
        ["table/old-orders, not to legacy-orders", LOOK_UP],
    ),
    "no ARN of a table": (
        without("tableName") | {"tableArn": "legacy-orders"},
        [
            "tableArn 'legacy-orders' is not the ARN of a DynamoDB table",
            "arn:aws:dynamodb:<region>",
        ],
    ),
    "no name of a table": (RIGHT | {"tableName": "a b"}, ["tableName 'a b'", "A-Z a-z 0-9 _ . -"]),
    "no stream": (without("streamArn"), ["streamArn is missing", TURN_ON]),
    "an empty stream": (RIGHT | {"streamArn": ""}, ["streamArn is missing", TURN_ON]),
    "a table's ARN as stream": (RIGHT | {"streamArn": TABLE_ARN}, ["not the ARN of a", LOOK_UP]),
    "a Kinesis stream": (
        RIGHT | {"streamArn": "arn:aws:kinesis:eu-west-1:111122223333:stream/orders"},
        ["is not the ARN of a DynamoDB stream", LOOK_UP],
    ),
    "another table's stream": (
        RIGHT | {"streamArn": STREAM_ARN.replace("legacy-", "old-")},
        ["streamArn belongs to arn:aws:dynamodb:eu-west-1:111122223333:table/old-orders", LOOK_UP],
    ),
    "another region's stream": (
        without("tableName") | {"tableArn": TABLE_ARN.replace("west", "east")},
        [f"streamArn belongs to {TABLE_ARN}, not to", LOOK_UP],
    ),
    "no view type": (
        without("streamViewType"),
        ["streamViewType is missing", "Synthesis makes no AWS calls", LOOK_UP],
    ),
    "only new images": (
        RIGHT | {"streamViewType": "NEW_IMAGE"},
        ["'NEW_IMAGE'; NEW_AND_OLD_IMAGES is needed", "StreamEnabled=false", TURN_ON],
    ),
}


@pytest.mark.parametrize(("entry", "reasons"), WRONG.values(), ids=WRONG)
def test_a_wrong_import_is_refused_with_the_place_and_the_remedy(
    entry: object, reasons: list[str]
) -> None:
    message = refusal(sources={"Orders": entry})
    assert message.startswith("context sources.Orders: ")
    for words in reasons:
        assert words in message


def test_two_sources_cannot_follow_one_imported_table() -> None:
    message = refusal(sources={"Orders": RIGHT, "Payments": RIGHT})
    assert "'legacy-orders' is both source 'Orders' and source 'Payments'" in message


def renamed(table: str) -> dict[str, str]:
    return RIGHT | {"tableName": table, "streamArn": STREAM_ARN.replace("legacy-orders", table)}


def test_an_imported_table_cannot_be_one_that_we_create() -> None:
    message = refusal(sources={"Orders": renamed("Users")})
    assert "'Users' is both source 'Orders' and source 'Users'" in message


def test_the_view_cannot_be_its_own_source() -> None:
    message = refusal(sources={"Orders": renamed("AdminViewTable")})
    assert "'AdminViewTable' is both the view table and source 'Orders'" in message


JWT = {"jwtIssuer": "https://login.example/pool", "jwtAudience": ["panel"]}


def test_the_api_is_for_signed_callers_and_no_origins_unless_the_context_says_more() -> None:
    assert read().api == read(api={}).api == read(api="").api == ApiAccess()
    access = JWT | {"corsOrigins": ["https://panel.example", "http://localhost:5173"]}
    assert read(api=access).api == ApiAccess(
        "https://login.example/pool",
        ("panel",),
        ("https://panel.example", "http://localhost:5173"),
    )


def test_the_api_given_on_the_command_line_arrives_as_text() -> None:
    assert read(api=dumps(JWT)).api == read(api=JWT).api


WRONG_API: dict[str, tuple[Any, str]] = {
    "no JSON": ("{", "not JSON"),
    "no object": ([1], "found list; expected an object such as"),
    "an unknown key": ({"issuer": "x"}, "unknown 'issuer'; there are jwtIssuer, jwtAudience"),
    "no audience": ({"jwtIssuer": "https://a.example"}, "jwtIssuer without jwtAudience; give both"),
    "no issuer": ({"jwtAudience": ["panel"]}, "jwtAudience without jwtIssuer; give both"),
    "an empty audience": (JWT | {"jwtAudience": []}, "jwtIssuer without jwtAudience"),
    "an issuer without TLS": (JWT | {"jwtIssuer": "http://a.example"}, "is not the URL of an"),
    "an audience that is no list": (JWT | {"jwtAudience": "panel"}, "is not a list of names"),
    "an audience of numbers": (JWT | {"jwtAudience": [1]}, "is not a list of names"),
    "origins that are no list": ({"corsOrigins": "https://a.example"}, "is not a list of origins"),
    "every origin": ({"corsOrigins": ["*"]}, "'*' would let any page call the API"),
    "many origins": ({"corsOrigins": ["https://*.example"]}, "would let any page call"),
    "an origin with a path": ({"corsOrigins": ["https://a.example/"]}, "without a path"),
}


@pytest.mark.parametrize(("access", "reason"), WRONG_API.values(), ids=WRONG_API)
def test_a_wrong_api_is_refused_with_what_would_be_right(access: object, reason: str) -> None:
    message = refusal(api=access)
    assert message.startswith("context api: ")
    assert reason in message
