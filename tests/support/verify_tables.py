"""Verifications on in-memory tables, with a clock that only waiting advances."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from io import StringIO
from typing import Any

from adminview.bulk.runs import Bulk
from adminview.bulk.segment import Segment
from adminview.bulk.verification import Verification, VerifyReport
from adminview.bulk.verify.scope import Scope
from adminview.cli.commands.verify import VerifyOptions, verify_here
from adminview.cli.output.printing import Console
from adminview.cli.shutdown import Shutdown
from adminview.model.limits import ROW_LIMIT
from adminview.model.row import RowKey, provenance
from adminview.sync.derive import derive
from tests.support.bulk_tables import Image, World, _key, never
from tests.support.stream_records import image


@dataclass
class Lab(World):
    """The model and its tables, verified with a controlled clock."""

    while_waiting: Callable[[], None] = lambda: None
    check: Callable[[], object] = lambda: None

    def __post_init__(self) -> None:
        self.fingerprint = self.model.fingerprint
        self.stop = LabShutdown()
        self.stop.lab = self

    @property
    def bulk(self) -> Bulk:
        return replace(self.make_bulk(), check=self.check, clock=lambda: self.now)

    def put(self, id_: str, *, synced: bool = True, **values: Any) -> None:
        """Write a thing: `shared` is the shared row it claims, other arguments are its parts."""
        shared = {"shared": values.pop("shared")} if "shared" in values else {}
        self.write("Things", {"id": id_, "parts": values, **shared}, synced=synced)

    def write(self, source: str, item: dict[str, Any], *, synced: bool = True) -> None:
        """Write any item, and its rows unless *synced* is False."""
        written = image(item)
        self.db.tables[source][_key(source, written)] = written
        if synced:
            self.sync_item(source, written)

    def sync_item(self, source: str, item: Image) -> None:
        declared = self.model.source(source)
        owner = declared.owner(item)
        for key in [key for key, row in self.view.items() if row.get("_owner") == {"S": owner}]:
            del self.view[key]
        stamp = provenance(owner, "1", 1.0, self.fingerprint)
        for key, row in derive(self.model.views_of(declared), item, room=ROW_LIMIT).rows.items():
            self.view[key] = {**row, **stamp}

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self.while_waiting()

    def verify(
        self,
        source: str = "*",
        *,
        restart: bool = False,
        work: Callable[[str, Segment], object] | None = None,
        **options: Any,
    ) -> VerifyReport:
        """Run or resume a verification, segment by segment, and report it."""
        scope, bulk = Scope(**{"segments": 1, **options}), self.bulk
        verification = Verification(bulk, source)
        for run in verification.left(scope, deadline=never(), restart=restart):
            own = verification.scope_of(run, scope, deadline=never())
            for segment in bulk.begin(run, None, deadline=never(), scope=own, restart=restart):
                (work or self.work_on)(run, segment)
            bulk.finish(run, deadline=never())
        return verification.report(deadline=never())

    def work_on(self, run: str, segment: Segment) -> None:
        assert self.worker(run).work(segment, end=never()).done

    def command(self, **more: Any) -> tuple[int, str]:
        """Run the command, and return its exit status and its output."""
        names = {"source", "restart", "as_json"}
        options = {name: more.pop(name) for name in names & more.keys()}
        requested = VerifyOptions(Scope(**{"segments": 1, "grace": 0.0, **more}), **options)
        console = Console(file=StringIO(), width=200)
        status = verify_here(self.bulk, requested, self.stop, console)
        return status, console.file.getvalue()  # type: ignore[attr-defined]  # a StringIO


class LabShutdown(Shutdown):
    """A stop request whose sleep advances the clock of a lab."""

    lab: Lab

    def sleep(self, seconds: float) -> None:
        self.lab.sleep(seconds)


@dataclass
class HeardDrift:
    """An observer that records what is reported of each source."""

    reported: dict[str, Any] = field(default_factory=dict)

    def invoked(self, request_id: str) -> None:
        """Record an invocation."""

    def verified(self, source: str, counts: Any, drift: int, trouble: str) -> None:
        self.reported[source] = (counts, drift, trouble)


def findings_in(report: VerifyReport) -> set[tuple[str, str, RowKey | None]]:
    """Return the differences by kind, item and row."""
    return {
        (finding["kind"], finding["owner"], finding["row"] and tuple(finding["row"]))
        for finding in report.findings
    }


def adds_up(report: VerifyReport) -> bool:
    """Return whether everything was counted exactly once."""
    kinds = ("missing", "stale", "orphaned", "two-owners", "failing")
    return all(
        n["items"] + n["rows"] == n["equal"] + n["in_flight"] + n["differing"]
        and sum(n[kind] for kind in kinds) == n["repaired"] + n["left"]
        for n in (Counter(counts) for counts in report.counts.values())
    )
