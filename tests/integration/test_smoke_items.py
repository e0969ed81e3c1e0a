"""The checks of `adminview smoke` that move items, on real engines: sound, and broken once each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adminview.aws.deadline import Deadline
from adminview.cli.deployment.stacks import SOURCES, SYNC
from adminview.cli.planning.apply import PlanError
from adminview.cli.planning.steps import Phase
from adminview.cli.smoke.check import SmokeStatus
from adminview.cli.smoke.letters import LetterQueue
from adminview.cli.smoke.run import SmokeOptions, SmokeRun
from adminview.local.local_cloud import LocalCloud
from adminview.model.row import VIEW_TABLE, Attributes, RowKey, key_of
from adminview.views import views_package
from tests.support.deployment import Deployment, sound
from tests.support.local_deployer import LocalDeployer
from tests.support.model import registry
from tests.support.smoke import MARK, Waiting, samples, seen, smoke_run
from tests.support.view_files import with_view_file

PASSED, FAILED, UNKNOWN = SmokeStatus.PASSED, SmokeStatus.FAILED, SmokeStatus.UNKNOWN
DYNAMODB_CALLS = ("put_item", "get_item", "delete_item", "describe_table", "query")


class Lab:
    """A run whose tables and queue are an engine's; records are delivered while it waits."""

    def __init__(self, cloud: LocalCloud, here: Deployment | None = None) -> None:
        self.cloud = cloud
        self.waiting = Waiting()
        self.waiting.meanwhile = cloud.settle
        self.answers = {name: getattr(cloud.clients.dynamodb, name) for name in DYNAMODB_CALLS}
        self.replay: Callable[..., dict[str, Any]] = self._replay
        self.here = here or sound()

    def _replay(self, letter_filter: Any) -> dict[str, Any]:
        deadline = Deadline.after(60)
        return (
            self.cloud.replayer().replay(letter_filter, deadline=deadline, end=deadline).as_dict()
        )

    def run(self, **changes: Any) -> SmokeRun:
        letters = LetterQueue(self.cloud.replayer(), self.replay)
        return smoke_run(self.here, self.answers, stop=self.waiting, letters=letters, **changes)

    @property
    def left(self) -> list[Any]:
        """Deliver everything, and return the items, rows and dead letters that are left."""
        self.waiting.meanwhile = lambda: None
        self.cloud.settle()
        dynamodb = self.cloud.clients.dynamodb
        tables = [*(source.name for source in registry().sources), VIEW_TABLE]
        return [item for table in tables for item in dynamodb.scan(TableName=table)["Items"]]


@pytest.fixture
def lab(cloud: LocalCloud) -> Lab:
    return Lab(cloud)


def test_rows_move_with_the_items_of_every_source_and_nothing_is_left(lab: Lab) -> None:
    result = seen(1, lab.run())
    assert result.status is PASSED, result
    for source in registry().sources:
        assert f"{source.name}: " in result.seen
    assert result.seen.count("moved") == len(registry().sources)
    assert lab.left == []


def test_items_of_others_stay_as_they_are(lab: Lab) -> None:
    for sample in samples():
        lab.cloud.clients.dynamodb.put_item(TableName=sample.source.name, Item=sample.image)
    lab.cloud.settle()
    before = {key_of(row): row for row in lab.cloud.rows()}
    assert seen(1, lab.run()).status is PASSED
    lab.cloud.settle()
    assert {key_of(row): row for row in lab.cloud.rows()} == before


def test_a_sync_that_does_nothing_fails_and_the_items_are_deleted(lab: Lab) -> None:
    lab.waiting.meanwhile = lambda: None
    result = seen(1, lab.run())
    assert (result.status, "rows are missing or wrong after the put" in result.seen) == (
        FAILED,
        True,
    )
    assert lab.left == []


def restoring(lab: Lab, change: Callable[[Attributes], Attributes]) -> Callable[[], None]:
    """Deliver records, and then put back changed rows that were there once."""
    known: dict[RowKey, Attributes] = {}

    def settle() -> None:
        lab.cloud.settle()
        known.update({key_of(row): row for row in lab.cloud.rows()})
        for row in known.values():
            lab.cloud.clients.dynamodb.put_item(TableName=VIEW_TABLE, Item=change(row))

    return settle


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda row: row, "rows are stale"),
        (lambda row: {**row, "data": {"M": {}}}, "rows are missing or wrong"),
    ],
)
def test_rows_that_stay_or_are_wrong_fail(
    lab: Lab, change: Callable[[Attributes], Attributes], words: str
) -> None:
    lab.waiting.meanwhile = restoring(lab, change)
    result = seen(1, lab.run())
    assert (result.status, words in result.seen) == (FAILED, True), result


