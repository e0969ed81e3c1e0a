"""Synthesize the stacks, and read their templates."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import aws_cdk as cdk

from adminview.aws.manifest import NAME, Manifest
from adminview.cdk import DeploymentOptions
from adminview.cdk.bundle import build_bundle
from adminview.model import Migration, Registry
from adminview.views import registry as shop
from infra.app import build
from infra.stages import STAGES
from lambdas.migrations.orders_delivery_date import delivery_date

MIGRATIONS = [delivery_date]  # of orders
ROOT = Path(__file__).parents[2]
CONTEXT = json.loads((ROOT / "cdk.json").read_text())["context"]

HASH = re.compile(r"[0-9A-F]{8}$")  # that CDK puts behind the names of constructs
BY_NAME = re.compile("arn:AWS::Partition:dynamodb:AWS::Region:AWS::AccountId:table/([^/]+)")
PUBLISHED = "PublishOutput"  # so begin the outputs that another stack reads without an export

Resource = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Assembly:
    """The templates of one deployment, by the last word of their stack's name."""

    templates: dict[str, dict[str, Any]]
    manifest: dict[str, Any]
    directory: Path

    @classmethod
    def read(cls, directory: Path) -> "Assembly":
        """Read what was synthesized into *directory*."""
        return cls(
            {
                path.name.removesuffix(".template.json"): json.loads(path.read_text())
                for path in sorted(directory.glob("*.template.json"))
            },
            json.loads((directory / "manifest.json").read_text()),
            directory,
        )

    def stack(self, part: str) -> dict[str, Any]:
        """Find the template of one stack."""
        (template,) = [
            template for name, template in self.templates.items() if name.endswith(f"-{part}")
        ]
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
        tables = self.resources("AWS::DynamoDB::GlobalTable")
        assert not self.resources("AWS::DynamoDB::Table")
        return {table["Properties"]["TableName"]: table for table in tables}

    def mappings(self) -> dict[str, Resource]:
        """Give the properties of the event source mappings by the streams they follow."""
        properties = [
            resource["Properties"] for resource in self.resources("AWS::Lambda::EventSourceMapping")
        ]
        return {self.name(mapping["EventSourceArn"]): mapping for mapping in properties}

    def named(self, type_: str) -> dict[str, Resource]:
        """Give the resources of one type by the names that the stacks give them."""
        resources = [
            (self._label(id_), resource)
            for template in self.templates.values()
            for id_, resource in template["Resources"].items()
            if resource["Type"] == type_
        ]
        assert len(dict(resources)) == len(resources), "a name is given twice"
        return dict(resources)

    def function(self, name: str) -> dict[str, Any]:
        """Give the properties of one function."""
        return dict(self.named("AWS::Lambda::Function")[f"{name}Function"]["Properties"])

    def metadata(self, part: str) -> dict[str, str]:
        """Give what the resources of one stack say of the model."""
        metadata = [
            resource.get("Metadata", {}) for resource in self.stack(part)["Resources"].values()
        ]
        return {
            key: value
            for entry in metadata
            for key, value in entry.items()
            if key.startswith("AdminView")
        }

    def manifest_of(self, function: str) -> Manifest:
        """Read the manifest in the bundle of one function."""
        asset = self.function(function)["Code"]["S3Key"].removesuffix(".zip")
        manifest = Manifest.read(self.directory / f"asset.{asset}")
        assert manifest
        return manifest

    def machine(self, name: str) -> dict[str, Any]:
        """Give the properties of one state machine."""
        machines = self.named("AWS::StepFunctions::StateMachine")
        return dict(machines[f"{name}SegmentsMachine"]["Properties"])

    def statements(self, function: str) -> Iterator[tuple[list[str], list[str]]]:
        """List everything that a function may do, and to what."""
        return self.allowed_to(self.name(self.function(function)["Role"]))

    def allowed_to(self, role_arn: str) -> Iterator[tuple[list[str], list[str]]]:
        """List everything that whoever takes a role may do, and to what."""
        role = role_arn.removesuffix(".Arn")
        held = self.named("AWS::IAM::Role")[role]["Properties"]
        assert "ManagedPolicyArns" not in held
        assert not self.resources("AWS::IAM::ManagedPolicy")
        added = [policy["Properties"] for policy in self.resources("AWS::IAM::Policy")]
        added = [policy for policy in added if role in map(self.name, policy["Roles"])]
        for policy in [*held.get("Policies", []), *added]:
            for statement in policy["PolicyDocument"]["Statement"]:
                assert statement.keys() - {"Condition"} == {"Action", "Effect", "Resource"}
                assert statement["Effect"] == "Allow"
                items = _items(statement["Condition"]) if "Condition" in statement else ""
                resources = [
                    self.name(resource) + items for resource in _several(statement["Resource"])
                ]
                yield sorted(_several(statement["Action"])), sorted(resources)

    def outputs(self) -> dict[str, str]:
        """Return the outputs for users, without the exports that other stacks import."""
        return {
            name: self.name(output["Value"])
            for template in self.templates.values()
            for name, output in template.get("Outputs", {}).items()
            if "Export" not in output and not name.startswith(PUBLISHED)
        }

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
            case {"Fn::Join": ["", parts]}:
                return BY_NAME.sub(r"\1.Arn", "".join(map(self.name, parts)))
        return self._rare_name(value)

    def _rare_name(self, value: Any) -> str:
        match value:
            case {"Fn::GetStackOutput": {"StackName": stack, "OutputName": output}}:
                return self.name(self.templates[stack]["Outputs"][output]["Value"])
            case {"Fn::Select": [position, {"Fn::Split": [",", whole]}]}:
                return self.name(whole).split(",")[int(position)]
            case {"Fn::Select": [position, {"Fn::Split": [":" | "/stream/", whole]}]}:
                return f"{self.name(whole)}[{position}]"
        msg = f"not a reference: {value}"
        raise AssertionError(msg)

    def _label(self, id_: str) -> str:
        if id_.startswith("AWS::"):  # the account, the region
            return id_
        (resource,) = [
            template["Resources"][id_]
            for template in self.templates.values()
            if id_ in template["Resources"]
        ]
        return str(resource["Properties"].get("TableName", HASH.sub("", id_)))


