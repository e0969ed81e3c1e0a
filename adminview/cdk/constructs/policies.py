"""Permissions that grow with the model, split into policies of the sizes that IAM accepts."""

import re
from collections.abc import Iterable, Iterator, Sequence
from json import dumps

from aws_cdk import aws_iam as iam
from constructs import Construct

# Characters without spaces, with a reserve for what the CDK and the account's id add.
INLINE_LIMIT = 10_240 - 240  # all inline policies of a role together
MANAGED_LIMIT = 6_144 - 144
# Estimated lengths of what only the deployment knows: the region or the account, the ARN of a
# stream, and the UUID of an event source mapping.
ESTIMATES = (
    (re.compile(r"\$\{Token\[AWS\.[^]]*\]\}"), "x" * 16),
    (re.compile(r'"\$\{Token\[[^]]*\]\}"'), f'"{"x" * 130}"'),
    (re.compile(r"\$\{Token\[[^]]*\]\}"), "x" * 36),
)


def split_statements(
    statements: Iterable[iam.PolicyStatement],
) -> tuple[list[iam.PolicyStatement], list[list[iam.PolicyStatement]]]:
    """Return the statements of the inline policy, and those of each managed policy."""
    inline: list[iam.PolicyStatement] = []
    managed: list[list[iam.PolicyStatement]] = []
    left = INLINE_LIMIT
    for statement in statements:
        for piece in _pieces(statement):
            size = _size(piece)
            if not managed and size <= left:
                inline.append(piece)
            elif managed and size <= left:
                managed[-1].append(piece)
            else:
                managed.append([piece])
                left = MANAGED_LIMIT
            left -= size
    return inline, managed


def managed_policies(
    scope: Construct, parts: Sequence[Sequence[iam.PolicyStatement]]
) -> list[iam.IManagedPolicy]:
    """Create a managed policy for each part."""
    return [
        iam.ManagedPolicy(scope, f"Policy{number}", statements=[*part])
        for number, part in enumerate(parts, 1)
    ]


def _pieces(statement: iam.PolicyStatement) -> Iterator[iam.PolicyStatement]:
    """Split a statement by its resources if it exceeds half of a managed policy."""
    room = MANAGED_LIMIT // 2
    if _size(statement) <= room:
        yield statement
        return
    actions, resources = statement.actions, [*statement.resources]
    while resources:
        count = 1
        while count < len(resources) and _size(_allow(actions, resources[: count + 1])) <= room:
            count += 1
        yield _allow(actions, resources[:count])
        resources = resources[count:]


def _allow(actions: Sequence[str], resources: Sequence[str]) -> iam.PolicyStatement:
    return iam.PolicyStatement(actions=[*actions], resources=[*resources])


def _size(statement: iam.PolicyStatement) -> int:
    content = {"Effect": "Allow", "Action": statement.actions, "Resource": statement.resources}
    text = dumps(content, separators=(",", ":"))
    for token, estimate in ESTIMATES:
        text = token.sub(estimate, text)
    return len(text)