def test_a_source_without_a_sample_item_is_unknown(lab: Lab) -> None:
    run = lab.run()
    run.samples = [sample for sample in run.samples if sample.source.name != "Users"]
    result = seen(1, run)
    assert (result.status, "no sample item of Users" in result.seen) == (UNKNOWN, True)
    assert "--items-file" in result.follows


def test_an_imported_table_is_written_only_if_allowed(cloud: LocalCloud) -> None:
    here = sound()
    stack = here.stacks["AdminView-dev-Sources"]
    del stack["template"]["Resources"]["Users"]
    result = seen(1, Lab(cloud, here).run())
    assert (result.status, "Users is an imported table" in result.seen) == (UNKNOWN, True)
    assert "--imported" in result.follows
    allowed = Lab(cloud, here).run(options=SmokeOptions(imported=True))
    assert seen(1, allowed).status is PASSED


def test_an_interruption_deletes_the_item(lab: Lab) -> None:
    def interrupt() -> None:
        lab.waiting.event.set()

    lab.waiting.meanwhile = interrupt
    result = seen(1, lab.run())
    assert (result.status, result.seen) == (UNKNOWN, "the run was interrupted")
    assert lab.left == []


def test_a_poison_item_is_dead_lettered_and_a_replay_clears_it(lab: Lab) -> None:
    result = seen(2, lab.run())
    assert result.status is PASSED, result
    assert "a replay cleared 2 and the rows are right" in result.seen
    assert lab.left == []
    assert lab.cloud.letters() == []


@pytest.mark.slow
def test_a_failure_without_a_dead_letter_fails(lab: Lab) -> None:
    def lose() -> None:
        lab.cloud.settle()
        lab.cloud.letters()

    lab.waiting.meanwhile = lose
    result = seen(2, lab.run())
    assert (result.status, "no dead letter within" in result.seen) == (FAILED, True)


def test_a_replay_that_clears_nothing_fails(lab: Lab) -> None:
    lab.replay = lambda _: {"outcomes": {}}
    result = seen(2, lab.run())
    assert (result.status, "after the replay 2 are left" in result.seen) == (FAILED, True)


def test_a_replay_that_leaves_rows_wrong_fails(lab: Lab) -> None:
    def replay(chosen: Any) -> dict[str, Any]:
        summary = lab._replay(chosen)
        for row in lab.cloud.rows():
            key = {name: row[name] for name in ("PK", "SK")}
            lab.cloud.clients.dynamodb.delete_item(TableName=VIEW_TABLE, Key=key)
        return summary

    lab.replay = replay
    result = seen(2, lab.run())
    assert (result.status, "rows are missing or wrong" in result.seen) == (FAILED, True)


class App:
    """An app in a folder, and what deploys it to the engine."""

    def __init__(self, folder: Path, lab: Lab) -> None:
        self.folder, self.lab = folder, lab
        self.views = Path(*views_package().split("."))
        (folder / self.views).mkdir(parents=True)
        (folder / "cdk.json").write_text("{}")
        (folder / ".venv").mkdir()
        self.deployer = LocalDeployer(lab.cloud, registry(), registry())
        self.deployed: list[tuple[bool, str]] = []  # whether with the new source, and the stack
        self.broken: Mapping[str, bool] = {}

    def deploy(self, folder: Path, stacks: Sequence[str]) -> None:
        """Deploy the view files of a folder."""
        file = folder / self.views / "smoke_scratch.py"
        assert (folder / ".venv").exists()
        model = registry()
        if file.exists():
            model = with_view_file(file, file.read_text())
        (stack,) = stacks
        self.deployed.append((file.exists(), stack))
        if self.broken.get(stack) and file.exists():
            return
        self.deployer = replace(self.deployer, model=model)
        self.deployer.deploy(stacks, Phase())


