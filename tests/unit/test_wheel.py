"""The wheel and the sdist contain only the library, and work in the folder of an app."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement

from adminview.console.build import build

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
NOT_COPIED = shutil.ignore_patterns(
    ".*", "node_modules", "build", "cdk.out", "__pycache__", "*.egg-info"
)
VIEW_FILE = """
from adminview import AccessPattern, Item, Row, Source, key, view

parcels = Source("Parcels", partition_key="id")
parcel_of = AccessPattern("parcel", partition="PARCEL#{id}", about="One parcel")

@view(parcels)
def parcel(item: Item):
    yield Row(key("PARCEL", item["id"]), "PARCEL", data=item.pick("id"))
"""


def run(*command: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command outside of this checkout's environment."""
    hidden = ("PYTHONPATH", "ADMINVIEW_VIEWS", "ADMINVIEW_MIGRATIONS")
    plain = {name: value for name, value in os.environ.items() if name not in hidden}
    return subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=plain | {"COLUMNS": "80", "NO_COLOR": "1"},
        check=False,
        capture_output=True,
        text=True,
    )


def pip(environment: Path, *arguments: str | Path) -> None:
    done = run(environment / "bin/python", "-m", "pip", *arguments)
    assert done.returncode == 0, done.stderr


def empty_environment(folder: Path) -> Path:
    """Make a virtual environment with nothing but pip."""
    assert run(sys.executable, "-m", "venv", folder).returncode == 0
    return folder


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the sdist in a copy of the checkout, where nothing was built before."""
    folder = tmp_path_factory.mktemp("sdist")
    builder = empty_environment(folder / "builder")
    pip(builder, "install", "--quiet", *PROJECT["build-system"]["requires"])
    checkout = shutil.copytree(ROOT, folder / "checkout", ignore=NOT_COPIED)
    code = "import sys; from setuptools.build_meta import build_sdist; build_sdist(sys.argv[1])"
    done = run(builder / "bin/python", "-c", code, folder, cwd=checkout)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.tar.gz")
    return built


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from the sdist alone."""
    folder = tmp_path_factory.mktemp("wheel")
    environment = empty_environment(folder / "builder")
    pip(environment, "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, sdist)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture
def app(tmp_path: Path) -> Path:
    """Make the folder of an app that is not the shop."""
    views = tmp_path / "app" / "lambdas" / "views"
    views.mkdir(parents=True)
    (views / "parcels.py").write_text(VIEW_FILE)
    return tmp_path / "app"


@pytest.mark.slow
def test_the_only_package_in_the_wheel_is_adminview(wheel: Path) -> None:
    names = ZipFile(wheel).namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"adminview"}
    assert {"adminview/py.typed", "adminview/__init__.pyi"} <= {*names}
    assert "adminview/cdk/bundle.py" in names


@pytest.mark.slow
def test_the_wheel_contains_the_built_page_of_the_console(wheel: Path, tmp_path: Path) -> None:
    build(tmp_path / "static")
    page = {path.name.partition(".")[0] for path in tmp_path.rglob("*") if path.is_file()}
    names = [Path(name) for name in ZipFile(wheel).namelist() if "/console/static/" in name]
    assert {path.name.partition(".")[0] for path in names} == page
    assert Path("adminview/console/static/index.html") in names


@pytest.mark.slow
@pytest.mark.parametrize("built", ["wheel", "sdist"])
def test_what_is_built_works_in_an_empty_environment(
    built: str, request: pytest.FixtureRequest, app: Path, tmp_path: Path
) -> None:
    environment = empty_environment(tmp_path / "environment")
    constraints = ("--constraint", ROOT / "constraints.txt")
    archive = request.getfixturevalue(built)
    pip(environment, "install", "--quiet", *constraints, archive)

    command = environment / "bin/adminview"
    assert run(command, "--version").stdout.strip() == PROJECT["project"]["version"]
    assert "One parcel" in run(command, "patterns", cwd=app).stdout
    elsewhere = run(command, "patterns", cwd=tmp_path)
    assert elsewhere.returncode != 0
    assert "there is no package lambdas.views for view files" in elsewhere.stderr

    (record,) = environment.glob("lib/python3.*/site-packages/adminview-*.dist-info/RECORD")
    names = {line.partition("/")[0] for line in record.read_text().splitlines()}
    assert names == {"adminview", record.parent.name, ".."}  # above it is bin/adminview


