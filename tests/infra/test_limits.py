"""A large model stays within the limits of Lambda, CloudFormation, IAM and CloudWatch."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from adminview.cli.doctor.grants import managed_policies
from adminview.cli.doctor.roles import ROLE
from adminview.model import Registry
from tests.infra.test_doctor import deployed
from tests.support.synthesis import Assembly, imported, synthesize
from tests.support.view_files import load_view_file

pytestmark = pytest.mark.slow

SOURCES, PATTERNS, TOTALS = 100, 300, 50
ENVIRONMENT_BYTES = 4096
TEMPLATE_BYTES = 1024 * 1024  # in S3
RESOURCES, OUTPUTS = 500, 200
INLINE_CHARACTERS, MANAGED_CHARACTERS, MANAGED_POLICIES = 10_240, 6_144, 10
ALARM_METRICS, WIDGETS, DASHBOARD_METRICS = 10, 500, 2_500
DEFINITION_BYTES = 1024 * 1024
PREFIX = "customer-facing-team-"
REGION, ACCOUNT = "ap-southeast-1", "123456789012"

LARGE = """
from adminview import AccessPattern, Index, Item, Row, Source, Total, view

by_status = Index("GSI1", partition="GSI1_PK", sort="GSI1_SK", include=["data"])
"""
ONE = """
source_{n} = Source("customer-orders-{n:03d}", partition_key="id")


@view(source_{n})
def order_{n}(item: Item):
    yield Row(f"CUSTOMER#{n}#{{item['id']}}", "DETAILS", indexes=[by_status("S{n}", item["id"])])
"""
PATTERN = """
pattern_{n} = AccessPattern("customer-orders-by-status-{n:03d}", index=by_status, partition="S{n}")
"""


TOTAL = """
total_{n} = Total("customer-orders-by-status-{n:03d}", partition=["a", "b"], sort="day",
                  sums=["revenue"], ranked_by="revenue")
totals_{n} = AccessPattern("totals-{n:03d}", total=total_{n}, partition=["{{a}}", "{{b}}"])
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    text = LARGE + "".join(ONE.format(n=n) for n in range(SOURCES))
    text += "".join(PATTERN.format(n=n) for n in range(PATTERNS))
    text += "".join(TOTAL.format(n=n) for n in range(TOTALS))
    return Registry.of([load_view_file(tmp_path_factory.mktemp("views") / "large.py", text)])


@pytest.fixture(scope="module", params=["owned", "imported"])
def assembly(
    request: pytest.FixtureRequest, large: Registry, tmp_path_factory: pytest.TempPathFactory
) -> Assembly:
    """Synthesize it in the middle of a rollout: no access pattern is ready."""
    folder = tmp_path_factory.mktemp(request.param)
    phase = folder / "phase.json"
    phase.write_text(json.dumps({"pending": {pattern.name: None for pattern in large.patterns}}))
    names = [source.name for source in large.sources] if request.param == "imported" else []
    return synthesize(
        large,
        folder / "cdk",
        prefix=PREFIX,
        rolloutPhase=str(phase),
        sources={name: imported(f"prod-{name}") for name in names},
    )


def resolved(value: Any, templates: dict[str, Any]) -> Any:  # noqa: C901, PLR0911 - one per form
    """Replace references by texts of the length that they have in AWS."""
    if isinstance(value, list):
        return [resolved(element, templates) for element in value]
    if not isinstance(value, dict):
        return value
    match value:
        case {"Ref": "AWS::Region"}:
            return REGION
        case {"Ref": "AWS::AccountId"}:
            return ACCOUNT
        case {"Ref": "AWS::Partition"}:
            return "aws"
        case {"Fn::Join": [between, parts]}:
            return between.join(str(resolved(part, templates)) for part in parts)
        case {"Fn::Select": [_, {"Fn::Split": ["/stream/", _]}]}:
            return "2026-01-01T00:00:00.000"
        case {"Fn::GetAtt": [_, "StreamArn"]} | {"Fn::ImportValue": _}:
            table = f"customer-facing-team-customer-orders-{0:03d}"
            place = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{table}"
            return f"{place}/stream/2026-01-01T00:00:00.000"
        case {"Fn::GetStackOutput": _}:
            return "x" * 36  # the UUID of a mapping
        case {"Ref": _} | {"Fn::GetAtt": _}:
            return "x" * 80  # a queue's URL, an ARN
    return {key: resolved(inner, templates) for key, inner in value.items()}


