"""The wheel holds the library and nothing else, and its command works in an app's folder."""

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[2]
VIEW_FILE = """
from adminview import AccessPattern, Item, Row, Source, key, view

parcels = Source("Parcels", partition_key="id")
parcel_of = AccessPattern("parcel", partition="PARCEL#{id}", about="One parcel")

@view(parcels)
def parcel(item: Item):
    yield Row(key("PARCEL", item["id"]), "PARCEL", data=item.pick("id"))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel as `pip install .` does."""
    folder = tmp_path_factory.mktemp("wheel")
    build = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run([sys.executable, *build], check=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.mark.slow
def test_the_only_package_in_the_wheel_is_adminview(wheel: Path) -> None:
    names = ZipFile(wheel).namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"adminview"}
    assert "adminview/py.typed" in names
    assert "adminview/cdk/bundle.py" in names


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel, beside the dependencies that this environment has."""
    folder = tmp_path_factory.mktemp("installed")
    install = ["-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder)]
    subprocess.run([sys.executable, *install, str(wheel)], check=True)
    return folder


@pytest.fixture
def app(tmp_path: Path) -> Path:
    """Make the folder of an app that is not the shop."""
    views = tmp_path / "app" / "lambdas" / "views"
    views.mkdir(parents=True)
    (views / "parcels.py").write_text(VIEW_FILE)
    return tmp_path / "app"


def run(installed: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the installed wheel in *folder*."""
    code = (
        "import adminview, sys; from adminview.cli.main import main; "
        "assert adminview.__file__.startswith(sys.argv.pop(1)); main()"
    )
    return subprocess.run(
        [sys.executable, "-c", code, str(installed), *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(installed), "COLUMNS": "80", "NO_COLOR": "1"},
        check=False,
        capture_output=True,
        text=True,
    )


@pytest.mark.slow
def test_the_command_of_the_wheel_finds_the_views_of_the_folder_it_runs_in(
    installed: Path, app: Path, tmp_path: Path
) -> None:
    assert "One parcel" in run(installed, app, "patterns").stdout
    elsewhere = run(installed, tmp_path, "patterns")
    assert elsewhere.returncode != 0
    assert "there is no package lambdas.views for view files" in elsewhere.stderr


@pytest.mark.slow
def test_the_demo_of_the_wheel_runs_the_shop_in_any_folder(
    installed: Path, app: Path, tmp_path: Path
) -> None:
    for folder in (tmp_path, app):
        demo = run(installed, folder, "demo")
        assert demo.returncode == 0, demo.stderr
        assert "orders-by-status" in demo.stdout
        assert "parcel" not in demo.stdout
