"""The options of one deployment, typed, and how they are read from the CDK context."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from aws_cdk import Token
from aws_cdk import aws_kms as kms
from constructs import Construct

from adminview.aws.settings import deployment_name, stack_name
from adminview.bulk.lease_table import progress_table
from adminview.cdk.bundle import build_bundle
from adminview.cdk.options import alarm_contact, api_access, budgets, network
from adminview.cdk.options.alarm_contact import AlarmContact
from adminview.cdk.options.api_access import ApiAccess
from adminview.cdk.options.budgets import within_budgets
from adminview.cdk.options.context import given_or, is_nothing, read_context, read_object
from adminview.cdk.options.customer_key import CustomerKey
from adminview.cdk.options.imported_table import ImportedTable
from adminview.cdk.options.network import Network
from adminview.cdk.options.rollout_phase import RolloutPhase
from adminview.cdk.options.stage import Stage, stage_named
from adminview.cdk.options.tags import read_tags
from adminview.model import Migration, Registry, Source
from adminview.model.errors import SettingsError
from adminview.model.row import VIEW_TABLE
from adminview.model.source import TABLE_NAME

INNER: Final = {
    "alarms": alarm_contact.KEYS,
    "api": api_access.KEYS,
    "budgets": budgets.KEYS,
    "vpc": network.KEYS,
}
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
    "rolloutPhase",
)
# Keys that people look for here, and where they are.
HINTS: Final = {
    **{key: f"it belongs into {outer!r}" for outer, keys in INNER.items() for key in keys},
    "writeShards": (
        "the number of shards is part of the model: declare it with the index, as in "
        'Index("GSI1", …, shards=8), and run `adminview apply`'
    ),
}
STACK_NAME_LIMIT: Final = 128  # characters, set by CloudFormation
SOURCES_EXAMPLE: Final = (
    '{"Orders": {"tableName": "…", "streamArn": "…", "streamViewType": "NEW_AND_OLD_IMAGES"}}'
)
# Begins the names of tables and stacks; a stack's name allows no other characters.
PREFIX: Final = re.compile(r"([A-Za-z][A-Za-z0-9-]*)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentOptions:
    """The model to deploy, and everything that two deployments of it may differ in."""

    views: Registry
    stage: Stage  # with the budgets and the tracing of the context
    migrations: tuple[Migration, ...] = ()
    handlers: str = ""  # the app's package of Lambda handlers; empty: the library's own
    prefix: str = ""  # begins the names of tables and stacks
    imported: Mapping[str, ImportedTable] = field(default_factory=dict)  # by source
    api: ApiAccess = field(default_factory=ApiAccess)
    alarms: AlarmContact = field(default_factory=AlarmContact)
    phase: RolloutPhase = field(default_factory=RolloutPhase)
    customer_key: CustomerKey | None = None  # None: keys that AWS manages
    network: Network | None = None  # None: functions run outside a VPC
    tags: Mapping[str, str] = field(default_factory=dict)
    bundler: Callable[..., Path] = build_bundle  # builds the code of the functions

    def __post_init__(self) -> None:
        for problem in self._problems():
            raise SettingsError(problem)

    @property
    def view_table(self) -> str:
        """Return the name of the view table."""
        return f"{self.prefix}{VIEW_TABLE}"

    @property
    def name(self) -> str:
        """Return a name that no other deployment in this account and region has."""
        return deployment_name(self.prefix, self.stage.name)

    @property
    def owned_sources(self) -> tuple[Source, ...]:
        """Return the sources whose tables this deployment creates."""
        return tuple(one for one in self.views.sources if one.name not in self.imported)

    def stack(self, part: str) -> str:
        """Return the name of one stack of this deployment."""
        return stack_name(self.prefix, self.stage.name, part)

    def table_of(self, source: Source) -> str:
        """Return the name of a source's table, imported or ours."""
        found = self.imported.get(source.name)
        return found.table_name if found else f"{self.prefix}{source.name}"

    def key_in(self, scope: Construct) -> kms.IKey | None:
        """Import the customer's key into the stack of *scope*; None if AWS manages the keys."""
        return self.customer_key.imported(scope) if self.customer_key else None

    def handler(self, name: str) -> str:
        """Return what Lambda calls for one of our functions."""
        if self.handlers:
            return f"{self.handlers}.{name}.handler"
        return f"adminview.handlers.{name}.handle"

    @classmethod
    def read(
        cls,
        context: Mapping[str, Any],
        views: Registry,
        *,
        stages: Mapping[str, Stage],
        migrations: tuple[Migration, ...] = (),
        handlers: str = "",
    ) -> "DeploymentOptions":
        """Read the options from the CDK context, or raise a SettingsError that says what to do."""
        entries = read_context(context, KEYS, HINTS)
        stage = stage_named(given_or(entries.get("stage"), "dev"), stages)
        _check_own_stage(context, stage, stages)
        stage = _traced(stage, entries.get("tracing"))
        sources = _sources(entries.get("sources"), views)
        return cls(
            views=views,
            stage=within_budgets(stage, entries.get("budgets"), views),
            migrations=migrations,
            handlers=handlers,
            prefix=_prefix(given_or(entries.get("prefix"), "")),
            imported={name: ImportedTable.read(name, given) for name, given in sources.items()},
            api=ApiAccess.read(entries.get("api")),
            alarms=AlarmContact.read(entries.get("alarms")),
            phase=RolloutPhase.read(entries.get("rolloutPhase"), views),
            customer_key=CustomerKey.read(entries.get("customerKeyArn")),
            network=Network.read(entries.get("vpc")),
            tags=read_tags(entries.get("tags"), stage),
        )

    def _problems(self) -> Iterator[str]:
        """Find tables that cannot be told apart: records are routed by the table's name."""
        taken = {
            self.view_table: "the view itself",
            progress_table(self.view_table): "the progress of bulk work",
        }
        for source in self.views.sources:
            table = self.table_of(source)
            if table in taken:
                yield (
                    f"context sources: table {table!r} stands behind {taken[table]} and behind "
                    f"source {source.name!r}; a table has one source, and our own have none"
                )
            taken[table] = f"source {source.name!r}"
        yield from self._other_accounts()
        if len(longest := self.stack("Recovery")) > STACK_NAME_LIMIT:
            yield f"context prefix: {longest!r} is too long for a stack's name"
        for table in taken:
            if not Token.is_unresolved(table) and not TABLE_NAME.fullmatch(table):
                yield f"context prefix: {table!r} is too long; a table's name has 255 characters"

    def _other_accounts(self) -> Iterator[str]:
        """Find ARNs of different accounts or regions; a deployment is in one."""
        named = {f"sources.{name}": one.stream_arn for name, one in self.imported.items()}
        if self.customer_key:
            named["customerKeyArn"] = self.customer_key.arn
        places = {
            key: [arn.split(":")[1], *arn.split(":")[3:5]]
            for key, arn in named.items()
            if not Token.is_unresolved(arn)
        }
        for key, place in places.items():
            first = next(iter(places))
            if place != places[first]:
                yield (
                    f"context {key}: {':'.join(place)} is another account or region than "
                    f"{':'.join(places[first])} of {first}; a deployment is in one"
                )


def _check_own_stage(context: Mapping[str, Any], stage: Stage, stages: Mapping[str, Stage]) -> None:
    """Refuse a `stage` beside `adminview` that names another of our stages."""
    other = context.get("stage")
    if isinstance(other, str) and other in stages and other != stage.name:
        msg = (
            f"context stage is {other!r}, but AdminView would deploy {stage.name!r}: "
            f"use `-c adminview:stage={other}`, or set `stage` under `adminview` in cdk.json"
        )
        raise SettingsError(msg)


def _sources(given: object, registry: Registry) -> Mapping[str, object]:
    """Read the imported sources, each of which must be declared."""
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
    """Switch tracing on or off if the context says so; `-c` passes it as text."""
    if is_nothing(given):
        return stage
    switch = {"true": True, "false": False}.get(str(given).lower())
    if switch is None:
        msg = f"context tracing: {given!r} is neither true nor false, nor empty: as the stage says"
        raise SettingsError(msg)
    return replace(stage, tracing=switch)
