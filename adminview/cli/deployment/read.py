"""Read the deployed state: from stacks, or from the tables of a local engine."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from adminview.aws import settings
from adminview.aws.clients import Clients
from adminview.aws.deadline import Deadline
from adminview.aws.retry import Backoff, call_with_retry
from adminview.aws.settings import PATTERNS_OUTPUT, SETTINGS_OUTPUT
from adminview.aws.table_description import TableDescription, TableIndex
from adminview.aws.table_scanner import Sample, TableScanner
from adminview.bulk.completions import NO_TABLE, CompletionMarkers, markers, sweeps
from adminview.bulk.lease_table import LeaseTable
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.facts import Declared, Deployed, RowCounts
from adminview.cli.deployment.stacks import (
    API,
    PARTS,
    RECOVERY,
    SOURCES,
    SYNC,
    TOTALS,
    VIEW,
    WATCH,
    Stack,
)
from adminview.cli.endpoints import check_endpoints
from adminview.cli.errors import usage_errors
from adminview.cli.model_lock.lock import Lock, read_description, validate_description
from adminview.cli.model_lock.model_diff import Description
from adminview.model.errors import ServiceError, SettingsError
from adminview.model.readiness import PATTERNS, READY, Contents, not_ready, progress_table
from adminview.model.registry import monitored_parts
from adminview.model.row import MODEL, OWNER, VIEW_TABLE
from adminview.model.total import totals_table

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

ROWS_READ: Final = 2000  # at most, to see which models wrote them
TIMEOUT_SECONDS: Final = 60.0
CONTEXT: Final = "cdk.json"


@dataclass(frozen=True, slots=True)
class Tables:
    """The view table and the progress table."""

    client: "DynamoDBClient"
    view: str
    now: Callable[[], float]

    @property
    def progress(self) -> CompletionMarkers:
        return CompletionMarkers(LeaseTable(self.client, progress_table(self.view)), self.now)

    def describe(self, table: str = "") -> TableDescription | None:
        """Describe a table, or the view table; None if it does not exist."""
        try:
            return TableScanner(self.client).describe(table or self.view, _soon())
        except ServiceError as error:
            if error.code != "ResourceNotFoundException":
                raise
            return None

    def indexes(self) -> list[TableIndex] | None:
        """Return the indexes of the view table; None if the table does not exist."""
        table = self.describe()
        return [*table.indexes] if table else None

    def warm_up(self, units: int, indexes: Iterable[str], *, table: bool) -> None:
        """Let the view table and indexes of it take this many write units per second at once."""
        warm = {"WarmThroughput": {"WriteUnitsPerSecond": units}}
        updates = [{"Update": {"IndexName": index, **warm}} for index in indexes]
        request: Any = {
            **(warm if table else {}),
            **({"GlobalSecondaryIndexUpdates": updates} if updates else {}),
        }
        call = partial(self.client.update_table, TableName=self.view, **request)
        call_with_retry(call, f"raise the warm throughput of {self.view}", Backoff(), _soon())

    def rows(self) -> RowCounts:
        """Count a sample of rows by source and by the model that wrote them."""
        projection = {
            "ProjectionExpression": "#owner, #model",
            "ExpressionAttributeNames": {"#owner": OWNER, "#model": MODEL},
        }
        counts = Counter[tuple[str, str]]()
        for row in Sample(TableScanner(self.client), self.view, ROWS_READ, _soon, projection):
            owner, model = (row.get(name, {}).get("S", "") for name in (OWNER, MODEL))
            if owner:
                counts[owner.partition("/")[0], model] += 1
        return RowCounts(counts)

    def built(self) -> Contents | None:
        """Return what is built; None if that was never recorded."""
        try:
            facts = self.progress.table.facts(READY, PATTERNS, deadline=_soon())
        except ServiceError as error:
            if error.code != NO_TABLE:
                raise
            return None
        return facts.get(PATTERNS)

    def facts(self, declared: Declared, older: Iterable[str]) -> dict[str, Any]:
        """Return the fields of `Deployed` that the tables contain."""
        sources = [*declared.sources, *(name for name in older if name not in declared.sources)]
        completions = self.progress.read()
        return {
            "markers": markers(completions),
            "sweeps": sweeps(completions, sources, declared.fingerprint),
            "busy_until": self.progress.busy_until(sources, declared.fingerprint),
            "rows": self.rows(),
        }


@dataclass(frozen=True, slots=True)
class StackReader:
    """Reads a deployment from CloudFormation."""

    deployment: Deployment
    tables: Tables
    imported: frozenset[str] = frozenset()
    against: Description | None = None  # the deployed model, for stacks that do not describe it

    def read(self, model: Description) -> Deployed:
        """Read the deployed state; *model* is the declared one."""
        stacks = {part: self.deployment.stack(part) for part in PARTS}
        sync, recovery, api = stacks[SYNC], stacks[RECOVERY], stacks[API]
        watch = stacks[WATCH]
        old = self._description(sync)
        table = self.tables.describe()
        facts = Deployed(
            sync=old,
            recovery=recovery.fingerprint() if recovery else None,
            api=self._description(api),
            pending=self._pending(api),
            watch=watch.watched() if watch else None,
            indexes=self._indexes(view := stacks[VIEW], table),
            warm_writes=table.warm_writes if table else 0,
            items=self._items(sync),
            stream=bool(view and view.has_stream()),
            totals=stacks[TOTALS] is not None,
            tables=frozenset(self._sources(stacks[SOURCES])),
            imported=self.imported,
            code_at=_latest(sync, recovery),
            api_at=_latest(api),
        )
        if facts.indexes is None:
            return facts
        return replace(facts, **self.tables.facts(Declared(model), old["code"] if old else ()))

    def _pending(self, api: Stack | None) -> Mapping[str, str | None]:
        """Return the access patterns that the API rejects, or serves in another way."""
        model, built = self._description(api), self.tables.built()
        unbuilt = not_ready(model, built) if model and built is not None else {}
        return unbuilt | _pending(api)

    def _description(self, stack: Stack | None) -> Description | None:
        """Return the model of a stack; one of an older release needs `against`."""
        if stack is None:
            return None
        model = stack.description()
        if model is not None:
            return validate_description(model, f"the template of stack {stack.name!r}")
        if self.against and self.against["fingerprint"] == stack.fingerprint():
            return self.against
        msg = (
            f"stack {stack.name!r} does not describe its model {stack.fingerprint()}: pass a file "
            "that does with --against, such as the model.lock.json of that time, or deploy that "
            "model once with this version"
        )
        raise SettingsError(msg)

    def _items(self, sync: Stack | None) -> dict[str, int]:
        """Return how many items the sources have, as far as the sync knows their tables."""
        if sync is None or SETTINGS_OUTPUT not in sync.outputs:
            return {}
        sources = settings.Settings.from_env(loads(sync.outputs[SETTINGS_OUTPUT])).sources
        tables = {source: self.tables.describe(name) for source, name in sources.items()}
        return {source: table.items for source, table in tables.items() if table}

    def _indexes(
        self, view: Stack | None, table: TableDescription | None
    ) -> tuple[TableIndex, ...] | None:
        """Return the table's indexes; the template has the order of their key attributes."""
        existing = table.indexes if table else None
        if view is None:
            if existing is None:
                return None
            msg = (
                f"table {self.tables.view!r} exists, but belongs to no stack: name the deployment "
                "with --stage and --prefix, let a stack adopt the table ("
                f"{self.deployment.deploy()} --import-existing-resources), or delete it"
            )
            raise SettingsError(msg)
        if existing is None:
            msg = f"stack {view.name!r} has lost its table {self.tables.view!r}: restore it first"
            raise SettingsError(msg)
        own = {index.name: index for index in view.indexes()}
        return tuple(
            replace(own[index.name], status=index.status, warm_writes=index.warm_writes)
            if index.name in own
            else replace(index, ours=False)
            for index in existing
        )

    def _sources(self, stack: Stack | None) -> list[str]:
        prefix = self.deployment.prefix
        return [name.removeprefix(prefix) for name in stack.tables()] if stack else []