def synthesize(
    registry: Registry, directory: Path, migrations: Iterable[Migration] = (), **context: object
) -> Assembly:
    """Synthesize the stacks of *registry* with cdk.json's options, changed as given."""
    app = cdk.App(
        outdir=str(directory),
        context=context_with(context),
        analytics_reporting=False,
        builtin_cloud_formation_validation=False,  # as in app.py; `make check` does it
    )
    build(app, read_options(app, registry, migrations))
    app.synth()
    return Assembly.read(directory)


def context_with(options: Mapping[str, object]) -> dict[str, Any]:
    """Return cdk.json's context with some of our options changed."""
    return {**CONTEXT, "adminview": {**CONTEXT["adminview"], **options}}


def read_options(
    app: cdk.App, registry: Registry, migrations: Iterable[Migration] = ()
) -> DeploymentOptions:
    """Read the options as app.py does; only the shop's bundle is built, for it takes seconds."""
    options = DeploymentOptions.read(
        app.node.get_all_context(),
        registry,
        stages=STAGES,
        migrations=tuple(migrations),
        handlers="lambdas",
    )
    is_shop = registry.fingerprint == shop().fingerprint
    return replace(options, bundler=build_bundle if is_shop else _stub)


def _stub(_: Registry, manifest: Manifest, **__: object) -> Path:
    """Build a bundle of a manifest alone."""
    content = manifest.to_json()
    folder = ROOT / "build" / "stub" / sha256(content).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / NAME).write_bytes(content)
    return folder


def stream(table: str) -> str:
    """Name the stream of a table that exists already."""
    return f"arn:aws:dynamodb:eu-west-1:111122223333:table/{table}/stream/2025-03-01T00:00:00.000"


def imported(table: str) -> dict[str, str]:
    """Describe a table that exists already, as the context does."""
    return {
        "tableName": table,
        "streamArn": stream(table),
        "streamViewType": "NEW_AND_OLD_IMAGES",
    }


def _items(condition: dict[str, Any]) -> str:
    """Name the items of a table that a statement is about, the only condition that one has."""
    keys = condition.get("ForAllValues:StringEquals", {}).get("dynamodb:LeadingKeys")
    assert keys
    assert condition == {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": keys}}
    return f", items {', '.join(keys)}"


def _several(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