def of_type(assembly: Assembly, type_: str) -> Iterator[tuple[str, Any]]:
    for template in assembly.templates.values():
        for name, resource in template["Resources"].items():
            if resource["Type"] == type_:
                yield name, resolved(resource["Properties"], assembly.templates)


def characters(document: Any) -> int:
    return len(json.dumps(document, separators=(",", ":")))


def test_environments_fit_into_what_lambda_takes(assembly: Assembly) -> None:
    functions = dict(of_type(assembly, "AWS::Lambda::Function"))
    assert len(functions) >= 6
    for name, function in functions.items():
        size = characters(function["Environment"]["Variables"])
        assert size <= ENVIRONMENT_BYTES, (name, size)


def test_templates_fit_into_what_cloudformation_takes(assembly: Assembly) -> None:
    for file in assembly.directory.glob("*.template.json"):
        template = json.loads(file.read_text())
        assert file.stat().st_size <= TEMPLATE_BYTES, file.name
        assert len(template["Resources"]) <= RESOURCES, file.name
        assert len(template.get("Outputs", {})) <= OUTPUTS, file.name


def test_policies_fit_into_what_iam_takes(assembly: Assembly) -> None:
    for name, role in of_type(assembly, "AWS::IAM::Role"):
        inline = sum(characters(policy["PolicyDocument"]) for policy in role.get("Policies", []))
        assert inline <= INLINE_CHARACTERS, (name, inline)
        assert len(role.get("ManagedPolicyArns", [])) <= MANAGED_POLICIES, name
    managed = dict(of_type(assembly, "AWS::IAM::ManagedPolicy"))
    assert managed, "a hundred streams do not fit into an inline policy"
    for name, policy in managed.items():
        assert characters(policy["PolicyDocument"]) <= MANAGED_CHARACTERS, name


def test_every_source_may_be_read_though_its_statement_is_split(assembly: Assembly) -> None:
    policies = [
        *(
            policy
            for _, role in of_type(assembly, "AWS::IAM::Role")
            for policy in role.get("Policies", [])
        ),
        *(policy for _, policy in of_type(assembly, "AWS::IAM::ManagedPolicy")),
    ]
    allowed = Counter(
        action
        for policy in policies
        for statement in policy["PolicyDocument"]["Statement"]
        if isinstance(statement["Resource"], list)
        for action in [statement["Action"]]
        if not isinstance(action, str) and "dynamodb:GetRecords" in action
        for _ in statement["Resource"]
        for action in ["dynamodb:GetRecords"]
    )
    assert allowed["dynamodb:GetRecords"] == 2 * SOURCES, "the sync and the replay"


def test_the_doctor_reads_every_managed_policy_of_a_role(assembly: Assembly) -> None:
    by_role = {
        role.label: (role.properties.get("ManagedPolicyArns", []), managed_policies(role, part))
        for part, role in deployed(assembly, prefix=PREFIX).of(ROLE)
    }
    assert any(arns for arns, _ in by_role.values())
    for arns, policies in by_role.values():
        assert [{"Ref": policy.id} for policy in policies] == arns


def test_alarms_and_the_dashboard_fit_into_what_cloudwatch_takes(assembly: Assembly) -> None:
    alarms = dict(of_type(assembly, "AWS::CloudWatch::Alarm"))
    assert len(alarms) >= 3 * SOURCES
    for alarm in alarms.values():
        assert len(alarm.get("Metrics", [])) <= ALARM_METRICS
        assert len(alarm["AlarmName"]) <= 255
    ((_, dashboard),) = of_type(assembly, "AWS::CloudWatch::Dashboard")
    widgets = json.loads(dashboard["DashboardBody"])["widgets"]
    assert len(widgets) <= WIDGETS
    shown = sum(len(widget["properties"].get("metrics", [])) for widget in widgets)
    assert shown <= DASHBOARD_METRICS


def test_state_machines_fit_into_what_step_functions_takes(assembly: Assembly) -> None:
    for _, machine in of_type(assembly, "AWS::StepFunctions::StateMachine"):
        assert len(machine["DefinitionString"]) <= DEFINITION_BYTES


def test_what_grows_with_the_model_is_in_the_bundle(assembly: Assembly, large: Registry) -> None:
    manifest = assembly.manifest_of("Api")
    assert manifest.sources.keys() == {source.name for source in large.sources}
    assert manifest.pending == {pattern.name: None for pattern in large.patterns}
