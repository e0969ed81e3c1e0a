"""The options of one deployment, typed, and how they are read from the CDK context."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from aws_cdk import Token
from aws_cdk import aws_kms as kms
from constructs import Construct

from adminview.aws.settings import STAGES, deployment_name, stack_name
from adminview.aws.stack_outputs import STAGE
from adminview.cdk.bundle import build_bundle
from adminview.cdk.options import alarm_contact, api_access, network
from adminview.cdk.options.alarm_contact import AlarmContact
from adminview.cdk.options.api_access import ApiAccess
from adminview.cdk.options.context import is_empty, read_context, read_object, value_or
from adminview.cdk.options.customer_key import CustomerKey
from adminview.cdk.options.imported_table import ImportedTable
from adminview.cdk.options.network import Network
from adminview.cdk.options.rollout_phase import RolloutPhase
from adminview.cdk.options.stage import BUDGET_KEYS, Stage, stage_named, with_budgets
from adminview.model import Migration, Registry, Source
from adminview.model.errors import SettingsError
from adminview.model.readiness import progress_table
from adminview.model.row import VIEW_TABLE
from adminview.model.source import TABLE_NAME
from adminview.model.total import totals_table

INNER: Final = {
    "alarms": alarm_contact.KEYS,
    "api": api_access.KEYS,
    "budgets": BUDGET_KEYS,
    "vpc": network.KEYS,
}
KEYS: Final = (
    "stage",
    STAGES,
    "prefix",
    "protect",
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
# Keys that are valid in another place.
HINTS: Final = {
    **{key: f"it belongs in {outer!r}" for outer, keys in INNER.items() for key in keys},
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
TAGS_EXAMPLE: Final = '{"team": "shop", "costCentre": "4711"}'
TAG_LIMIT: Final = 50  # on a resource, set by AWS
# The characters that every service accepts.
TAG_NAME: Final = re.compile(r"(?!aws:)[\w .:/=+@-]{1,128}", re.IGNORECASE)
TAG_VALUE: Final = re.compile(r"[\w .:/=+@-]{1,256}")


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
        return f"{self.prefix}{VIEW_TABLE}"

    @property
    def totals_table(self) -> str:
        return totals_table(self.view_table)

    @property
    def has_totals(self) -> bool:
        """Return whether the view table has a stream, and a totals function follows it."""
        return bool(self.views.totals) or self.phase.keep_totals

    @property
    def name(self) -> str:
        """Return a name that is unique in the account and region."""
        return deployment_name(self.prefix, self.stage.name)

    @property
    def owned_sources(self) -> tuple[Source, ...]:
        """Return the sources whose tables this deployment creates."""
        return tuple(source for source in self.views.sources if source.name not in self.imported)

    def stack(self, part: str) -> str:
        return stack_name(self.prefix, self.stage.name, part)

    def table_of(self, source: Source) -> str:
        """Return the name of a source's table, imported or ours."""
        table = self.imported.get(source.name)
        return table.table_name if table else f"{self.prefix}{source.name}"

    def key_in(self, scope: Construct) -> kms.IKey | None:
        """Import the customer's key into the stack of *scope*; None if AWS manages the keys."""
        return self.customer_key.import_into(scope) if self.customer_key else None

    def handler(self, name: str) -> str:
        """Return the Lambda handler of one of our functions.

        Raises a SettingsError if the app lacks it: Lambda would only notice when it is invoked.
        """
        if self.handlers:
            if find_spec(f"{self.handlers}.{name}") is None:
                file = f"{self.handlers.replace('.', '/')}/{name}.py"
                msg = (
                    f"{file} is missing, and AdminView needs its Lambda handler: copy the file "
                    "from the app that `adminview init` generates"
                )
                raise SettingsError(msg)
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
        entries = read_context(context, KEYS, HINTS, tuple(stages))
        stage = stage_named(value_or(entries.get("stage"), STAGE), stages)
        _check_own_stage(context, stage, stages)
        tracing = _switch("tracing", entries.get("tracing"), default=stage.tracing)
        protect = _switch("protect", entries.get("protect"), default=False) and stage.retain
        stage = replace(stage, tracing=tracing, protect=protect)
        sources = _sources(entries.get("sources"), views)
        return cls(
            views=views,
            stage=with_budgets(stage, entries.get("budgets"), views),
            migrations=migrations,
            handlers=handlers,
            prefix=_prefix(value_or(entries.get("prefix"), "")),
            imported={name: ImportedTable.read(name, value) for name, value in sources.items()},
            api=ApiAccess.read(entries.get("api")),
            alarms=AlarmContact.read(entries.get("alarms")),
            phase=RolloutPhase.read(entries.get("rolloutPhase"), views),
            customer_key=CustomerKey.read(entries.get("customerKeyArn")),
            network=Network.read(entries.get("vpc")),
            tags=_tags(entries.get("tags"), stage),
        )

    def _problems(self) -> Iterator[str]:
        """Find tables with two uses, and names that are too long.

        A record is routed by the name of its table, so each table has one source.
        """
        taken = {
            self.view_table: "the view table",
            progress_table(self.view_table): "the progress table of bulk work",
            **({self.totals_table: "the totals table"} if self.has_totals else {}),
        }
        for source in self.views.sources:
            table = self.table_of(source)
            if table in taken:
                yield (
                    f"context sources: table {table!r} is both {taken[table]} and "
                    f"source {source.name!r}; give each source a table of its own"
                )
            taken[table] = f"source {source.name!r}"
        yield from self._other_accounts()
        if len(longest := self.stack("Recovery")) > STACK_NAME_LIMIT:
            yield f"context prefix: {longest!r} is too long for a stack's name"
        for table in taken:
            if not Token.is_unresolved(table) and not TABLE_NAME.fullmatch(table):
                yield f"context prefix: {table!r} is too long; the limit is 255 characters"

    def _other_accounts(self) -> Iterator[str]:
        """Find ARNs of different accounts or regions."""
        arns = {f"sources.{name}": table.stream_arn for name, table in self.imported.items()}
        if self.customer_key:
            arns["customerKeyArn"] = self.customer_key.arn
        places = {
            key: [arn.split(":")[1], *arn.split(":")[3:5]]
            for key, arn in arns.items()
            if not Token.is_unresolved(arn)
        }
        for key, place in places.items():
            first = next(iter(places))
            if place != places[first]:
                yield (
                    f"context {key}: {':'.join(place)} is another account or region than "
                    f"{':'.join(places[first])} of {first}; a deployment spans only one"
                )