@pytest.fixture
def app(tmp_path: Path, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> App:
    monkeypatch.chdir(tmp_path)
    return App(tmp_path, lab)


ADDED_AND_REMOVED = [(True, SOURCES), (True, SYNC), (False, SYNC), (False, SOURCES)]


def test_a_source_is_added_and_removed_again(app: App, lab: Lab) -> None:
    result = seen(9, lab.run(options=SmokeOptions(deploy=app.deploy)))
    assert result.status is PASSED, result
    assert app.deployed == ADDED_AND_REMOVED
    assert lab.left == []
    assert not (app.folder / app.views / "smoke_scratch.py").exists()


def test_the_app_may_contain_the_folder_of_temporary_files(
    app: App, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    (app.folder / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(app.folder / "tmp"))
    result = seen(9, lab.run(options=SmokeOptions(deploy=app.deploy)))
    assert result.status is PASSED, result


def test_a_source_that_is_not_followed_fails_and_is_removed(app: App, lab: Lab) -> None:
    app.broken = {SYNC: True}
    result = seen(9, lab.run(options=SmokeOptions(deploy=app.deploy)))
    assert (result.status, "no row of its item" in result.seen) == (FAILED, True)
    assert app.deployed == ADDED_AND_REMOVED
    assert lab.left == []


def test_sources_that_are_no_longer_synced_fail(app: App, lab: Lab) -> None:
    """Stop following the other sources when the new one is added."""

    def deploy(folder: Path, stacks: Sequence[str]) -> None:
        app.deploy(folder, stacks)
        if stacks == [SYNC]:
            kept = app.deployer.created.values()
            lab.cloud.sources[:] = [source for source in lab.cloud.sources if source in kept]

    result = seen(9, lab.run(options=SmokeOptions(deploy=deploy)))
    assert (result.status, "has no rows any more" in result.seen) == (FAILED, True)
    assert lab.left == []


def test_a_mapping_that_cannot_be_created_fails_and_is_taken_back(app: App, lab: Lab) -> None:
    def deploy(folder: Path, stacks: Sequence[str]) -> None:
        app.deploy(folder, stacks)
        if app.deployed == ADDED_AND_REMOVED[:2]:
            msg = f"`cdk deploy` failed; it ended with\n{'…' * 400}\nCannot access stream"
            raise PlanError(msg)

    result = seen(9, lab.run(options=SmokeOptions(deploy=deploy)))
    assert (result.status, result.seen[-20:]) == (FAILED, "Cannot access stream")
    assert app.deployed == ADDED_AND_REMOVED


def test_an_interrupted_deployment_is_taken_back(app: App, lab: Lab) -> None:
    def deploy(folder: Path, stacks: Sequence[str]) -> None:
        app.deploy(folder, stacks)
        lab.waiting.event.set()

    result = seen(9, lab.run(options=SmokeOptions(deploy=deploy)))
    assert (result.status, result.seen) == (UNKNOWN, "the run was interrupted")
    assert app.deployed[-2:] == ADDED_AND_REMOVED[-2:]


def test_an_interruption_after_the_row_was_written_deletes_the_row(app: App, lab: Lab) -> None:
    def deploy(folder: Path, stacks: Sequence[str]) -> None:
        app.deploy(folder, stacks)
        if app.deployed == ADDED_AND_REMOVED[:2]:
            lab.cloud.settle()
            assert lab.left, "the row of the new source"
            lab.waiting.event.set()

    result = seen(9, lab.run(options=SmokeOptions(deploy=deploy)))
    assert (result.status, result.seen) == (UNKNOWN, "the run was interrupted")
    assert lab.left == []


def test_prod_and_a_folder_without_an_app_get_no_new_source(
    app: App, lab: Lab, tmp_path: Path
) -> None:
    run = lab.run(options=SmokeOptions(deploy=app.deploy))
    run.deployment = replace(run.deployment, stage="prod")
    assert seen(9, run).status is UNKNOWN
    kept = lab.run(options=SmokeOptions(deploy=app.deploy))
    part = kept.deployment.part(SOURCES)
    assert part.stack
    for resource in part.stack.template["Resources"].values():
        resource["DeletionPolicy"] = "RetainExceptOnCreate"
    assert "keeps its tables" in seen(9, kept).seen
    (tmp_path / "cdk.json").unlink()
    assert seen(9, lab.run(options=SmokeOptions(deploy=app.deploy))).status is UNKNOWN
    assert app.deployed == []


def test_a_deployment_that_creates_no_source_table_gets_no_new_source(app: App, lab: Lab) -> None:
    del lab.here.stacks[f"AdminView-dev-{SOURCES}"]
    result = seen(9, lab.run(options=SmokeOptions(deploy=app.deploy)))
    assert (result.status, "all source tables are imported" in result.seen) == (UNKNOWN, True)
    assert app.deployed == []


def test_scratch_items_have_the_mark_of_the_run(lab: Lab) -> None:
    run = lab.run()
    for source in registry().sources:
        item = run.scratch(source.name)
        assert MARK in item.owner
        assert all(MARK in "".join(key) for key in item.rows)
