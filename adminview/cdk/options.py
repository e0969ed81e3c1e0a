"""What a deployment is told by the CDK context: cdk.json, or `-c key=value`."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from aws_cdk import aws_kms as kms
from constructs import Construct

from adminview.aws.settings import deployment_name, stack_name
from adminview.bulk.lease_table import progress_table
from adminview.cdk.alarm_contact import AlarmContact
from adminview.cdk.api_access import ApiAccess
from adminview.cdk.budgets import within_budgets
from adminview.cdk.customer_key import CustomerKey
from adminview.cdk.entry import given_or, is_nothing, read_object
from adminview.cdk.imported_table import ImportedTable
from adminview.cdk.lambda_code import LambdaCode, bundled_code
from adminview.cdk.network import Network
from adminview.cdk.rollout_phase import Wave
from adminview.cdk.tags import read_tags
from adminview.cdk.unknown_keys import check_keys
from adminview.model import Registry, Source
from adminview.model.errors import SettingsError
from adminview.model.row import VIEW_TABLE
from adminview.model.source import TABLE_NAME
from infra.stages import Stage, stage_named

KEYS: Final = (
    "stage",
    "prefix",
    "sources",
    "api",
    "alarms",
    "budgets",
    "customerKeyArn",
    "tags",
    "tracing",
    "vpc",
    "wave",
)
STACK_NAME_LIMIT: Final = 128  # characters, set by CloudFormation
SOURCES_EXAMPLE: Final = (
    '{"Orders": {"tableName": "…", "streamArn": "…", "streamViewType": "NEW_AND_OLD_IMAGES"}}'
)
# Tables and stacks both carry it, and a stack's name takes no more than this.
PREFIX: Final = re.compile(r"([A-Za-z][A-Za-z0-9-]*)?")


@dataclass(frozen=True, slots=True)
class Deployment:
    """All that two deployments of the same view files may differ in."""

    stage: Stage  # with the budgets and the tracing that were asked for
    prefix: str  # what names begin with
    imported: Mapping[str, ImportedTable]  # sources that exist already
    api: ApiAccess
    alarms: AlarmContact
    wave: Wave
    customer_key: CustomerKey | None = None  # None: AWS-managed ones
    network: Network | None = None  # None: functions run in no VPC of ours
    tags: Mapping[str, str] = field(default_factory=dict)
    code: LambdaCode = field(default_factory=bundled_code)

    @property
    def view_table(self) -> str:
        """Name the read model's table."""
        return f"{self.prefix}{VIEW_TABLE}"

    @property
    def name(self) -> str:
        """Name this deployment, apart from all others of its account and region."""
        return deployment_name(self.prefix, self.stage.name)

    def stack(self, part: str) -> str:
        """Name one stack of this deployment."""
        return stack_name(self.prefix, self.stage.name, part)

    def table_of(self, source: Source) -> str:
        """Name the table behind a source: the one imported for it, or our own."""
        found = self.imported.get(source.name)
        return found.table_name if found else f"{self.prefix}{source.name}"

    def key_in(self, scope: Construct) -> kms.IKey | None:
        """Let the stack of *scope* know the customer's key; None if AWS manages the keys."""
        return self.customer_key.imported(scope) if self.customer_key else None

    @classmethod
    def read(cls, context: Mapping[str, Any], registry: Registry) -> "Deployment":
        """Read the context, or say what is wrong in it and what would be right."""
        check_keys(context, KEYS, registry)
        stage = _traced(stage_named(given_or(context.get("stage"), "dev")), context.get("tracing"))
        entries = _sources(context.get("sources"), registry)
        deployment = cls(
            within_budgets(stage, context.get("budgets"), registry),
            _prefix(given_or(context.get("prefix"), "")),
            {name: ImportedTable.read(name, given) for name, given in entries.items()},
            ApiAccess.read(context.get("api")),
            AlarmContact.read(context.get("alarms")),
            Wave.read(context.get("wave"), registry),
            customer_key=CustomerKey.read(context.get("customerKeyArn")),
            network=Network.read(context.get("vpc")),
            tags=read_tags(context.get("tags"), stage),
        )
        for problem in deployment._problems(registry):
            raise SettingsError(problem)
        return deployment

    def _problems(self, registry: Registry) -> Iterator[str]:
        """Find tables that cannot be told apart: records are routed by the table's name."""
        taken = {
            self.view_table: "the view itself",
            progress_table(self.view_table): "the progress of bulk work",
        }
        for source in registry.sources:
            table = self.table_of(source)
            if table in taken:
                yield (
                    f"context sources: table {table!r} stands behind {taken[table]} and behind "
                    f"source {source.name!r}; a table has one source, and our own have none"
                )
            taken[table] = f"source {source.name!r}"
        yield from self._strangers()
        if len(longest := self.stack("Recovery")) > STACK_NAME_LIMIT:
            yield f"context prefix: {longest!r} is too long for a stack's name"
        for table in taken:
            if not TABLE_NAME.fullmatch(table):
                yield f"context prefix: {table!r} is too long; a table's name has 255 characters"

    def _strangers(self) -> Iterator[str]:
        """Find ARNs that cannot be of one deployment, which is in one account and region."""
        named = {f"sources.{name}": one.stream_arn for name, one in self.imported.items()}
        if self.customer_key:
            named["customerKeyArn"] = self.customer_key.arn
        places = {key: [arn.split(":")[1], *arn.split(":")[3:5]] for key, arn in named.items()}
        for key, place in places.items():
            first = next(iter(places))
            if place != places[first]:
                yield (
                    f"context {key}: {':'.join(place)} is another account or region than "
                    f"{':'.join(places[first])} of {first}; a deployment is in one"
                )


def _sources(given: object, registry: Registry) -> Mapping[str, object]:
    """Read the table of imported sources, each of which must be declared."""
    entries = read_object("sources", given, example=SOURCES_EXAMPLE)
    declared = sorted(source.name for source in registry.sources)
    for name in entries:
        if name not in declared:
            msg = (
                f"context sources: no view file declares a source {name!r}; "
                f"declared are {', '.join(declared)}"
            )
            raise SettingsError(msg)
    return entries


def _prefix(given: object) -> str:
    if isinstance(given, str) and PREFIX.fullmatch(given):
        return given
    msg = (
        f"context prefix: {given!r} cannot begin the names of tables and stacks; "
        "it has a letter first, then A-Z a-z 0-9 -, as in 'team-a-'"
    )
    raise SettingsError(msg)


def _traced(stage: Stage, given: object) -> Stage:
    """Switch tracing on or off, if the context says so; `-c` hands it over as text."""
    if is_nothing(given):
        return stage
    switch = {"true": True, "false": False}.get(str(given).lower())
    if switch is None:
        msg = f"context tracing: {given!r} is neither true nor false, nor empty: as the stage says"
        raise SettingsError(msg)
    return replace(stage, tracing=switch)
