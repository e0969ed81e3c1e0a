"""The permissions of roles, split into one action on one resource, to compare them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from json import dumps
from typing import Any, Final

from adminview.cli.deployment.deployment import DeployedStack, Deployment, Resource
from adminview.cli.doctor.references import resolve

POLICY: Final = "AWS::IAM::Policy"
MANAGED_POLICY: Final = "AWS::IAM::ManagedPolicy"
# ListStreams takes no resource, so a simulation with one is meaningless.
UNSCOPED: Final = ("dynamodb:ListStreams",)


@dataclass(frozen=True, slots=True, order=True)
class Grant:
    """One action that is allowed or denied on one resource."""

    action: str
    resource: str
    effect: str = "Allow"
    condition: str = ""

    def __str__(self) -> str:
        denied = "" if self.effect == "Allow" else f"{self.effect} "
        return f"{denied}{self.action} on {self.resource}"

    @property
    def can_be_simulated(self) -> bool:
        """Whether IAM can simulate exactly this grant."""
        plain = self.effect == "Allow" and not self.condition
        return plain and "*" not in self.action and self.action not in UNSCOPED


def declared_grants(
    role: Resource, part: DeployedStack, deployment: Deployment
) -> frozenset[Grant]:
    """Return the grants of a role in its template."""

    def resolved(value: Any) -> Any:
        if isinstance(value, Mapping):
            if any(name == "Ref" or name.startswith("Fn::") for name in value):
                return resolve(value, part, deployment)
            return {name: resolved(element) for name, element in value.items()}
        return [resolved(element) for element in value] if isinstance(value, list) else value

    documents = [policy["PolicyDocument"] for policy in _policies(role, part)]
    return frozenset(grants(documents, resolved))


def declared_policies(role: Resource, part: DeployedStack) -> frozenset[str]:
    """Return the names of a role's policies in its template."""
    return frozenset(str(policy.get("PolicyName")) for policy in _policies(role, part))


def managed_policies(role: Resource, part: DeployedStack) -> list[Resource]:
    """Return the managed policies of a role that its own stack creates; their names are ARNs."""
    arns = as_list(role.properties.get("ManagedPolicyArns"))
    return [policy for policy in part.of(MANAGED_POLICY) if {"Ref": policy.id} in arns]


def _policies(role: Resource, part: DeployedStack) -> list[Mapping[str, Any]]:
    """Return a role's inline policies, and the policy resources of its stack."""
    resources = (policy.properties for policy in part.of(POLICY))
    attached = (policy for policy in resources if {"Ref": role.id} in policy.get("Roles", []))
    managed = (policy.properties for policy in managed_policies(role, part))
    return [*role.properties.get("Policies", []), *attached, *managed]


def grants(
    documents: Iterable[Mapping[str, Any]], resolved: Callable[[Any], Any] = lambda value: value
) -> Iterator[Grant]:
    """Split policies into grants; *resolved* replaces references of a template."""
    for document in documents:
        for statement in as_list(document.get("Statement")):
            condition = statement.get("Condition")
            text = dumps(resolved(condition), sort_keys=True) if condition else ""
            for action in _named(statement, "Action"):
                for resource in _named(resolved(statement), "Resource"):
                    yield Grant(action, resource, statement["Effect"], text)


def as_list(value: Any) -> list[Any]:
    """Return a list; policies may hold one value instead of a list of one."""
    return value if isinstance(value, list) else [] if value is None else [value]


def _named(statement: Mapping[str, Any], kind: str) -> list[str]:
    """Return the actions or resources of a statement; those of `Not...` as "all but"."""
    excluded = [f"all but {name}" for name in as_list(statement.get(f"Not{kind}"))]
    return [*map(str, as_list(statement.get(kind))), *excluded]
