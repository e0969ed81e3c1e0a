"""Replay and verification run on a schedule; a backfill runs on request."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import Duration

from adminview.aws.settings import MIGRATE_MACHINE_OUTPUT
from adminview.cdk import Stage
from adminview.cdk.constructs.recovery import ANSWER_SECONDS
from adminview.dead_letters.letter_filter import LetterFilter
from adminview.handlers.replay import _read_filter
from adminview.model.delivery import (
    GIVE_UP_SECONDS,
    HIDDEN_SECONDS,
    IN_DOUBT_SECONDS,
    MAX_REPLAY_PAUSE_SECONDS,
    REPLAY_SECONDS,
    RETENTION_SECONDS,
    SAVE_SECONDS,
)
from adminview.model.errors import SettingsError
from adminview.model.readiness import progress_table
from infra.stages import DEV, STAGES
from lambdas.migrations.orders_delivery_date import delivery_date
from tests.support.shop import registry
from tests.support.synthesis import Assembly, imported, stream, synthesize

TABLE_ARN = stream("legacy-orders").partition("/stream/")[0]
RULES = {
    "Replay": ("rate(10 minutes)", {}),
    "Verify": ("rate(1 day)", {"sample": 0.01}),
    "Build": ("rate(15 minutes)", {}),
}


@pytest.mark.parametrize(
    ("function", "handler", "memory", "seconds"),
    [
        ("Replay", "lambdas.replay.handler", 512, 300),
        ("Verify", "lambdas.verify.handler", 512, 900),
        ("Backfill", "lambdas.bulk.handler", 1024, 900),
        ("Migrate", "lambdas.bulk.handler", 1024, 900),
        ("Build", "lambdas.build.handler", 512, 120),
    ],
)
def test_each_function_runs_its_handler(
    dev: Assembly, function: str, handler: str, memory: int, seconds: int
) -> None:
    properties = dev.function(function)
    assert properties["Handler"] == handler
    assert (properties["MemorySize"], properties["Timeout"]) == (memory, seconds)


def test_a_replay_ends_before_its_dead_letters_are_visible_again(dev: Assembly) -> None:
    (queue,) = dev.resources("AWS::SQS::Queue")
    assert queue["Properties"]["VisibilityTimeout"] == HIDDEN_SECONDS
    assert dev.function("Replay")["Timeout"] <= HIDDEN_SECONDS - IN_DOUBT_SECONDS


def test_the_replay_understands_the_event_of_its_rule(dev: Assembly) -> None:
    _, event = schedules(dev)["Replay"]
    assert _read_filter(event) == LetterFilter()


def schedules(assembly: Assembly) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return each function that a schedule invokes, how often, and with what."""
    targets = {}
    for rule in assembly.resources("AWS::Events::Rule"):
        (target,) = rule["Properties"]["Targets"]
        name = assembly.name(target["Arn"]).removesuffix("Function.Arn")
        targets[name] = rule["Properties"]["ScheduleExpression"], json.loads(target["Input"])
    return targets


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_dead_letters_are_replayed_every_ten_minutes_and_the_view_is_sampled_every_day(
    stage: str, request: pytest.FixtureRequest
) -> None:
    assert schedules(request.getfixturevalue(stage)) == RULES


def test_a_rule_invokes_its_function_and_does_nothing_else(dev: Assembly) -> None:
    rules = dev.named("AWS::Events::Rule")
    assert rules.keys() == {f"Repeat{function}Rule" for function in RULES}
    for rule in rules.values():
        assert rule["Properties"]["State"] == "ENABLED"
        assert rule["Properties"].keys() == {"ScheduleExpression", "State", "Tags", "Targets"}
        (target,) = rule["Properties"]["Targets"]
        assert target.keys() == {"Arn", "Id", "Input"}, "no role, no queue"


def permissions_in(assembly: Assembly) -> list[dict[str, Any]]:
    resources = assembly.stack("Recovery")["Resources"].values()
    return [
        resource["Properties"]
        for resource in resources
        if resource["Type"] == "AWS::Lambda::Permission"
    ]


