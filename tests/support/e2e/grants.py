"""What a deployed role may do, and what is left when one thing of it is taken away."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

Document = dict[str, Any]
Documents = Mapping[str, Document]  # by the names of the policies

NOTHING: Document = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Deny", "Action": "*", "Resource": "*"}],
}
ANY = "*"
# AWS lets the right to one call stand for others, or looks at a resource, where this cloud requires
# something else: so whoever has the first is given the second beside it. Without the first there is
# no second. AWS authorizes a batch of messages as it does one message.
IN_THIS_CLOUDS_WORDS: Mapping[str, tuple[str, str | None]] = {
    "sqs:ChangeMessageVisibility": ("sqs:ChangeMessageVisibilityBatch", None),
    "sqs:DeleteMessage": ("sqs:DeleteMessageBatch", None),
    "sqs:SendMessage": ("sqs:SendMessageBatch", None),
    "lambda:GetEventSourceMapping": ("lambda:ListEventSourceMappings", None),
    **{
        action: (action, ANY)  # it does not look which stream is meant
        for action in (
            "dynamodb:DescribeStream",
            "dynamodb:GetRecords",
            "dynamodb:GetShardIterator",
            "dynamodb:ListStreams",
        )
    },
}
# What can be taken away unnoticed, and why. A test sees that each of these is granted somewhere,
# and that it is indeed not noticed.
UNSHOWN: Mapping[str, str] = {
    "logs:CreateLogStream": "this cloud writes the functions' logs itself",
    "logs:PutLogEvents": "this cloud writes the functions' logs itself",
    "dynamodb:ListStreams": "Lambda requires it to subscribe to a stream, and this cloud does not",
    "arn:*/stream/*": "this cloud does not look which stream is meant",
}


@dataclass(frozen=True)
class Loss:
    """One action or one resource that is taken out of a statement."""

    statement: str
    what: str
    left: Documents

    @property
    def unshown(self) -> bool:
        """Tell whether nobody here would notice it."""
        return _is_unshown(self.what)

    def is_like(self, pattern: str) -> bool:
        """Tell whether it is one of those that a pattern stands for."""
        return fnmatchcase(self.what, pattern)


def losses(documents: Documents) -> Iterator[Loss]:
    """Take each action away, and each resource of a statement that has several.

    To take a whole statement away is to take its actions away, and needs no look of its own.
    """
    for part in _parts(documents):
        yield Loss(f"{part.policy} {part.statement + 1}", part.value, _without(documents, [part]))


def without_unshown(documents: Documents) -> Documents:
    """Take everything away at once that nobody here would notice; but not the last resource."""
    unshown = [part for part in _parts(documents) if _is_unshown(part.value)]
    last = {(part.policy, part.statement): part for part in unshown if part.kind == "Resource"}
    return _without(documents, [part for part in unshown if part not in last.values()])


@dataclass(frozen=True)
class _Part:
    policy: str
    statement: int
    kind: str
    value: str


def _parts(documents: Documents) -> Iterator[_Part]:
    for policy, document in documents.items():
        for place, statement in enumerate(document["Statement"]):
            for action in _list(statement["Action"]):
                yield _Part(policy, place, "Action", action)
            if len(resources := _list(statement["Resource"])) > 1:
                yield from (_Part(policy, place, "Resource", resource) for resource in resources)


def _without(documents: Documents, taken: Iterable[_Part]) -> Documents:
    """Take parts of statements away, and statements of which no action is left."""
    left = deepcopy(dict(documents))
    for part in taken:
        statement = left[part.policy]["Statement"][part.statement]
        statement[part.kind] = [
            value for value in _list(statement[part.kind]) if value != part.value
        ]
    for document in left.values():
        document["Statement"] = [
            statement for statement in document["Statement"] if statement["Action"]
        ]
    return left


def _is_unshown(value: str) -> bool:
    return any(fnmatchcase(value, pattern) for pattern in UNSHOWN)


class Role:
    """A role as it was deployed, and as it is for now."""

    def __init__(self, iam: Any, name: str) -> None:
        self._iam = iam
        self.name = name
        attached = iam.list_attached_role_policies(RoleName=name)["AttachedPolicies"]
        assert attached == [], f"{name} has rights that are not its own: {attached}"
        self.deployed: Documents = {
            policy: iam.get_role_policy(RoleName=name, PolicyName=policy)["PolicyDocument"]
            for policy in iam.list_role_policies(RoleName=name)["PolicyNames"]
        }

    def let(self, documents: Documents) -> None:
        """Let the role do what *documents* say, in the words of this cloud."""
        for policy in self.deployed:
            document = documents.get(policy, NOTHING)
            self._iam.put_role_policy(
                RoleName=self.name,
                PolicyName=policy,
                PolicyDocument=json.dumps(in_this_clouds_words(document)),
            )

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Let the role do what it was deployed for, and then nothing again."""
        self.let(self.deployed)
        try:
            yield
        finally:
            self.let({})


def in_this_clouds_words(document: Document) -> Document:
    """Say a policy so that this cloud understands it as AWS does."""
    statements = [*document["Statement"]]
    for statement in document["Statement"]:
        for action in _list(statement["Action"]):
            if action in IN_THIS_CLOUDS_WORDS:
                other, resource = IN_THIS_CLOUDS_WORDS[action]
                statements.append(
                    {**statement, "Action": other, "Resource": resource or statement["Resource"]}
                )
    return {**document, "Statement": statements or NOTHING["Statement"]}


def _list(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value
