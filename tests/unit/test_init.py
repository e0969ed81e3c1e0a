"""`adminview init` generates the app that an adopter owns, and overwrites nothing."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from adminview.cli.errors import UsageError
from adminview.cli.main import app
from tests.support.adopter import adopter_environment

ROOT = Path(__file__).parents[2]


def init(directory: Path, *options: str) -> Result:
    return CliRunner().invoke(app, ["init", str(directory), *options])


def files(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}


ENTRY_POINTS = ("api", "build", "bulk", "replay", "sync", "totals", "verify")
APP = {
    *(".gitignore", "MODEL_CHANGES.md", "README.md", "app.py", "cdk.json", "model.lock.json"),
    *("pytest.ini", "requirements.txt"),
    *(f"infra/{name}.py" for name in ("__init__", "app", "stages")),
    *(f"infra/{name}_stack.py" for name in ("api", "recovery", "sources", "sync", "totals")),
    *("infra/view_stack.py", "infra/watch_stack.py"),
    *(f"lambdas/{name}.py" for name in ("__init__", *ENTRY_POINTS)),
    *("lambdas/views/__init__.py", "lambdas/migrations/__init__.py"),
}


def test_it_generates_the_app_with_one_view_and_its_test(tmp_path: Path) -> None:
    done = init(tmp_path / "my-app")
    assert done.exit_code == 0, done.output
    assert files(tmp_path / "my-app") == APP | {"lambdas/views/orders.py", "tests/test_orders.py"}
    assert (tmp_path / "my-app" / "README.md").read_text().startswith("# my-app\n")
    assert f"  cd {tmp_path}/my-app\n" in done.output
    assert "  adminview dev " in done.output


def test_the_stacks_and_handlers_are_those_of_the_reference_app(tmp_path: Path) -> None:
    init(tmp_path / "app")
    for name in [*APP]:
        if name.startswith(("app.py", "cdk.json", "infra/")) or name == "lambdas/sync.py":
            assert (tmp_path / "app" / name).read_text() == (ROOT / name).read_text()


@pytest.mark.shop
def test_the_shop_is_generated_on_request(tmp_path: Path) -> None:
    done = init(tmp_path / "shop", "--example", "shop")
    assert done.exit_code == 0, done.output
    assert "tests/test_shop.py" in files(tmp_path / "shop")
    views = {f"lambdas/views/{name}.py" for name in ("orders", "payments", "products", "users")}
    assert views < files(tmp_path / "shop")
    locked = (tmp_path / "shop" / "model.lock.json").read_text()
    assert locked == (ROOT / "model.lock.json").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("example", ["starter", pytest.param("shop", marks=pytest.mark.shop)])
def test_plain_pytest_passes_in_the_generated_app(tmp_path: Path, example: str) -> None:
    assert init(tmp_path / "app", "--example", example).exit_code == 0
    done = subprocess.run(
        [str(Path(sys.executable).with_name("pytest")), "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path / "app",
        env=adopter_environment(tmp_path),
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


@pytest.mark.parametrize("taken", ["a file in it", "a file instead"])
def test_a_place_that_is_not_empty_is_refused_and_left_alone(tmp_path: Path, taken: str) -> None:
    place = tmp_path / "app"
    if taken == "a file in it":
        place.mkdir()
        (place / "notes.txt").write_text("mine")
    else:
        place.write_text("mine")
    done = init(place)
    assert isinstance(done.exception, UsageError)
    assert "is not empty" in str(done.exception)
    assert place.is_file() or files(place) == {"notes.txt"}


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    assert init(tmp_path).exit_code == 0
    assert "app.py" in files(tmp_path)