def test_a_function_may_be_invoked_by_its_own_rule_and_nobody_else(dev: Assembly) -> None:
    permissions = permissions_in(dev)
    assert len(permissions) == len(RULES)
    for function in RULES:
        assert {
            "Action": "lambda:InvokeFunction",
            "FunctionName": f"{function}Function.Arn",
            "Principal": "events.amazonaws.com",
            "SourceArn": f"Repeat{function}Rule.Arn",
        } in [
            {name: dev.name(value) for name, value in permission.items()}
            for permission in permissions
        ]


def test_the_recovery_stack_holds_functions_rules_machines_and_the_progress_of_their_work(
    prod: Assembly,
) -> None:
    function = ["AWS::Lambda::Function", "AWS::IAM::Role", "AWS::Logs::LogGroup"]
    rule = ["AWS::Events::Rule", "AWS::Lambda::Permission"]
    machine = ["AWS::StepFunctions::StateMachine", "AWS::IAM::Role", "AWS::Logs::LogGroup"]
    policies = ["AWS::IAM::Policy"] * 2
    types = [resource["Type"] for resource in prod.stack("Recovery")["Resources"].values()]
    assert sorted(types) == sorted(
        [
            *(function + rule) * len(RULES),
            *(function + machine + policies) * 2,
            "AWS::DynamoDB::GlobalTable",
            "Custom::AdminViewBuild",
        ]
    )


def test_a_deployment_starts_the_build_when_its_machine_is_there_and_waits_minutes_at_most(
    dev: Assembly,
) -> None:
    (build,) = dev.resources("Custom::AdminViewBuild")
    properties, resources = build["Properties"], dev.stack("Recovery")["Resources"]
    assert dev.name(properties["ServiceToken"]) == "BuildFunction.Arn"
    assert properties["Model"] == registry().fingerprint
    # By default, CloudFormation waits an hour for an answer.
    assert dev.function("Build")["Timeout"] < int(properties["ServiceTimeout"]) == ANSWER_SECONDS
    before = {resources[id_]["Type"] for id_ in build["DependsOn"]}
    assert before >= {"AWS::StepFunctions::StateMachine", "AWS::IAM::Policy"}


def test_the_api_is_deployed_after_what_is_ready_is_recorded(dev: Assembly) -> None:
    artifacts = dev.manifest["artifacts"]
    assert "AdminView-dev-Recovery" in artifacts["AdminView-dev-Api"]["dependencies"]


def test_progress_is_kept_by_run_and_segment_and_never_forgotten(dev: Assembly) -> None:
    table = dev.tables()[progress_table("AdminViewTable")]["Properties"]
    assert table["KeySchema"] == [
        {"AttributeName": "PK", "KeyType": "HASH"},
        {"AttributeName": "SK", "KeyType": "RANGE"},
    ]
    assert {attribute["AttributeType"] for attribute in table["AttributeDefinitions"]} == {"S"}
    absent = {"StreamSpecification", "TimeToLiveSpecification", "GlobalSecondaryIndexes"}
    assert not absent & table.keys()


def test_two_deployments_have_their_own_progress(mixed: Assembly) -> None:
    assert progress_table("team-a-AdminViewTable") in mixed.tables()
    kept = resources_of(mixed, "Backfill", "dynamodb:PutItem")
    assert kept == [{"team-a-AdminViewTable.Arn"}, {"team-a-AdminViewTableProgress.Arn"}]


def test_without_a_migration_nobody_may_write_to_a_source(mixed: Assembly) -> None:
    assert "MigrateFunction" not in mixed.named("AWS::Lambda::Function")
    machines = mixed.named("AWS::StepFunctions::StateMachine")
    assert machines.keys() == {"BackfillSegmentsMachine"}
    assert MIGRATE_MACHINE_OUTPUT not in mixed.outputs()


def test_an_imported_source_is_migrated_like_our_own(tmp_path: Path) -> None:
    sources = {"Orders": imported("legacy-orders")}
    assembly = synthesize(registry(), tmp_path, [delivery_date], sources=sources)
    assert resources_of(assembly, "Migrate", "dynamodb:UpdateItem") == [{TABLE_ARN}]