def _check_own_stage(context: Mapping[str, Any], stage: Stage, stages: Mapping[str, Stage]) -> None:
    """Refuse a top-level `stage` that names another of our stages: `adminview` ignores it."""
    other = context.get("stage")
    if isinstance(other, str) and other in stages and other != stage.name:
        msg = (
            f"context stage is {other!r}, but AdminView would deploy {stage.name!r}: "
            f"use `-c adminview:stage={other}`, or set `stage` under `adminview` in cdk.json"
        )
        raise SettingsError(msg)


def _sources(value: object, registry: Registry) -> Mapping[str, object]:
    """Read the imported sources, each of which must be declared."""
    entries = read_object("sources", value, example=SOURCES_EXAMPLE)
    declared = sorted(source.name for source in registry.sources)
    for name in entries:
        if name not in declared:
            msg = (
                f"context sources: no view file declares a source {name!r}; "
                f"declared are {', '.join(declared)}"
            )
            raise SettingsError(msg)
    return entries


def _prefix(value: object) -> str:
    if isinstance(value, str) and PREFIX.fullmatch(value):
        return value
    msg = (
        f"context prefix: {value!r} cannot begin the names of tables and stacks; "
        "use a letter, then A-Z a-z 0-9 -, as in 'team-a-'"
    )
    raise SettingsError(msg)


def _switch(key: str, value: object, *, default: bool) -> bool:
    """Return a switch of the context; `-c` passes it as text."""
    if is_empty(value):
        return default
    switch = {"true": True, "false": False}.get(str(value).lower())
    if switch is None:
        msg = f"context {key}: {value!r} is neither true nor false; leave it empty for the default"
        raise SettingsError(msg)
    return switch


def _tags(value: object, stage: Stage) -> dict[str, str]:
    """Return our own tags and those of the context, or raise a SettingsError."""
    ours = {"app": "adminview", "stage": stage.name}
    entries = read_object("tags", value, example=TAGS_EXAMPLE)
    for problem in _tag_problems(entries, ours):
        msg = f"context tags: {problem}"
        raise SettingsError(msg)
    return ours | dict(entries)


def _tag_problems(entries: Mapping[str, Any], ours: Mapping[str, str]) -> Iterator[str]:
    characters = "letters, digits, spaces and _ . : / = + - @"
    for name, value in entries.items():
        if name in ours:
            yield f"{name!r} is set already, to {ours[name]!r}; choose another name"
        elif not TAG_NAME.fullmatch(name):
            yield f"{name!r} cannot name a tag: use 1 to 128 {characters}, not beginning with aws:"
        elif not isinstance(value, str) or not TAG_VALUE.fullmatch(value):
            yield f"{name!r} is {value!r}; it must be a text of 1 to 256 {characters}"
    if len(entries) + len(ours) > TAG_LIMIT:
        yield f"{len(entries)} tags; AWS allows {TAG_LIMIT}, and {len(ours)} of them are ours"
