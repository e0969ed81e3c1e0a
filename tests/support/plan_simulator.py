"""A deployment without AWS: the effects of a plan's steps, and the rules they must not break."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from hashlib import sha256
from json import dumps
from typing import Any, NoReturn

from adminview.aws.table_description import CREATING, DELETING, TableIndex
from adminview.bulk.completions import Marker
from adminview.cli.deployment.facts import Declared, Deployed
from adminview.cli.deployment.stacks import API, RECOVERY, SOURCES, SYNC, TOTALS, VIEW, WATCH
from adminview.cli.model_lock.model_diff import Description
from adminview.cli.planning.planner import LONGEST_WRITE, make_plan
from adminview.cli.planning.steps import (
    AwaitIndex,
    BackfillStep,
    CreateIndex,
    DeployApi,
    DeployCode,
    DeployWatch,
    DropIndex,
    Plan,
    Step,
    SweepStep,
    Wait,
)
from adminview.model import Index
from adminview.model.registry import monitored_parts
from adminview.model.row import OWNER_INDEX


def index(name: str, *key: str, include: tuple[str, ...] = ("data",), **more: Any) -> Any:
    """Describe an index by its partition attribute and its sort attributes."""
    return Index(name, partition=key[0], sort=list(key[1:]), include=include, **more).shape()


def question(name: str, on: Any = None, *, condition: str = "{it}") -> Any:
    """Describe an access pattern on an index, on a total, or on the table."""
    if on and "epoch" in on:
        requested = question(name)
        total = {"total": on["name"], "ranked": False, "conditions": [[f"day = {condition}"]]}
        return {**requested, **total}
    key = on["partition"][0][0] if on else "PK"
    return {
        "name": name,
        "index": on["name"] if on else None,
        "conditions": [[f"{key} = {condition}"]],
        "optional": [],
        "shows": ["data"],
        "joins": [],
        "descending": False,
        "consistent": False,
    }


def model(
    code: dict[str, str],
    indexes: tuple[Any, ...] = (),
    questions: tuple[Any, ...] = (),
    totals: tuple[Any, ...] = (),
) -> Description:
    """Describe a model; *code* has the digest of each source's views."""
    shape = {
        "sources": [{"name": name, "key": [["id", "S"]]} for name in code],
        "indexes": [*indexes, OWNER_INDEX.shape()],
        "patterns": list(questions),
        "views": [[name, "view"] for name in code],
        "code": dict(code),
        **({"totals": list(totals)} if totals else {}),  # as of a release without them
    }
    return {"fingerprint": sha256(dumps(shape).encode()).hexdigest()[:12], **shape}


def fail(what: str) -> NoReturn:
    """Raise an error that names a broken rule."""
    raise AssertionError(what)


