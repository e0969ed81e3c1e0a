"""Synthesize the stacks, and read their templates."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aws_cdk as cdk

from infra.app import build
from infra.bundle import ROOT
from lambdas.model import Registry

CONTEXT = json.loads((ROOT / "cdk.json").read_text())["context"]

Resource = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Assembly:
    """The templates of one deployment, by the last word of their stack's name."""

    templates: dict[str, dict[str, Any]]
    manifest: dict[str, Any]

    @classmethod
    def read(cls, directory: Path) -> "Assembly":
        """Read what was synthesized into *directory*."""
        return cls(
            {
                path.name.removesuffix(".template.json"): json.loads(path.read_text())
                for path in sorted(directory.glob("*.template.json"))
            },
            json.loads((directory / "manifest.json").read_text()),
        )

    def stack(self, part: str) -> dict[str, Any]:
        """Find the template of one stack."""
        (template,) = [one for name, one in self.templates.items() if name.endswith(f"-{part}")]
        return template

    def resources(self, type_: str) -> list[Resource]:
        """List the resources of one type, in all stacks."""
        return [
            resource
            for template in self.templates.values()
            for resource in template["Resources"].values()
            if resource["Type"] == type_
        ]

    def tables(self) -> dict[str, Resource]:
        """Give the tables by their names."""
        found = self.resources("AWS::DynamoDB::GlobalTable")
        assert not self.resources("AWS::DynamoDB::Table")
        return {table["Properties"]["TableName"]: table for table in found}

    def mappings(self) -> dict[str, Resource]:
        """Give the properties of the event source mappings by the streams they follow."""
        found = [one["Properties"] for one in self.resources("AWS::Lambda::EventSourceMapping")]
        return {self.name(one["EventSourceArn"]): one for one in found}

    def statements(self) -> Iterator[tuple[list[str], list[str]]]:
        """List everything that any role of any stack may do, and to what."""
        roles = [role["Properties"] for role in self.resources("AWS::IAM::Role")]
        assert not [role for role in roles if role.get("ManagedPolicyArns")]
        assert not self.resources("AWS::IAM::ManagedPolicy")
        policies = [policy for role in roles for policy in role["Policies"]]
        policies += [policy["Properties"] for policy in self.resources("AWS::IAM::Policy")]
        for policy in policies:
            for statement in policy["PolicyDocument"]["Statement"]:
                assert statement.keys() == {"Action", "Effect", "Resource"}
                assert statement["Effect"] == "Allow"
                resources = [self.name(one) for one in _several(statement["Resource"])]
                yield sorted(_several(statement["Action"])), sorted(resources)

    def name(self, value: Any) -> str:
        """Read a reference as ``Orders.StreamArn``, whichever stack it leads to."""
        match value:
            case str():
                return value
            case {"Fn::ImportValue": export}:
                (value,) = [
                    output["Value"]
                    for template in self.templates.values()
                    for output in template.get("Outputs", {}).values()
                    if output.get("Export", {}).get("Name") == export
                ]
                return self.name(value)
            case {"Fn::GetAtt": [id_, attribute]}:
                return f"{self._label(id_)}.{attribute}"
            case {"Ref": id_}:
                return self._label(id_)
        msg = f"not a reference: {value}"
        raise AssertionError(msg)

    def _label(self, id_: str) -> str:
        (resource,) = [
            template["Resources"][id_]
            for template in self.templates.values()
            if id_ in template["Resources"]
        ]
        return str(resource["Properties"].get("TableName", resource["Type"]))


def synthesize(registry: Registry, directory: Path, **context: object) -> Assembly:
    """Synthesize the stacks of *registry* with cdk.json's context, changed as given."""
    app = cdk.App(outdir=str(directory), context={**CONTEXT, **context}, analytics_reporting=False)
    build(app, registry)
    app.synth()
    return Assembly.read(directory)


def _several(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
