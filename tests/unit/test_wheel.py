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


@pytest.mark.slow
def test_the_command_of_the_wheel_finds_the_views_of_the_folder_it_runs_in(
    wheel: Path, tmp_path: Path
) -> None:
    installed, app = tmp_path / "installed", tmp_path / "app"
    install = ["-m", "pip", "install", "--quiet", "--no-deps", "--target", str(installed)]
    subprocess.run([sys.executable, *install, str(wheel)], check=True)
    (app / "lambdas" / "views").mkdir(parents=True)
    (app / "lambdas" / "views" / "parcels.py").write_text(VIEW_FILE)
    code = (
        "import adminview, sys; from adminview.cli.main import main; "
        "assert adminview.__file__.startswith(sys.argv.pop(1)); main()"
    )

    def run(folder: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", code, str(installed), "patterns"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(installed)},
            check=False,
            capture_output=True,
            text=True,
        )

    assert "One parcel" in run(app).stdout
    elsewhere = run(tmp_path)
    assert elsewhere.returncode != 0
    assert "there is no package lambdas.views for view files" in elsewhere.stderr
