"""The doctor can read every template that is synthesized."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from adminview.aws.aws_calls import Aws
from adminview.cli.deployment.deployment import DeployedStack, Deployment, Resource
from adminview.cli.deployment.stacks import FUNCTION, PARTS, Stack
from adminview.cli.doctor import functions
from adminview.cli.doctor.alarms import ALARM
from adminview.cli.doctor.functions import PERMISSION
from adminview.cli.doctor.grants import declared_grants
from adminview.cli.doctor.mappings import MAPPING, ON_FAILURE, expected_settings
from adminview.cli.doctor.references import _weak_values, resolve, stale_references
from adminview.cli.doctor.roles import ROLE
from adminview.cli.doctor.schedules import MACHINE, RULE
from adminview.model.delivery import Delivery
from adminview.model.errors import SettingsError
from tests.support.shop import registry
from tests.support.synthesis import Assembly

ID = "arn:aws:cloudformation:eu-west-1:111122223333:stack/{}/1"
STREAM = "arn:aws:dynamodb:eu-west-1:111122223333:table/Orders/stream/1"


def deployed_resource(id_: str, resource: dict[str, Any]) -> Resource:
    """Make a resource as CloudFormation would, by a name that tells where it is from."""
    kind, properties = resource["Type"], resource.get("Properties", {})
    name = properties.get("TableName", id_)
    if kind == "AWS::StepFunctions::StateMachine":
        name = f"arn:aws:states:eu-west-1:111122223333:stateMachine:{id_}"
    elif kind == "AWS::IAM::ManagedPolicy":
        name = f"arn:aws:iam::111122223333:policy/{id_}"
    return Resource(id_, kind, name, properties)


def deployed(assembly: Assembly, stage: str = "dev", prefix: str = "") -> Deployment:
    """Deploy the templates in words: outputs are what they refer to."""
    parts: dict[str, DeployedStack] = {}
    site = Deployment(Aws(), stage, prefix, _parts=parts)
    for part in PARTS:  # each after those it refers to
        name = f"{prefix}AdminView-{stage}-{part}"
        template = assembly.templates.get(name)
        parts[part] = DeployedStack(name)
        if template is None:
            continue
        resources = tuple(
            deployed_resource(*resource) for resource in template["Resources"].items()
        )
        outputs: dict[str, str] = {}
        stack = Stack(name, "CREATE_COMPLETE", None, outputs, template)
        parts[part] = DeployedStack(name, ID.format(name), "CREATE_COMPLETE", stack, resources)
        outputs.update(_outputs(template, parts[part], site))
    return site


def _outputs(
    template: dict[str, Any], part: DeployedStack, site: Deployment
) -> Iterator[tuple[str, str]]:
    for name, output in template.get("Outputs", {}).items():
        if "Fn::GetAtt" in output["Value"] and output["Value"]["Fn::GetAtt"][1] == "StreamArn":
            yield name, STREAM
            continue
        try:
            yield name, resolve(output["Value"], part, site)
        except SettingsError:  # such as the name of the queue, which only its stack knows
            yield name, f"value of {name}"


@pytest.fixture(params=["dev", "mixed", "traced", "totals"])
def site(request: pytest.FixtureRequest) -> Deployment:
    """Deploy in different ways."""
    prefix = "team-a-" if request.param == "mixed" else ""
    return deployed(request.getfixturevalue(request.param), prefix=prefix)


def test_each_role_is_understood_to_the_last_resource(site: Deployment) -> None:
    roles = [*site.of(ROLE)]
    assert roles
    for part, role in roles:
        grants = declared_grants(role, part, site)
        assert grants, role.id
        assert [grant for grant in grants if "{" in grant.resource] == []


def test_each_function_has_a_role_that_can_be_named(site: Deployment) -> None:
    for part, function in site.of(FUNCTION):
        arn = resolve(function.properties["Role"], part, site)
        assert arn.startswith("arn:aws:iam::111122223333:role/"), function.id


def test_each_permission_is_looked_at_with_the_function_it_is_for(site: Deployment) -> None:
    requested = {
        str(permission.properties["FunctionName"]) for _, permission in site.of(PERMISSION)
    }
    assert requested
    names = [check.name for check in functions.checks(site)]
    assert len([name for name in names if name.startswith("callers of ")]) == len(requested)


def test_each_schedule_has_a_function_that_can_be_named(site: Deployment) -> None:
    rules = [*site.of(RULE)]
    assert rules
    for part, rule in rules:
        (target,) = rule.properties["Targets"]
        assert ":function:" in resolve(target["Arn"], part, site), rule.id


def test_mappings_are_deployed_without_a_filter(site: Deployment) -> None:
    assert [
        mapping.id for _, mapping in site.of(MAPPING) if "FilterCriteria" in mapping.properties
    ] == []


def test_mappings_are_expected_to_be_set_by_the_rules_of_delivery(dev: Assembly) -> None:
    site, rules = deployed(dev), Delivery()
    mappings = [mapping.name for mapping in site.part("Sync").of(MAPPING)]
    assert len(mappings) == len(registry().sources)
    (function,) = [
        function.name for _, function in site.of(FUNCTION) if function.label == "SyncFunction"
    ]
    for uuid in mappings:
        settings = expected_settings(site, uuid)
        queue = str(settings.pop(ON_FAILURE))
        assert queue.startswith("arn:aws:sqs:eu-west-1:111122223333:DeadLetters")
        assert settings == {
            "BatchSize": rules.batch_size,
            "MaximumBatchingWindowInSeconds": rules.window_seconds,
            "ParallelizationFactor": rules.parallelization,
            "BisectBatchOnFunctionError": rules.bisect,
            "MaximumRetryAttempts": rules.retries,
            "MaximumRecordAgeInSeconds": rules.max_age_seconds,
            "TumblingWindowInSeconds": 0,
            "FunctionResponseTypes": "ReportBatchItemFailures",
            "function": function,
        }


def test_the_outputs_of_the_stacks_are_what_the_doctor_reads(dev: Assembly) -> None:
    site, model = deployed(dev), registry()
    assert site.settings.sources == {source.name: source.name for source in model.sources}
    assert {*site.mappings} == {source.name for source in model.sources}
    assert {*site.mappings.values()} == {mapping.name for mapping in site.part("Sync").of(MAPPING)}
    assert site.pending == {}
    description = site.part("Sync").description()
    assert description == json.loads(json.dumps(model.description()))


def test_the_weak_references_of_every_alarm_and_machine_are_understood(site: Deployment) -> None:
    """One that refers to what is deployed now is fine; one that refers to nothing is not."""
    stale = 0
    for part, resource in site.of(*ALARM, MACHINE):
        current = [*_weak_values(resource.properties, part, site)]
        assert [*stale_references("it", resource, current, part, site)] == []
        faults = [*stale_references("it", resource, {}, part, site)]
        assert bool(faults) is bool(current)
        stale += bool(current)
    assert stale
