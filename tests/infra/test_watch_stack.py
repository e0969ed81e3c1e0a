"""Alarms on everything that is deployed, their topic, and the dashboard."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from aws_cdk import Duration

from adminview.cdk import Stage
from adminview.http_api.health import ALARMS, KNOWN
from infra.stages import DEV, STAGES
from tests.infra.alarms import ALARM, dashboard, deployment, watched
from tests.support.shop import registry
from tests.support.synthesis import Assembly, synthesize
from tests.support.view_files import with_view_file

SOURCES = [source.name for source in registry().sources]
each_deployment = pytest.mark.parametrize("deployed", ["dev", "prod", "mixed"])


@pytest.fixture
def assembly(deployed: str, request: pytest.FixtureRequest) -> Assembly:
    synthesized: Assembly = request.getfixturevalue(deployed)
    return synthesized


def of_rule(assembly: Assembly, rule: str) -> set[str]:
    """List what a rule is about."""
    alarms = watched(assembly)
    return {alarm.removeprefix(f"{rule}-") for alarm in alarms if alarm.startswith(f"{rule}-")}


@each_deployment
def test_every_function_has_an_alarm_on_its_errors_and_one_on_its_throttles(
    assembly: Assembly,
) -> None:
    functions = assembly.named("AWS::Lambda::Function")
    assert len(functions) >= 5
    looked_at = set().union(*(alarm.counted for alarm in watched(assembly).values()))
    for function in functions:
        where = frozenset({("FunctionName", function)})
        assert {("AWS/Lambda", name, where) for name in ("Errors", "Throttles")} <= looked_at


@each_deployment
def test_every_machine_has_an_alarm_on_its_executions(assembly: Assembly) -> None:
    alarms = watched(assembly)
    for machine in assembly.named("AWS::StepFunctions::StateMachine"):
        alarm = alarms[f"failed-execution-{machine.removesuffix('Machine')}"]
        where = frozenset({("StateMachineArn", machine)})
        assert alarm.counted == {("AWS/States", "ExecutionsFailed", where)}


@each_deployment
def test_every_source_has_alarms_on_its_lag_its_silence_and_its_drift(assembly: Assembly) -> None:
    assert of_rule(assembly, "lag") == of_rule(assembly, "silence") == {*SOURCES}
    assert of_rule(assembly, "drift") == {*SOURCES, "unknown"}, "and on rows of no source"


def test_the_view_and_each_of_its_global_indexes_have_an_alarm_on_throttling(
    dev: Assembly,
) -> None:
    table = dev.tables()["AdminViewTable"]["Properties"]
    indexes = {index["IndexName"] for index in table["GlobalSecondaryIndexes"]}
    assert of_rule(dev, "index-throttling") == indexes | {"AdminViewTotals-Ranking"}
    alarms = watched(dev)
    for name in indexes:
        where = frozenset({("TableName", "AdminViewTable"), ("GlobalSecondaryIndexName", name)})
        events = {
            ("AWS/DynamoDB", f"{operation}ThrottleEvents", where) for operation in ("Read", "Write")
        }
        assert alarms[f"index-throttling-{name}"].counted == events
    (alone,) = {on for _, _, on in alarms["table-throttling-AdminViewTable"].counted}
    assert alone == {("TableName", "AdminViewTable")}, "without its indexes"


def test_dead_letters_count_whether_they_are_visible_or_not(dev: Assembly) -> None:
    alarm = watched(dev)["letters"]
    where = frozenset({("QueueName", "DeadLetters.QueueName")})
    names = ("Visible", "NotVisible", "Delayed")
    assert alarm.counted == {
        ("AWS/SQS", f"ApproximateNumberOfMessages{name}", where) for name in names
    }
    assert alarm.expression == " + ".join(f"FILL({name.lower()}, 0)" for name in names)


@each_deployment
def test_an_alarm_tells_the_topic_that_it_rings_and_that_it_is_over(assembly: Assembly) -> None:
    for alarm in assembly.resources(ALARM):
        for actions in ("AlarmActions", "OKActions"):
            assert [assembly.name(action) for action in alarm["Properties"][actions]] == ["Alarms"]


@each_deployment
def test_missing_data_alarms_only_when_no_verification_runs_any_more(
    assembly: Assembly,
) -> None:
    reported = {
        name: alarm.properties["InsufficientDataActions"]
        for name, alarm in watched(assembly).items()
        if "InsufficientDataActions" in alarm.properties
    }
    assert reported.keys() == {"unverified"}
    assert [assembly.name(action) for action in reported["unverified"]] == ["Alarms"]
    alarm = watched(assembly)["unverified"]
    assert alarm.properties["TreatMissingData"] == "missing", "it begins without data, and waits"
    assert "FILL" not in alarm.expression


@each_deployment
def test_all_tries_of_a_scheduled_event_are_in_one_period_even_if_each_runs_out_of_time(
    assembly: Assembly,
) -> None:
    rules = [
        rule_resource["Properties"] for rule_resource in assembly.resources("AWS::Events::Rule")
    ]
    scheduled = {
        assembly.name(target["Arn"]).removesuffix("Function.Arn")
        for rule in rules
        for target in rule["Targets"]
    }
    assert scheduled
    for name in scheduled:
        last_begins = 2 * assembly.function(name)["Timeout"] + 60 + 120
        alarm = watched(assembly)[f"errors-{name}"]
        assert last_begins < alarm.seconds
        assert (alarm.rings(3), alarm.rings(2)) == (True, False)


LONG = """
from collections.abc import Iterator

