"""Whether each role can do what its function was deployed to do, and nothing else.

Two looks, for each sees what the other cannot. IAM's own simulation tells whether the role is able,
with permissions boundaries and the organization's policies. The text of its policies tells whether
somebody has given it more.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from adminview.cli.deployment.aws_calls import Aws, UnansweredError
from adminview.cli.deployment.deployment import DeployedStack, Deployment, Resource
from adminview.cli.doctor.finding import Check, Fault, State, Verdict
from adminview.cli.doctor.grants import Grant, declared_grants, declared_policies, grants, several
from adminview.cli.doctor.references import resolve

ROLE: Final = "AWS::IAM::Role"
LISTED: Final = 5
ALLOWED: Final = "allowed"


@dataclass(slots=True)
class RoleObservation:
    """What IAM told of a role."""

    policies: dict[str, frozenset[Grant]] | None = None  # by name; None if they cannot be read
    attached: frozenset[str] = frozenset()
    allowed: set[Grant] = field(default_factory=set)
    denied: dict[Grant, str] = field(default_factory=dict)  # and by what
    untold: list[UnansweredError] = field(default_factory=list)

    @property
    def written(self) -> frozenset[Grant]:
        """List what all of its policies say."""
        return frozenset[Grant]().union(*(self.policies or {}).values())


def checks(aws: Aws, deployment: Deployment) -> Iterator[Check]:
    """List what is to be looked at."""
    for part, one in deployment.of(ROLE):
        yield Check(f"role {one.label}", partial(fetch_role, aws, deployment, part, one))


def fetch_role(aws: Aws, deployment: Deployment, part: DeployedStack, role: Resource) -> Verdict:
    """Read a role's policies, have each of its grants simulated, and judge what is told."""
    restore = deployment.restore(part)
    declared = declared_grants(role, part, deployment)
    managed = {
        resolve(one, part, deployment) for one in several(role.properties.get("ManagedPolicyArns"))
    }
    found, seen = aws.find("iam", "GetRole", RoleName=role.name), RoleObservation()
    if found is None:
        return [Fault("it is gone", restore)], ""
    _read(aws, role.name, seen)
    _simulate(aws, found["Role"]["Arn"], declared, seen)
    if seen.policies is None and not seen.allowed and not seen.denied:
        raise seen.untold[0]
    faults = [*evaluate_role(declared, frozenset(managed), seen, restore)]
    for name, given in (seen.policies or {}).items():
        if more := _listed(map(str, sorted(given - declared))):
            faults.append(_added(role, name, more, part, restore))
    faults += [_attached(role, arn) for arn in sorted(seen.attached - managed)]
    return faults, f"able to do all {len(declared)} things it must, and no more"


def evaluate_role(
    declared: frozenset[Grant], managed: frozenset[str], seen: RoleObservation, restore: str
) -> Iterator[Fault]:
    """Find what a role lacks."""
    if seen.denied:
        told = [f"{one} ({why})" for one, why in sorted(seen.denied.items())]
        yield Fault(f"it may not {_listed(told)}", _hint(seen.denied.values(), restore))
    if seen.policies is not None:
        lacking = declared - seen.written - seen.denied.keys()
        if unsure := lacking - seen.allowed:
            yield Fault(f"it lacks {_listed(map(str, sorted(unsure)))}", restore)
        if otherwise := lacking & seen.allowed:
            words = f"it was given in other words: {_listed(map(str, sorted(otherwise)))}"
            yield Fault(words, restore, State.WARNING)
        if lost := managed - seen.attached:
            yield Fault(f"it lost {_listed(sorted(lost))}", restore)
    for error in seen.untold:
        yield Fault(f"in part it was not looked at: {error}", error.do, State.WARNING)


def _added(role: Resource, policy: str, more: str, part: DeployedStack, restore: str) -> Fault:
    """Say what takes back a grant: a policy beside the template is no drift to CloudFormation."""
    if policy in declared_policies(role, part):
        return Fault(f"more was given to it by hand: {more}", restore, State.WARNING)
    remove = f"aws iam delete-role-policy --role-name {role.name} --policy-name {policy}"
    return Fault(f"policy {policy} was added by hand: {more}", remove, State.WARNING)


def _attached(role: Resource, arn: str) -> Fault:
    detach = f"aws iam detach-role-policy --role-name {role.name} --policy-arn {arn}"
    return Fault(f"a policy was attached by hand: {arn}", detach, State.WARNING)


def _read(aws: Aws, role: str, seen: RoleObservation) -> None:
    try:
        names = aws.ask("iam", "ListRolePolicies", RoleName=role)["PolicyNames"]
        documents = {
            name: aws.ask("iam", "GetRolePolicy", RoleName=role, PolicyName=name)["PolicyDocument"]
            for name in names
        }
        attached = aws.ask("iam", "ListAttachedRolePolicies", RoleName=role)["AttachedPolicies"]
    except UnansweredError as error:
        seen.untold.append(error)
        return
    seen.policies = {name: frozenset(grants([one])) for name, one in documents.items()}
    seen.attached = frozenset(one["PolicyArn"] for one in attached)


def _simulate(aws: Aws, arn: str, declared: Iterable[Grant], seen: RoleObservation) -> None:
    """Have IAM say of each grant whether it holds, a resource at a time.

    With several at once, it would answer for all of them together.
    """
    by_resource: dict[str, list[str]] = defaultdict(list)
    for grant in sorted(declared):
        if grant.can_be_simulated:
            by_resource[grant.resource].append(grant.action)
    for resource, actions in by_resource.items():
        arguments = {"PolicySourceArn": arn, "ActionNames": actions, "ResourceArns": [resource]}
        try:
            answer = aws.ask("iam", "SimulatePrincipalPolicy", **arguments)
        except UnansweredError as error:
            seen.untold.append(error)
            return
        for one in answer["EvaluationResults"]:
            grant = Grant(one["EvalActionName"], resource)
            if one["EvalDecision"] == ALLOWED:
                seen.allowed.add(grant)
            else:
                seen.denied[grant] = _by(one)


def _by(result: dict[str, Any]) -> str:
    """Say what stands in the way."""
    organization = result.get("OrganizationsDecisionDetail") or {}
    boundary = result.get("PermissionsBoundaryDecisionDetail") or {}
    if organization.get("AllowedByOrganizations") is False:
        return "a policy of the organization"
    if boundary.get("AllowedByPermissionsBoundary") is False:
        return "its permissions boundary"
    return str(result["EvalDecision"])


def _hint(reasons: Iterable[str], restore: str) -> str:
    """Say who can help: a deployment cannot widen what stands above the role."""
    above = sorted({one for one in reasons if " " in one})
    return f"let whoever is in charge widen {' and '.join(above)}" if above else restore


def _listed(words: Iterable[str]) -> str:
    told = list(words)
    more = f", and {len(told) - LISTED} more" if len(told) > LISTED else ""
    return ", ".join(told[:LISTED]) + more
