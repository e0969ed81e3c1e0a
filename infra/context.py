"""What a deployment is told by the CDK context: cdk.json, or `-c key=value`."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from json import JSONDecodeError, loads
from typing import Any, Final

from infra.api_access import ApiAccess
from infra.imported_table import ImportedTable
from infra.stages import Stage, stage_named
from infra.wave import Wave
from lambdas.aws.settings import stack_name
from lambdas.model import Registry, Source
from lambdas.model.errors import SettingsError
from lambdas.model.row import VIEW_TABLE
from lambdas.model.source import TABLE_NAME

KEYS: Final = ("stage", "prefix", "sources", "api", "wave")
STACK_NAME_LIMIT: Final = 128  # characters, set by CloudFormation
# Tables and stacks both carry it, and a stack's name takes no more than this.
PREFIX: Final = re.compile(r"([A-Za-z][A-Za-z0-9-]*)?")


@dataclass(frozen=True, slots=True)
class Deployment:
    """The stage, what names begin with, which sources exist already, who may ask, and what."""

    stage: Stage
    prefix: str
    imported: Mapping[str, ImportedTable]
    api: ApiAccess
    wave: Wave

    @property
    def view_table(self) -> str:
        """Name the read model's table."""
        return f"{self.prefix}{VIEW_TABLE}"

    def stack(self, part: str) -> str:
        """Name one stack of this deployment."""
        return stack_name(self.prefix, self.stage.name, part)

    def table_of(self, source: Source) -> str:
        """Name the table behind a source: the one imported for it, or our own."""
        found = self.imported.get(source.name)
        return found.table_name if found else f"{self.prefix}{source.name}"

    @classmethod
    def read(cls, context: Mapping[str, Any], registry: Registry) -> "Deployment":
        """Read the context, or say what is wrong in it and what would be right."""
        entries = _sources(context.get("sources"), registry)
        deployment = cls(
            stage_named(context.get("stage") or "dev"),
            _prefix(context.get("prefix") or ""),
            {name: ImportedTable.read(name, given) for name, given in entries.items()},
            ApiAccess.read(context.get("api")),
            Wave.read(context.get("wave"), registry),
        )
        for problem in deployment._problems(registry):
            raise SettingsError(problem)
        return deployment

    def _problems(self, registry: Registry) -> Iterator[str]:
        """Find tables that cannot be told apart: records are routed by the table's name."""
        taken = {self.view_table: "the view itself"}
        for source in registry.sources:
            table = self.table_of(source)
            if table in taken:
                yield (
                    f"context sources: table {table!r} stands behind {taken[table]} and behind "
                    f"source {source.name!r}; a table has one source, and the view is none"
                )
            taken[table] = f"source {source.name!r}"
        if len(longest := self.stack("Recovery")) > STACK_NAME_LIMIT:
            yield f"context prefix: {longest!r} is too long for a stack's name"
        for table in taken:
            if not TABLE_NAME.fullmatch(table):
                yield f"context prefix: {table!r} is too long; a table's name has 255 characters"


def _sources(given: object, registry: Registry) -> Mapping[str, object]:
    """Read the table of imported sources, which `-c` hands over as text."""
    try:
        entries = loads(given) if isinstance(given, str) and given else given or {}
    except JSONDecodeError as error:
        msg = f"context sources: not JSON ({error})"
        raise SettingsError(msg) from error
    if not isinstance(entries, Mapping):
        msg = (
            f"context sources: found {type(entries).__name__}; expected an object such as "
            '{"Orders": {"tableName": ..., "streamArn": ..., "streamViewType": ...}}'
        )
        raise SettingsError(msg)
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