from adminview import Index, Item, Row, Source, view

one = Source("S" * 252 + "One", partition_key="id")
two = Source("S" * 252 + "Two", partition_key="id")
index = Index("I" * 255, partition="id")


@view(one)
def first(item: Item) -> Iterator[Row]:
    yield Row("ONE", item["id"])


@view(two)
def second(item: Item) -> Iterator[Row]:
    yield Row("TWO", item["id"])
"""


def test_names_as_long_as_dynamodb_takes_make_alarms_that_cloudwatch_takes(tmp_path: Path) -> None:
    model = with_view_file(tmp_path / "long_names.py", LONG)
    names = [
        alarm["Properties"]["AlarmName"] for alarm in synthesize(model, tmp_path).resources(ALARM)
    ]
    assert max(map(len, names)) == 255
    assert len({name.lower() for name in names}) == len(names), "apart, though the ends are cut off"
    assert all(name.startswith("AdminView-dev-") for name in names)
    assert "AdminView-dev-lag-Orders" in names, "whole where it is short enough"


def test_a_long_prefix_is_cut_where_the_topic_is_shown(tmp_path: Path) -> None:
    (topic,) = synthesize(registry(), tmp_path, prefix="p" * 90).resources("AWS::SNS::Topic")
    assert topic["Properties"]["DisplayName"] == "Alarms of " + "p" * 90


@each_deployment
def test_an_alarm_says_what_it_means_in_a_sentence_and_where_to_read_on(
    assembly: Assembly,
) -> None:
    for name, alarm in watched(assembly).items():
        description = re.fullmatch(
            r"[A-Z][^.]*\. docs/runbook\.md#([a-z-]+)", alarm.properties["AlarmDescription"]
        )
        assert description, alarm.properties["AlarmDescription"]
        assert name == description[1] or name.startswith(f"{description[1]}-")
        about = name.removeprefix(description[1]).removeprefix("-")
        assert about in description[0]


@each_deployment
def test_an_alarm_is_one_that_cloudwatch_takes(assembly: Assembly) -> None:
    for alarm in watched(assembly).values():
        assert len(alarm.metrics) <= 10
        assert alarm.seconds % 60 == 0
        looks_back = alarm.seconds * alarm.properties["EvaluationPeriods"]
        assert looks_back <= (7 * 86400 if alarm.seconds >= 3600 else 86400)
        assert alarm.properties["DatapointsToAlarm"] <= alarm.properties["EvaluationPeriods"]


@each_deployment
def test_nobody_may_publish_but_alarms_of_this_deployment_over_tls(assembly: Assembly) -> None:
    (policy,) = assembly.resources("AWS::SNS::TopicPolicy")
    assert [assembly.name(topic) for topic in policy["Properties"]["Topics"]] == ["Alarms"]
    plain, allowed = policy["Properties"]["PolicyDocument"]["Statement"]
    assert (plain["Effect"], plain["Principal"]) == ("Deny", "*")
    assert plain["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert allowed["Effect"] == "Allow"
    assert allowed["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    assert plain["Action"] == allowed["Action"] == "sns:Publish"
    account = allowed["Condition"]["StringEquals"]["aws:SourceAccount"]
    assert assembly.name(account) == "AWS::AccountId"
    alarms = assembly.name(allowed["Condition"]["ArnLike"]["aws:SourceArn"])
    place = "arn:AWS::Partition:cloudwatch:AWS::Region:AWS::AccountId"
    assert alarms == f"{place}:alarm:{deployment(assembly)}-*"


def test_the_topic_has_no_key_that_alarms_could_not_use(dev: Assembly) -> None:
    (topic,) = dev.resources("AWS::SNS::Topic")
    assert "KmsMasterKeyId" not in topic["Properties"]
    assert dev.resources("AWS::SNS::Subscription") == []


def test_an_address_in_the_context_is_subscribed(tmp_path: Path) -> None:
    assembly = synthesize(registry(), tmp_path, alarms='{"email": "ops@shop.example"}')
    (subscription,) = assembly.resources("AWS::SNS::Subscription")
    assert (subscription["Properties"]["Protocol"], subscription["Properties"]["Endpoint"]) == (
        "email",
        "ops@shop.example",
    )


def test_an_alarm_links_to_its_section_where_the_context_says_where_the_page_is(
    tmp_path: Path,
) -> None:
    page = "https://wiki.example/runbook"
    longest = page + "/" + "x" * (500 - len(page) - 1)
    model = with_view_file(tmp_path / "long_names.py", LONG)
    alarms = watched(synthesize(model, tmp_path, alarms={"runbookUrl": longest}))
    descriptions = {name: alarm.properties["AlarmDescription"] for name, alarm in alarms.items()}
    assert descriptions["lag-Orders"].endswith(f" after the change. {longest}#lag")
    assert all(f" {longest}#" in description for description in descriptions.values())
    assert max(map(len, descriptions.values())) <= 1024, "as CloudWatch takes it"


def test_what_is_watched_may_go_without_its_alarms(dev: Assembly) -> None:
    assert "Fn::ImportValue" not in json.dumps(dev.stack("Watch"))
    for name, template in dev.templates.items():
        assert name.endswith("-Watch") or "AdminView-dev-Watch" not in json.dumps(template)
    depends = set(dev.manifest["artifacts"]["AdminView-dev-Watch"]["dependencies"])
    others = {name for name in dev.templates if not name.endswith(("-Watch", "-View"))}
    assert others <= depends, "it is deployed when they are there"


@each_deployment
def test_the_page_begins_with_all_alarms_and_has_a_row_for_each_source(assembly: Assembly) -> None:
    first, *rest = dashboard(assembly)
    assert first["type"] == "alarm"
    assert len(first["properties"]["alarms"]) == len(watched(assembly))
    for source in SOURCES:
        row = [widget for widget in rest if widget["title"].startswith(f"{source}: ")]
        assert len({widget["y"] for widget in row}) == 1
        shown = {metric[1] for widget in row for metric in widget["properties"]["metrics"]}
        assert shown >= {"LagOfNewestRecord", "Records", "RowsPut", "RowsDeleted", "Unchanged"}
        assert shown >= {"DeadLettered", "Redelivered"}


def test_the_page_shows_what_all_sources_share(dev: Assembly) -> None:
    shown = {
        metric[1]
        for widget in dashboard(dev)[1:]
        for metric in widget["properties"]["metrics"]
        if len(metric) > 1  # not an expression
    }
    assert shown >= {"IteratorAge", "Errors", "Throttles", "WriteThrottleEvents", "5xx"}
    assert "ApproximateNumberOfMessagesVisible" in shown


@pytest.mark.parametrize(
    ("stage", "absent"),
    [
        (replace(DEV, replay_every=None), {"oldest-letter", "untouched-letter"}),
        (
            replace(DEV, verify_every=None),
            {"unverified", *(f"drift-{source}" for source in SOURCES)},
        ),
        (replace(DEV, verify_every=Duration.days(7)), {"unverified"}),
    ],
    ids=["no replay", "no verification", "too seldom to look back"],
)
def test_what_a_stage_does_not_do_by_schedule_has_no_alarm(
    stage: Stage, absent: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(STAGES, "dev", stage)
    alarms = set(watched(synthesize(registry(), tmp_path)))
    assert not absent & alarms
    assert {"letters", "iterator-age"} <= alarms


def test_a_dead_letter_is_untouched_by_the_schedule_of_the_replay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(STAGES, "dev", replace(DEV, replay_every=Duration.minutes(20)))
    alarm = watched(synthesize(registry(), tmp_path))["untouched-letter"]
    assert alarm.properties["Threshold"] == 2 * 60 * 60


@pytest.mark.parametrize("stage", ["dev", "mixed"])
def test_an_alarm_on_a_stream_names_the_mapping_of_its_source(
    stage: str, request: pytest.FixtureRequest
) -> None:
    alarms = watched(request.getfixturevalue(stage))
    for rule, metric in (("silence", "PolledEventCount"), ("dropped", "DroppedEventCount")):
        for source in ("Orders", "Users"):
            where = frozenset({("EventSourceMappingUUID", f"Follow{source}Mapping")})
            assert alarms[f"{rule}-{source}"].counted == {("AWS/Lambda", metric, where)}


def test_a_mapping_emits_the_metrics_that_alarms_need(dev: Assembly, mixed: Assembly) -> None:
    for assembly in (dev, mixed):
        mappings = assembly.resources("AWS::Lambda::EventSourceMapping")
        assert {str(mapping["Properties"]["MetricsConfig"]) for mapping in mappings} == {
            "{'Metrics': ['EventCount']}"
        }


def test_health_reads_alarms_that_exist(dev: Assembly) -> None:
    alarms = watched(dev)
    assert KNOWN in alarms
    for name in ALARMS:
        assert any(alarm == name or alarm.startswith(f"{name}-") for alarm in alarms), name
