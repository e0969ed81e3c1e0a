"""What roles are allowed, each action on each resource by itself, so that two can be compared."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from json import dumps
from typing import Any, Final

from adminview.cli.deployment.deployment import DeployedStack, Deployment, Resource
from adminview.cli.doctor.references import resolve

POLICY: Final = "AWS::IAM::Policy"
# ListStreams takes no resource: what is simulated of one says nothing of it.
UNSCOPED: Final = ("dynamodb:ListStreams",)


@dataclass(frozen=True, slots=True, order=True)
class Grant:
    """One action that is allowed or denied on one resource."""

    action: str
    resource: str
    effect: str = "Allow"
    condition: str = ""

    def __str__(self) -> str:
        """Read as a phrase."""
        denied = "" if self.effect == "Allow" else f"{self.effect} "
        return f"{denied}{self.action} on {self.resource}"

    @property
    def can_be_simulated(self) -> bool:
        """Tell whether IAM can say of this very grant whether it holds."""
        plain = self.effect == "Allow" and not self.condition
        return plain and "*" not in self.action and self.action not in UNSCOPED


def declared_grants(
    role: Resource, part: DeployedStack, deployment: Deployment
) -> frozenset[Grant]:
    """List what a role was deployed with."""

    def settled(value: Any) -> Any:
        if isinstance(value, Mapping):
            if any(name == "Ref" or name.startswith("Fn::") for name in value):
                return resolve(value, part, deployment)
            return {name: settled(one) for name, one in value.items()}
        return [settled(one) for one in value] if isinstance(value, list) else value

    documents = [one["PolicyDocument"] for one in _policies(role, part)]
    return frozenset(grants(documents, settled))


def declared_policies(role: Resource, part: DeployedStack) -> frozenset[str]:
    """Name the policies that a role was deployed with."""
    return frozenset(str(one.get("PolicyName")) for one in _policies(role, part))


def _policies(role: Resource, part: DeployedStack) -> list[Mapping[str, Any]]:
    """List a role's own policies, and those that stand beside it in the template."""
    beside = (one.properties for one in part.of(POLICY))
    added = (one for one in beside if {"Ref": role.id} in one.get("Roles", []))
    return [*role.properties.get("Policies", []), *added]


def grants(
    documents: Iterable[Mapping[str, Any]], settled: Callable[[Any], Any] = lambda value: value
) -> Iterator[Grant]:
    """Take policies apart; *settled* says what a value stands for."""
    for document in documents:
        for statement in several(document.get("Statement")):
            condition = statement.get("Condition")
            told = dumps(settled(condition), sort_keys=True) if condition else ""
            for action in _named(statement, "Action"):
                for resource in _named(settled(statement), "Resource"):
                    yield Grant(action, resource, statement["Effect"], told)


def several(value: Any) -> list[Any]:
    """Take one for a list of one, as policies are written."""
    return value if isinstance(value, list) else [] if value is None else [value]


def _named(statement: Mapping[str, Any], kind: str) -> list[str]:
    """List what a statement is about; what it is not about is told apart."""
    besides = [f"all but {one}" for one in several(statement.get(f"Not{kind}"))]
    return [*map(str, several(statement.get(kind))), *besides]
