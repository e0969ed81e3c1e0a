"""Adding or removing view files breaks no test but those about the shop."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv*", "node_modules", "build", "cdk.out", "__pycache__", "*.egg-info"
)
ENGINE = "not slow and not shop"
PARCELS = '''"""Parcels, by carrier."""

from collections.abc import Iterator

from adminview import AccessPattern, Index, Item, Row, Source, key, view

parcels = Source("Parcels", partition_key="parcelId")

by_carrier = Index("ByCarrier", partition="carrier", sort="parcel", include=["data"])

parcels_by_carrier = AccessPattern(
    "parcels-by-carrier", index=by_carrier, partition="{carrier}", about="Parcels of one carrier"
)


@view(parcels)
def parcel(item: Item) -> Iterator[Row]:
    """Show a parcel, and list it under its carrier."""
    yield Row(
        key("PARCEL", item["parcelId"]),
        "PARCEL",
        data=item.pick("parcelId"),
        indexes=[by_carrier(item["carrier"], item["parcelId"])],
    )
'''


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Copy this repository without what was built or installed."""
    repository = Path(shutil.copytree(ROOT, tmp_path / "repository", ignore=NOT_COPIED))
    (repository / "node_modules").symlink_to(ROOT / "node_modules")
    return repository


def run_pytest(repository: Path, *arguments: str) -> None:
    """Run tests of the copy that are not about the shop, and expect them to pass."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=repository,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST")},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]


def run_tests_of_the_engine(repository: Path) -> None:
    """Run unit tests, but for the slower ones with a model of their own, and some commands."""
    own = (f"--ignore-glob=tests/unit/test_{name}*" for name in ("bench", "direct", "simulator"))
    run_pytest(repository, "-m", ENGINE, *own, "tests/unit", "tests/test_architecture.py")
    names = ("test_commands", "test_migrate_command", "test_dev_session", "test_plan_command")
    files = (f"tests/integration/{name}.py" for name in names)
    run_pytest(repository, "-m", ENGINE, "-k", "moto", *files)


@pytest.mark.slow
def test_a_view_file_that_is_added_breaks_only_tests_about_the_shop(repository: Path) -> None:
    (repository / "lambdas/views/parcels.py").write_text(PARCELS)
    run_pytest(repository, "--collect-only")
    run_tests_of_the_engine(repository)


@pytest.mark.slow
def test_another_app_in_place_of_the_shop_breaks_only_tests_about_the_shop(
    repository: Path,
) -> None:
    for folder in ("lambdas/views", "lambdas/migrations"):
        for file in (repository / folder).glob("[!_]*.py"):
            file.unlink()
    (repository / "lambdas/views/parcels.py").write_text(PARCELS)
    suites = ("tests/unit", "tests/integration", "tests/test_architecture.py")
    run_pytest(repository, "--collect-only", *suites)
    run_tests_of_the_engine(repository)
