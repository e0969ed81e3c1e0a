"""What each role may do, as the tables of roles.md. `python -m tests.infra.roles` writes them."""

import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.support.shop import registry
from tests.support.synthesis import MIGRATIONS, Assembly, synthesize

PAGE = Path(__file__).with_name("roles.md")
COMMAND = "python -m tests.infra.roles"
HEAD = f"""# Who may do what

Every role of the dev stage, and all that it may do; prod has the same. A stage that traces adds
X-Ray. Written from the templates by `{COMMAND}`, and compared with them by `test_roles.py`.
"""
HERE = re.compile(r"^arn:AWS::Partition:[a-z-]+:AWS::Region:AWS::AccountId:")
STREAM = re.compile(r"^(\S+)\.StreamArn$")


def page(assembly: Assembly) -> str:
    """Write a table for each role, and one of who may invoke the functions."""
    roles = sorted(assembly.named("AWS::IAM::Role"))
    return "\n".join([HEAD, *(_role(assembly, role) for role in roles), _invocations(assembly)])


def held(assembly: Assembly, role: str) -> set[tuple[str, str]]:
    """List what a role may do: each action with each thing it may be done to."""
    grants = [
        (action, resource)
        for actions, resources in assembly.allowed_to(role)
        for action in actions
        for resource in resources
    ]
    assert len(set(grants)) == len(grants), "two grants are equal"
    return set(grants)


def _role(assembly: Assembly, name: str) -> str:
    may: defaultdict[str, list[str]] = defaultdict(list)
    for action, resource in sorted(held(assembly, name)):
        may[_short(resource)].append(action)
    rows = [(f"`{resource}`", _actions(may[resource])) for resource in sorted(may)]
    trusted = assembly.named("AWS::IAM::Role")[name]["Properties"]["AssumeRolePolicyDocument"]
    takers = [_taker(assembly, statement) for statement in trusted["Statement"]]
    title = f"## {name.removesuffix('Role')}\n\nTaken by {', '.join(takers)}.\n"
    return "\n".join([title, *table(("to", "it may"), rows)])


def _taker(assembly: Assembly, statement: dict[str, Any]) -> str:
    assert (statement["Action"], statement["Effect"]) == ("sts:AssumeRole", "Allow")
    (service,) = statement["Principal"].values()
    conditions = [
        f"`{key}` is `{_short(assembly.name(value))}`"
        for condition in statement.get("Condition", {}).values()
        for key, value in condition.items()
    ]
    return f"`{service}`" + (f" if {' and '.join(conditions)}" if conditions else "")


def _invocations(assembly: Assembly) -> str:
    permissions = [
        permission["Properties"] for permission in assembly.resources("AWS::Lambda::Permission")
    ]
    rows = [
        (
            f"`{_short(assembly.name(permission['FunctionName']))}`",
            f"{permission['Principal']} for `{_short(assembly.name(permission['SourceArn']))}`",
        )
        for permission in permissions
    ]
    title = "## Functions that others invoke\n"
    return "\n".join([title, *table(("function", "is invoked by"), sorted(rows))])


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Write a table, line by line."""
    for cells in (head, ["---"] * len(head), *rows):
        yield f"| {' | '.join(cells)} |"
    yield ""


def _actions(actions: list[str]) -> str:
    """Name the service once: ``dynamodb: GetItem, Scan``."""
    services: defaultdict[str, list[str]] = defaultdict(list)
    for action in actions:
        service, _, verb = action.partition(":")
        services[service].append(verb)
    return "; ".join(f"{service}: {', '.join(verbs)}" for service, verbs in services.items())


def _short(resource: str) -> str:
    """Leave out of an ARN what is the same in all."""
    here = HERE.sub("", resource).replace(".Arn", "").replace("[6]", "")
    return STREAM.sub(r"stream of \1", here)


def write(path: Path, text: Callable[[Assembly], str]) -> None:
    """Write a page again, from the templates of dev."""
    with TemporaryDirectory() as directory:
        path.write_text(text(synthesize(registry(), Path(directory), MIGRATIONS)))
    sys.stdout.write(f"{path.name} is written\n")


if __name__ == "__main__":
    write(PAGE, page)