@dataclass
class World:
    """The deployed state, and by source the digests of the code that may have written its rows."""

    deployed: Deployed = field(default_factory=Deployed)
    rows: dict[str, set[str]] = field(default_factory=dict)
    # By source: the attributes of stale rows.
    leftovers: dict[str, set[str]] = field(default_factory=dict)
    late: dict[str, set[str]] = field(default_factory=dict)  # code that may still write
    late_until: float = 0.0
    now: float = 1_000_000.0

    def plan(self, target: Description) -> Plan:
        """Plan from the current state."""
        return make_plan(self.deployed, target, self.now)

    def reach(self, target: Description, most: int = 60) -> list[Step]:
        """Apply a plan, with a new plan after each step, and return the steps."""
        done: list[Step] = []
        while steps := self._next(target):
            done.append(steps[0])
            self.carry_out(steps[0], target)
            if len(done) > most:
                fail(f"no end: {[step.title for step in done]}")
        return done

    def _next(self, target: Description) -> tuple[Step, ...]:
        plan = self.plan(target)
        if plan.refusals:
            fail(f"refused in the middle: {plan.refusals}")
        return plan.steps

    def carry_out(self, step: Step, target: Description, *, half: bool = False) -> None:
        """Apply one step; with *half*, only its first half, as after a crash."""
        self._tables(step, target)
        if isinstance(step, DeployApi):
            assert step.stacks == (API,)
            self._api(step, target)
        if isinstance(step, DeployCode):
            assert step.stacks == (SYNC, RECOVERY)
            self._code(step, target, half=half)
        if isinstance(step, DeployWatch):
            assert step.stacks == (WATCH,)
            self._watch(target)
        if isinstance(step, Wait):
            self.now = step.deadline
        if isinstance(step, BackfillStep):
            self._backfill(step.source, target)
        if isinstance(step, SweepStep):
            self._sweep(step.sources, target)
        if isinstance(step, AwaitIndex | CreateIndex | DropIndex) and not half:
            self._indexes_settle()

    def _tables(self, step: Step, target: Description) -> None:
        if SOURCES in step.stacks:
            self._sources(target)
        if VIEW in step.stacks:
            self._view(step, target)
        if TOTALS in step.stacks:
            if not self.deployed.stream:
                fail("totals follow a stream that is not on")
            self._change(totals=True)

    def _change(self, **facts: Any) -> None:
        self.deployed = replace(self.deployed, **facts)

    def _sources(self, target: Description) -> None:
        names = frozenset(Declared(target).sources)
        gone = self.deployed.tables - names
        for stack in (self.deployed.sync, self.deployed.api):
            if stack and gone & stack["code"].keys():
                fail(f"{gone} are dropped while functions read their streams")
        if gone and (gone & self.leftovers.keys()):
            fail(f"{gone} are dropped, and their rows are never swept")
        self._change(tables=names)

    def _view(self, step: Step, target: Description) -> None:
        declared = step.phase.indexes(Declared(target).indexes)
        existing = {index.name: index for index in self.deployed.indexes or ()}
        stream = Declared(target).has_totals or step.phase.keep_totals
        if self.deployed.indexes is None:
            self._change(indexes=tuple(declared.values()), stream=stream)
            return
        if any(index.status in (CREATING, DELETING) for index in existing.values()):
            fail("an index is in progress, and another one is changed")
        changed = declared.keys() ^ existing.keys()
        if stream != self.deployed.stream:
            self._turn_stream(changed, on=stream)
            return
        if len(changed) != 1:
            fail(f"one index per update, not {sorted(changed)}")
        patterns_by_index = {name: pattern for pattern, _, name in self.deployed.live() if name}
        for name in changed & existing.keys():
            if name in patterns_by_index:
                fail(f"{name} is dropped while {patterns_by_index[name]} queries it")
            existing[name] = replace(existing[name], status=DELETING)
        for name in changed - existing.keys():
            existing[name] = replace(declared[name], status=CREATING)
        if any(not existing[name].is_equivalent(declared[name]) for name in declared):
            fail("an index cannot change")
        self._change(indexes=tuple(existing.values()))

    def _turn_stream(self, changed: set[str], *, on: bool) -> None:
        if changed:
            fail(f"the stream is turned together with {sorted(changed)}")
        if not on and self.deployed.totals:
            fail("the stream is turned off while the totals function follows it")
        self._change(stream=on)

    def _indexes_settle(self) -> None:
        left = [index for index in self.deployed.indexes or () if index.status != DELETING]
        self._change(indexes=tuple(replace(index, status="ACTIVE") for index in left))

    def _api(self, step: DeployApi, target: Description) -> None:
        before = {name: (shape, on) for name, shape, on in self.deployed.live()}
        totals = {name: self.deployed.total_in_use(shape) for name, (shape, _) in before.items()}
        pending = dict(step.phase.pending)
        self._change(api=target, pending=pending, api_at=self.now)
        for shape in target["patterns"]:
            name = shape["name"]
            if pending.get(name, "answered") is None:
                continue
            if "total" in shape:
                self._check_total(step, shape, totals.get(name), target)
                continue
            on = pending.get(name) or shape["index"]
            held = self.deployed.index(on)
            if on and (held is None or not held.ready):
                fail(f"{name} queries {on}, which does not exist")
            if name not in before or "total" in before[name][0]:
                self._check_built(name, held, target)
                continue
            old, where = before[name]
            was = self.deployed.index(where)
            same_rows = where == on or (held and was and held.key == was.key)
            if old["conditions"] != shape["conditions"] or not same_rows:
                fail(f"{name} returned other rows before")
        gone = before.keys() - {shape["name"] for shape in target["patterns"]}
        # Of what is answered from a total, the plan says that it will be refused for a while.
        on_totals = {shape["name"] for shape in target["patterns"] if "total" in shape}
        on_totals |= {name for name, total in totals.items() if total}
        dark = before.keys() - gone - on_totals - {name for name, _, _ in self.deployed.live()}
        if dark:
            fail(f"{dark} were served before, and are rejected now")

    def _check_total(self, step: DeployApi, shape: Any, was: Any, target: Description) -> None:
        """Hold that a total answers only if nothing is missing from it and nothing too much."""
        name, now = shape["name"], self.deployed.total_in_use(shape)
        assert now
        (epoch, *_), kept = now["epoch"], Declared(target).totals[shape["total"]]["epoch"]
        if epoch not in kept:
            fail(f"{name} is answered from epoch {epoch}, to which no row contributes any more")
        if was and was["epoch"][0] == epoch and was | {"epoch": 0} == now | {"epoch": 0}:
            return
        if shape["total"] not in step.totals:
            fail(f"{name} is switched on while changes may be in flight")
        self._check_built(name, None, target)

    def _check_built(self, name: str, held: TableIndex | None, target: Description) -> None:
        """Check that an access pattern becomes ready only when all its rows are complete."""
        for source, code in target["code"].items():
            if other_code := self._made(source) - {code}:
                fail(f"{name} becomes ready with rows of {source} by {other_code}")
        for source, attributes in self.leftovers.items():
            if held is None or held.attributes.keys() <= attributes:
                fail(f"{name} becomes ready and shows stale rows of {source}")

    def _made(self, source: str) -> set[str]:
        late = self.late.get(source, set()) if self.now < self.late_until else set()
        running = self.deployed.sync["code"].get(source) if self.deployed.sync else None
        return self.rows.get(source, {"never"}) | late | ({running} if running else set())

    def _code(self, step: DeployCode, target: Description, *, half: bool) -> None:
        old = self.deployed.sync
        self._check_contributions(Declared(target))
        markers = dict(self.deployed.markers)
        markers |= {source: Marker("", "") for source in step.unbuilt if old}
        sweeps = dict(self.deployed.sweeps)
        for source in step.leftovers:
            sweeps[source] = (sweeps.get(source) or frozenset()) | set(step.attributes)
        self._change(markers=markers, sweeps=sweeps)
        if half and old is None:
            return
        if self.now >= self.late_until:
            self.late = {}
        for source in (old["code"] if old else ()) if old != target else ():
            assert old
            self.late.setdefault(source, set()).add(old["code"][source])
            if old["code"][source] != target["code"].get(source):
                keys = {
                    name for index in Declared(old).indexes.values() for name in index.attributes
                }
                self.leftovers.setdefault(source, set()).update(keys)
        self.late_until = self.now + LONGEST_WRITE if old else 0.0
        self._change(sync=target, code_at=self.now if old else None)
        if not half:
            self._change(recovery=target["fingerprint"])
        for source, code in target["code"].items():
            self.rows.setdefault(source, set() if half else {"never"}).add(code)

    def _check_contributions(self, declared: Declared) -> None:
        """Hold that new rows contribute to what is followed, and to what is answered."""
        if declared.has_totals and not (self.deployed.stream and self.deployed.totals):
            fail("contributions are written that no function follows")
        for _, shape, _ in self.deployed.live():
            total = self.deployed.total_in_use(shape)
            kept = declared.totals.get(total["name"]) if total else None
            if total and not (kept and total["epoch"][0] in kept["epoch"]):
                fail(f"{shape['name']} is answered from a total that is not kept any more")

    def _watch(self, target: Description) -> None:
        deployed = self.deployed
        functions = (
            deployed.sync == deployed.api == target and deployed.recovery == target["fingerprint"]
        )
        names = {index.name for index in deployed.indexes or () if index.ready}
        if not functions or not Declared(target).indexes.keys() <= names:
            fail("there are alarms on resources that do not exist")
        self._change(watch=monitored_parts(target))

    def _backfill(self, source: str, target: Description) -> None:
        assert self.deployed.sync == target
        assert self.deployed.recovery == target["fingerprint"]
        code = target["code"][source]
        self.rows[source] = {code}
        if self.now < self.late_until:
            self.rows[source] |= self.late.get(source, set())
        marker = Marker(target["fingerprint"], code)
        self._change(markers={**self.deployed.markers, source: marker})

    def _sweep(self, sources: tuple[str, ...], target: Description) -> None:
        assert self.deployed.sync == target
        if self.now < self.late_until and self.late:
            fail("swept while the old code may still write")
        for source in sources:
            self.leftovers.pop(source, None)
        self._change(sweeps={**self.deployed.sweeps, **dict.fromkeys(sources)})

    def unmet(self, target: Description) -> Iterator[str]:
        """Yield how the state still differs from the declared model."""
        declared, deployed = Declared(target), self.deployed
        if {index.name for index in deployed.indexes or ()} != declared.indexes.keys():
            yield f"indexes {[index.name for index in deployed.indexes or ()]}"
        if not (
            deployed.sync == deployed.api == target and deployed.recovery == target["fingerprint"]
        ):
            yield "the model of the functions"
        if deployed.pending:
            yield f"not ready: {deployed.pending}"
        for source, code in target["code"].items():
            if self._made(source) != {code}:
                yield f"rows of {source} by {self._made(source)}"
        if self.leftovers:
            yield f"stale rows {self.leftovers}"
        if declared.has_totals and not (deployed.stream and deployed.totals):
            yield "totals that no function updates"
        if deployed.tables != set(declared.sources):
            yield f"tables {deployed.tables}"