@dataclass(frozen=True, slots=True)
class EngineReader:
    """Reads a local engine, which has no stacks: *against* is the model it runs."""

    tables: Tables
    against: Description | None

    def read(self, model: Description) -> Deployed:
        """Read the deployed state; *model* is the declared one."""
        indexes, old = self.tables.indexes(), self.against
        if indexes is None or old is None:
            return Deployed()
        facts = self.tables.facts(Declared(model), old["code"])
        pages = self.tables.client.get_paginator("list_tables").paginate()
        names = {name for page in pages for name in page["TableNames"]}
        known = {*Declared(model).sources, *old["code"]}
        return Deployed(
            sync=old,
            recovery=old["fingerprint"],
            api=old,
            watch=monitored_parts(old),
            indexes=tuple(indexes),
            stream=totals_table(self.tables.view) in names,
            totals=totals_table(self.tables.view) in names,
            tables=frozenset(known & names),
            **facts,
        )


def imported_sources(folder: Path, stage: str) -> frozenset[str]:
    """Return the sources in cdk.json whose tables other stacks own."""
    try:
        context = loads((folder / CONTEXT).read_text(encoding="utf-8"))["context"]
        keys = settings.keys_of_stage(context.get("adminview", {}), stage)
        return frozenset(keys.get("sources") or {})
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        msg = f"{CONTEXT} in {folder} cannot be read: run this in the folder of the app"
        raise SettingsError(msg) from error


def tables_of(deployment: Deployment) -> Tables:
    check_endpoints(deployment.environ, "DYNAMODB")
    named = deployment.environ.get(settings.VIEW_TABLE) if deployment.local else None
    return Tables(Clients().dynamodb, named or f"{deployment.prefix}{VIEW_TABLE}", time.time)


def reader_of(deployment: Deployment, against: Path | None) -> StackReader | EngineReader:
    """Return a reader; *against* describes the deployed model if the stacks do not."""
    with usage_errors():
        named = read_description(against) if against else None
    old = named or Lock().read()
    tables = tables_of(deployment)
    if deployment.local:
        return EngineReader(tables, old)
    return StackReader(deployment, tables, imported_sources(Path(), deployment.stage), old)


def _pending(api: Stack | None) -> dict[str, str | None]:
    output = loads(api.outputs.get(PATTERNS_OUTPUT, "{}")) if api else {}
    pending: dict[str, str | None] = output.get("pending", {})
    return pending


def _latest(*stacks: Stack | None) -> float | None:
    times = [stack.replaced_at for stack in stacks if stack and stack.replaced_at is not None]
    return max(times, default=None)


def _soon() -> Deadline:
    return Deadline.after(TIMEOUT_SECONDS)