def test_a_mapping_may_be_replaced_while_the_backfill_knows_the_old_one(dev: Assembly) -> None:
    reported = json.dumps(dev.machine("Backfill")["DefinitionString"])
    assert reported.count("Fn::GetStackOutput") == len(registry().sources)
    assert "Fn::ImportValue" not in reported
    exported = [
        dev.name(output["Value"])
        for output in dev.stack("Sync")["Outputs"].values()
        if "Export" in output
    ]
    assert exported
    assert not [name for name in exported if "Mapping" in name]


def test_the_backfill_is_deployed_after_the_mappings_in_its_settings(dev: Assembly) -> None:
    recovery = dev.manifest["artifacts"]["AdminView-dev-Recovery"]
    assert "AdminView-dev-Sync" in recovery["dependencies"]


def test_the_stage_says_how_often_and_how_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    often = replace(
        DEV, replay_every=Duration.minutes(5), verify_every=Duration.days(7), verify_sample=1.0
    )
    monkeypatch.setitem(STAGES, "dev", often)
    assert schedules(synthesize(registry(), tmp_path)) == {
        "Replay": ("rate(5 minutes)", {}),
        "Verify": ("rate(7 days)", {"sample": 1}),
        "Build": RULES["Build"],
    }


@pytest.mark.parametrize(
    ("stage", "silent"),
    [
        (replace(DEV, replay_every=None), "Replay"),
        (replace(DEV, verify_every=None), "Verify"),
    ],
    ids=["Replay", "Verify"],
)
def test_a_stage_without_a_schedule_has_the_function_but_no_rule(
    stage: Stage, silent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(STAGES, "dev", stage)
    assembly = synthesize(registry(), tmp_path)
    assert assembly.function(silent)["Handler"] == f"lambdas.{silent.lower()}.handler"
    assert schedules(assembly).keys() == RULES.keys() - {silent}
    assert len(permissions_in(assembly)) == len(RULES) - 1


def test_a_replay_that_is_too_rare_for_records_that_lambda_gave_up_on_is_refused() -> None:
    with pytest.raises(SettingsError, match="replay_every is 4 hours; give at most 30 minutes"):
        replace(DEV, replay_every=Duration.hours(4))
    # Lambda gives up, a replay reads the records, another one saves them, the stream drops them.
    assert GIVE_UP_SECONDS + MAX_REPLAY_PAUSE_SECONDS < SAVE_SECONDS
    assert SAVE_SECONDS + MAX_REPLAY_PAUSE_SECONDS + REPLAY_SECONDS < RETENTION_SECONDS


def resources_of(assembly: Assembly, function: str, action: str) -> list[set[str]]:
    return [set(on) for actions, on in assembly.statements(function) if action in actions]


def test_imported_sources_are_replayed_verified_and_read_for_a_backfill_like_our_own(
    mixed: Assembly,
) -> None:
    ours = ("team-a-Payments", "team-a-Products", "team-a-Users")
    streams = {stream("legacy-orders"), *(f"{table}.StreamArn" for table in ours)}
    tables = {TABLE_ARN, *(f"{table}.Arn" for table in ours)}
    view = "team-a-AdminViewTable.Arn"
    assert resources_of(mixed, "Replay", "dynamodb:GetRecords") == [streams]
    assert resources_of(mixed, "Replay", "dynamodb:GetItem") == [tables]
    assert resources_of(mixed, "Replay", "dynamodb:PutItem") == [{view}]
    totals = "team-a-AdminViewTotals.Arn"
    assert resources_of(mixed, "Verify", "dynamodb:Scan") == [tables, {view, totals}]
    progress = "team-a-AdminViewTableProgress.Arn"
    assert resources_of(mixed, "Verify", "dynamodb:Query") == [{f"{view}/index/Owner"}, {progress}]
    assert resources_of(mixed, "Verify", "dynamodb:PutItem") == [{progress}]
    assert resources_of(mixed, "Verify", "dynamodb:DeleteItem") == [{progress}]
    assert resources_of(mixed, "Backfill", "dynamodb:Scan") == [tables, {view}, {totals}]
    assert resources_of(mixed, "Backfill", "dynamodb:UpdateItem") == [{totals}]
    assert resources_of(mixed, "Verify", "dynamodb:UpdateItem") == []
    assert resources_of(mixed, "Backfill", "dynamodb:Query") == [
        {f"{view}/index/Owner", totals},
        {"team-a-AdminViewTableProgress.Arn"},
    ]