@pytest.mark.shop
@pytest.mark.slow
def test_the_demo_of_the_wheel_runs_the_shop_in_any_folder(
    wheel: Path, app: Path, tmp_path: Path
) -> None:
    environment = empty_environment(tmp_path / "environment")
    constraints = ("--constraint", ROOT / "constraints.txt")
    pip(environment, "install", "--quiet", "--no-compile", *constraints, f"{wheel}[local]")
    for folder in (tmp_path, app):
        demo = run(environment / "bin/adminview", "demo", cwd=folder)
        assert demo.returncode == 0, demo.stderr
        assert "query buyers-of-product" in demo.stdout
        assert "parcel" not in demo.stdout


NODE = ROOT / "node_modules" / ".bin"
PUT_AN_ITEM = """
from adminview.testing import local_view
from lambdas.views.orders import orders

with local_view() as view:
    view.put(orders, {"orderId": "o-7", "customerId": "c-1", "status": "PAID", "createdAt": "x"})
    (row,) = view.query("open-orders", status="PAID")
    print(row["PK"], row["SK"])
"""


@pytest.mark.slow
def test_a_generated_app_is_tested_synthesized_and_shows_a_row_without_this_checkout(
    wheel: Path, tmp_path: Path
) -> None:
    environment = empty_environment(tmp_path / "environment")
    constraints = ("--constraint", ROOT / "constraints.txt")
    pip(environment, "install", "--quiet", *constraints, f"{wheel}[cdk,local]", "pytest")
    python, app = environment / "bin/python", tmp_path / "my-app"
    done = run(environment / "bin/adminview", "init", app)
    assert done.returncode == 0, done.stderr

    tests = run(environment / "bin/pytest", "-q", cwd=app)
    assert "2 passed" in tests.stdout, tests.stdout

    path = os.pathsep.join([str(environment / "bin"), str(NODE), os.environ["PATH"]])
    synth = run("env", f"PATH={path}", "cdk", "synth", "--quiet", cwd=app)
    assert synth.returncode == 0, synth.stderr
    assert len([*app.glob("cdk.out/*.template.json")]) == 6
    for manifest in app.glob("cdk.out/asset.*/adminview-manifest.json"):
        bundled = {str(path.relative_to(manifest.parent)) for path in manifest.parent.rglob("*.py")}
        assert "lambdas/views/orders.py" in bundled
        assert "adminview/handlers/sync.py" in bundled
        assert not [name for name in bundled if name.startswith(("infra", "adminview/cli/"))]

    row = run(python, "-c", PUT_AN_ITEM, cwd=app)
    assert row.stdout.strip() == "CUSTOMER#c-1 ORDER#o-7", row.stderr

    check = run(environment / "bin/adminview", "model", "diff", cwd=app)
    assert check.returncode == 0, check.stdout + check.stderr


def pinned(file: str) -> dict[str, str]:
    """Read the packages that a list of requirements names itself, and their versions."""
    lines = (ROOT / file).read_text().splitlines()
    matches = (re.fullmatch(r"([\w.-]+)(?:\[[\w,]+\])?==(\S+)", line) for line in lines)
    return {match[1]: match[2] for match in matches if match}


def requirements(lines: Iterable[str]) -> dict[str, Requirement]:
    return {
        requirement.name: requirement
        for requirement in map(Requirement, lines)
        if requirement.name != "adminview"
    }


def test_the_pinned_versions_are_those_that_the_package_asks_for() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    assert sorted(extras) == ["cdk", "dev", "local"]
    runs = requirements([*PROJECT["project"]["dependencies"], *extras["cdk"]])
    develops = requirements([*extras["local"], *extras["dev"]])
    for file, needed in (("requirements.txt", runs), ("requirements-dev.txt", develops)):
        versions = pinned(file)
        assert versions.keys() == needed.keys()
        for name, version in versions.items():
            assert needed[name].specifier.contains(version), name
