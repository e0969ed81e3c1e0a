"""Check 9: a source is added to the live deployment, and removed again."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeAlias

from adminview.cli.deployment.stacks import SOURCES, SYNC
from adminview.cli.smoke.check import (
    LONGEST,
    Cleanup,
    Seen,
    SmokeCheck,
    UnknownError,
    failed,
    passed,
)
from adminview.cli.smoke.run import SmokeRun
from adminview.model.errors import AdminViewError

# Deploys stacks of the app in a folder, and only these.
Deploy: TypeAlias = Callable[[Path, Sequence[str]], None]

SOURCE: Final = "SmokeScratch"
PARTITION: Final = "SMOKESCRATCH"
ROW_SECONDS: Final = 180.0  # the mapping has just been created
MODULE: Final = "smoke_scratch.py"
VIEW_FILE: Final = '''"""A source that `adminview smoke` adds for some minutes."""

from collections.abc import Iterator

from adminview import AccessPattern, Item, Row, Source, key, view

smoke_scratch = Source("SmokeScratch", partition_key="id")
smoke_scratch_row = AccessPattern("smoke-scratch-row", partition="SMOKESCRATCH#{id}")


@view(smoke_scratch)
def smoke_scratch_item(item: Item) -> Iterator[Row]:
    """Give each item one row."""
    yield Row(key("SMOKESCRATCH", item["id"]), "ROW", data=item.pick("id"))
'''
# Not copied with the app: not needed to deploy it, or linked instead.
LINKED: Final = (".venv", "node_modules")
OMITTED: Final = (*LINKED, ".git", "cdk.out", "build", "dist", "__pycache__", ".*_cache", ".venv-*")


def add_source(run: SmokeRun, cleanup: Cleanup) -> Seen:
    """Deploy the app with one more view file; its items and those of other sources are synced."""
    _check_stacks(run)
    deploy, app = run.options.deploy, Path.cwd()
    if deploy is None or not (app / "cdk.json").exists():
        msg = "there is no cdk.json in this folder"
        raise UnknownError(msg, "run smoke in the folder of the app")
    table, key = f"{run.deployment.prefix}{SOURCE}", (f"{PARTITION}#{run.mark}", "ROW")
    # Undone last: the sync may write the row until the mapping is gone.
    cleanup.add("a row of the view", lambda: run.delete_row(key))
    with _copy_of(app, run.views_folder) as copy:
        cleanup.add(f"the source {SOURCE}", lambda: _remove(deploy, app))
        began = run.clock()
        deploy(copy, [SOURCES])
        # Before the mapping exists: it must begin with the oldest record.
        run.call("dynamodb", "PutItem", TableName=table, Item={"id": {"S": run.mark}})
        try:  # Sources was deployed, so no permission of yours is missing
            deploy(copy, [SYNC])
        except AdminViewError as error:
            return _undeployed(run, error)
    deployed = run.clock() - began
    row, seconds = run.wait(lambda: run.row(key), ROW_SECONDS)
    line = f"deployed in {deployed:.0f} s; "
    if not row:
        words = f"{line}no row of its item within {seconds:.0f} s"
        return failed(words, "run adminview doctor: it checks the mapping of the new source")
    other = run.any_scratch("live-")
    run.put(other, cleanup)
    rows, other_seconds = run.wait(lambda: all(map(run.row, other.rows)), ROW_SECONDS)
    line += f"its item, written before, had its row {seconds:.0f} s later"
    if not rows:
        words = f"{line}; an item of {other.route.source.name} has no rows any more"
        return failed(words, "adminview doctor names what is wrong with its mapping")
    run.call("dynamodb", "DeleteItem", TableName=table, Key={"id": {"S": run.mark}})
    gone, _ = run.wait(lambda: run.row(key) is None, ROW_SECONDS)
    if not gone:
        return failed(f"{line}; the row of a deleted item stays", "read adminview doctor")
    return passed(f"{line}; {other.route.source.name} was synced in {other_seconds:.0f} s")


def _undeployed(run: SmokeRun, error: AdminViewError) -> Seen:
    """Return that the mapping could not be created; the command prints the reason last."""
    name = run.deployment.name_of(SYNC)
    why = f"aws cloudformation describe-stack-events --stack-name {name} shows why"
    advice = f"{why}; report it if the function's role may not read the new stream yet"
    return failed(f"{name} could not be deployed: … {str(error)[-LONGEST:]}", advice)


def _check_stacks(run: SmokeRun) -> None:
    """Raise an UnknownError if the check could not remove the source again."""
    sources = run.deployment.part(SOURCES)
    if run.deployment.stage == "prod" or sources.retains_tables:
        msg = (
            "this check deploys the Sources and Sync stacks four times, which it never does to "
            "prod, and to no stage that keeps its tables"
        )
        raise UnknownError(msg, "run it on a deployment with a scratch prefix")
    if not sources.stack:
        msg = "all source tables are imported, so no stack can create one more"
        raise UnknownError(msg, "run it on a deployment that creates a source table")


def _remove(deploy: Deploy, app: Path) -> None:
    """Deploy the app as it is. The stream is exported as long as Sync imports it: Sync first."""
    deploy(app, [SYNC])
    deploy(app, [SOURCES])


@contextmanager
def _copy_of(app: Path, views: Path) -> Iterator[Path]:
    """Copy the app into a temporary folder, with one more view file."""
    with TemporaryDirectory(prefix="adminview-smoke-") as folder:
        copy = Path(folder, "app").resolve()
        omitted = shutil.ignore_patterns(*OMITTED)

        def ignore(parent: str, names: list[str]) -> set[str]:
            # The temporary folder may be inside the app's.
            around = {name for name in names if copy.is_relative_to(Path(parent, name).resolve())}
            return omitted(parent, names) | around

        shutil.copytree(app, copy, ignore=ignore, symlinks=True)
        for name in LINKED:
            if (app / name).exists():
                (copy / name).symlink_to((app / name).resolve())
        (copy / views / MODULE).write_text(VIEW_FILE, encoding="utf-8")
        yield copy


CHECKS: Final = (
    SmokeCheck(
        9,
        "A source can be added to a live deployment",
        "items that were written before the mapping existed get rows; other sources stay synced",
        add_source,
        minutes=7,
        cents=1,
    ),
)
