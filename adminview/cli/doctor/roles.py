"""Check that each role has the deployed permissions, and no others.

Two sources complement each other. The simulation of IAM includes permissions boundaries and the
policies of the organization. The policies themselves show permissions that were added by hand.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from adminview.aws.aws_calls import Aws, AwsCallError
from adminview.cli.deployment.deployment import DeployedStack, Deployment, Resource
from adminview.cli.doctor.finding import Check, Fault, State, Verdict
from adminview.cli.doctor.grants import (
    Grant,
    as_list,
    declared_grants,
    declared_policies,
    grants,
    managed_policies,
)
from adminview.cli.doctor.references import resolve

ROLE: Final = "AWS::IAM::Role"
LISTED: Final = 5
ALLOWED: Final = "allowed"


@dataclass(slots=True)
class RoleObservation:
    """What IAM returned for a role."""

    # By name or ARN; None if they cannot be read. Of attached policies, those of the stack.
    policies: dict[str, frozenset[Grant]] | None = None
    attached: frozenset[str] = frozenset()
    allowed: set[Grant] = field(default_factory=set)
    denied: dict[Grant, str] = field(default_factory=dict)  # and why
    errors: list[AwsCallError] = field(default_factory=list)

    @property
    def written(self) -> frozenset[Grant]:
        return frozenset[Grant]().union(*(self.policies or {}).values())


def checks(deployment: Deployment) -> Iterator[Check]:
    for part, role in deployment.of(ROLE):
        yield Check(f"role {role.label}", partial(fetch_role, deployment, part, role))


def fetch_role(deployment: Deployment, part: DeployedStack, role: Resource) -> Verdict:
    """Read a role's policies, simulate each of its grants, and compare them with the template."""
    restore = deployment.restore(part)
    declared = declared_grants(role, part, deployment)
    managed = {
        resolve(arn, part, deployment) for arn in as_list(role.properties.get("ManagedPolicyArns"))
    }
    aws, observed = deployment.aws, RoleObservation()
    response = aws.find("iam", "GetRole", RoleName=role.name)
    if response is None:
        return [Fault("it is deleted", restore)], ""
    owned = frozenset(policy.name for policy in managed_policies(role, part))
    _read(aws, role.name, owned, observed)
    _simulate(aws, response["Role"]["Arn"], declared, observed)
    if observed.policies is None and not observed.allowed and not observed.denied:
        raise observed.errors[0]
    faults = [*evaluate_role(declared, frozenset(managed), observed, restore)]
    for name, granted in (observed.policies or {}).items():
        if extra := _listed(map(str, sorted(granted - declared))):
            is_ours = name in owned | declared_policies(role, part)
            faults.append(_added(role, name, extra, restore if is_ours else None))
    faults += [_attached(role, arn) for arn in sorted(observed.attached - managed)]
    return faults, f"has its {len(declared)} permissions, and no others"


def evaluate_role(
    declared: frozenset[Grant], managed: frozenset[str], observed: RoleObservation, restore: str
) -> Iterator[Fault]:
    """Report the permissions that a role lacks."""
    if observed.denied:
        denied = [f"{grant} ({why})" for grant, why in sorted(observed.denied.items())]
        yield Fault(f"it may not {_listed(denied)}", _hint(observed.denied.values(), restore))
    if observed.policies is not None:
        lacking = declared - observed.written - observed.denied.keys()
        if missing := lacking - observed.allowed:
            yield Fault(f"it lacks {_listed(map(str, sorted(missing)))}", restore)
        if rewritten := lacking & observed.allowed:
            problem = f"allowed by other statements: {_listed(map(str, sorted(rewritten)))}"
            yield Fault(problem, restore, State.WARNING)
        if detached := managed - observed.attached:
            yield Fault(f"detached policies: {_listed(sorted(detached))}", restore)
    for error in observed.errors:
        yield Fault(f"not fully checked: {error}", error.advice, State.WARNING)


def _added(role: Resource, policy: str, extra: str, restore: str | None) -> Fault:
    """Report added grants; *restore* is None for a policy that CloudFormation does not know."""
    if restore:
        return Fault(f"permissions were added by hand: {extra}", restore, State.WARNING)
    remove = f"aws iam delete-role-policy --role-name {role.name} --policy-name {policy}"
    return Fault(f"policy {policy} was added by hand: {extra}", remove, State.WARNING)


def _attached(role: Resource, arn: str) -> Fault:
    detach = f"aws iam detach-role-policy --role-name {role.name} --policy-arn {arn}"
    return Fault(f"a policy was attached by hand: {arn}", detach, State.WARNING)


def _read(aws: Aws, role: str, owned: frozenset[str], observed: RoleObservation) -> None:
    """Read a role's inline policies, and its managed policies that are *owned* by its stack."""
    try:
        names = aws.call("iam", "ListRolePolicies", RoleName=role)["PolicyNames"]
        documents = {
            name: aws.call("iam", "GetRolePolicy", RoleName=role, PolicyName=name)["PolicyDocument"]
            for name in names
        }
        attached = aws.call("iam", "ListAttachedRolePolicies", RoleName=role)["AttachedPolicies"]
        arns = frozenset(policy["PolicyArn"] for policy in attached)
        documents |= {arn: _managed_document(aws, arn) for arn in sorted(arns & owned)}
    except AwsCallError as error:
        observed.errors.append(error)
        return
    observed.policies = {
        name: frozenset(grants([document])) for name, document in documents.items()
    }
    observed.attached = arns


def _managed_document(aws: Aws, arn: str) -> Any:
    version = aws.call("iam", "GetPolicy", PolicyArn=arn)["Policy"]["DefaultVersionId"]
    response = aws.call("iam", "GetPolicyVersion", PolicyArn=arn, VersionId=version)
    return response["PolicyVersion"]["Document"]


def _simulate(aws: Aws, arn: str, declared: Iterable[Grant], observed: RoleObservation) -> None:
    """Simulate each grant, one resource per call: IAM combines the results of several."""
    by_resource: dict[str, list[str]] = defaultdict(list)
    for grant in sorted(declared):
        if grant.can_be_simulated:
            by_resource[grant.resource].append(grant.action)
    for resource, actions in by_resource.items():
        arguments = {"PolicySourceArn": arn, "ActionNames": actions, "ResourceArns": [resource]}
        try:
            response = aws.call("iam", "SimulatePrincipalPolicy", **arguments)
        except AwsCallError as error:
            observed.errors.append(error)
            return
        for result in response["EvaluationResults"]:
            grant = Grant(result["EvalActionName"], resource)
            if result["EvalDecision"] == ALLOWED:
                observed.allowed.add(grant)
            else:
                observed.denied[grant] = _denied_by(result)


def _denied_by(result: dict[str, Any]) -> str:
    organization = result.get("OrganizationsDecisionDetail") or {}
    boundary = result.get("PermissionsBoundaryDecisionDetail") or {}
    if organization.get("AllowedByOrganizations") is False:
        return "a policy of the organization"
    if boundary.get("AllowedByPermissionsBoundary") is False:
        return "its permissions boundary"
    return str(result["EvalDecision"])


def _hint(reasons: Iterable[str], restore: str) -> str:
    """Return what to do: a deployment cannot change what limits the role from above."""
    above = sorted({reason for reason in reasons if " " in reason})
    return f"have an administrator extend {' and '.join(above)}" if above else restore


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    more = f", and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more
