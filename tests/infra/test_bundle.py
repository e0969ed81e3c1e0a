"""The bundle holds what the functions need, and is the same wherever it is built."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from hashlib import sha256
from importlib import import_module
from pathlib import Path

import pytest

from adminview.aws.manifest import NAME, Manifest
from adminview.cdk import bundle as bundling
from adminview.cdk.bundle import LIBRARY, NOT_DEPLOYED, BundleError
from adminview.model import Registry
from tests.support.shop import registry

HANDLERS = ("api", "build", "bulk", "replay", "sync", "totals", "verify")
CODE = {
    "adminview",
    "adminview-manifest.json",
    "lambdas",
    "aws_lambda_powertools",
    "jmespath",
    "orjson",
    "typing_extensions.py",
}
IMPORT_EVERYTHING = """
import sys
from importlib import import_module
from pathlib import Path
from unittest.mock import MagicMock

bundle = Path(sys.argv[1])
sys.path.insert(0, str(bundle))
# The runtime's own, which is not ours to bundle.
boto3 = ("boto3", "boto3.dynamodb", "boto3.dynamodb.types")
botocore = ("config", "exceptions", "parsers", "session", "utils")
for name in (*boto3, "botocore", *(f"botocore.{name}" for name in botocore)):
    sys.modules[name] = MagicMock()
for path in sorted([*bundle.glob("adminview/**/*.py"), *bundle.glob("lambdas/**/*.py")]):
    name = ".".join(path.relative_to(bundle).with_suffix("").parts)
    module = import_module(name.removesuffix(".__init__"))
    assert Path(module.__file__).is_relative_to(bundle), module
from adminview.views import registry
print(len(registry().sources))
"""


def build(directory: Path = bundling.BUILD, *, tracing: bool = False) -> Path:
    """Build the shop's bundle."""
    return bundling.build_bundle(
        registry(), manifest_of(registry()), handlers="lambdas", tracing=tracing, build=directory
    )


def manifest_of(views: Registry) -> Manifest:
    return Manifest(views.fingerprint, tuple(module.__name__ for module in views.modules))


def code_in(directory: Path) -> set[str]:
    """Return the top-level names; bytecode is there only if the runtime's Python is."""
    names = {path.name for path in directory.iterdir()} - {"__pycache__"}
    return {name for name in names if not name.endswith(".dist-info")}


def contents(directory: Path) -> dict[str, tuple[str, int]]:
    return {
        str(path.relative_to(directory)): (
            sha256(path.read_bytes()).hexdigest(),
            path.stat().st_mode,
        )
        for path in directory.rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module")
def built() -> Path:
    return build()


def test_the_bundle_holds_our_package_and_its_dependencies_and_nothing_else(built: Path) -> None:
    assert code_in(built) == CODE


def test_what_is_compiled_is_for_the_machine_that_lambda_has(built: Path) -> None:
    assert {path.name for path in built.glob("**/*.so*")} == {
        "orjson.cpython-313-aarch64-linux-gnu.so"
    }


def test_the_library_is_bundled_module_by_module(built: Path) -> None:
    inside = built / "adminview"
    bundled = {path.relative_to(inside) for path in inside.rglob("*.py")}
    ours = {path.relative_to(LIBRARY) for path in LIBRARY.rglob("*.py")}
    assert bundled == {
        path for path in ours if not any(path.is_relative_to(part) for part in NOT_DEPLOYED)
    }
    assert not any("operations" in path.parts for path in bundled), "the deployed API is read-only"
    for path in bundled:
        assert (inside / path).read_bytes() == (LIBRARY / path).read_bytes()


def test_the_app_is_bundled_as_handlers_and_the_views_of_the_registry(built: Path) -> None:
    bundled = {str(path.relative_to(built)) for path in (built / "lambdas").rglob("*.py")}
    handlers = {f"lambdas/{name}.py" for name in HANDLERS}
    views = {f"{module.__name__.replace('.', '/')}.py" for module in registry().modules}
    packages = {"lambdas/__init__.py", "lambdas/views/__init__.py"}
    assert bundled == handlers | views | packages


def test_the_bundle_holds_no_command_no_construct_and_no_engine(built: Path) -> None:
    assert not {"cdk", "cli", "examples", "local"} & {
        path.name for path in (built / "adminview").iterdir()
    }


def test_the_bundle_needs_nothing_but_python_and_the_runtimes_boto3(built: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-B", "-c", IMPORT_EVERYTHING, str(built.resolve())],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 4


def test_only_a_bundle_that_traces_holds_the_xray_sdk_and_none_holds_botocore() -> None:
    assert code_in(build(tracing=True)) == CODE | {"aws_xray_sdk", "wrapt", "wrapt-stubs"}


def test_the_bundle_is_the_same_wherever_and_whenever_it_is_built(
    built: Path, tmp_path: Path
) -> None:
    umask = os.umask(0o077)
    try:
        again = build(tmp_path)
    finally:
        os.umask(umask)
    assert again.name == built.name
    assert contents(again) == contents(built)
    assert {oct(mode) for _, mode in contents(again).values()} == {"0o100644"}


def test_the_build_prints_the_size_once_per_process(
    built: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundling._report.cache_clear()
    for _ in range(2):
        build()
    assert capsys.readouterr().err.count(f"Lambda bundle {built.name}: ") == 1


def fail(*_: object, **__: object) -> None:
    pytest.fail("nothing should be built again")


@pytest.mark.usefixtures("built")
def test_what_is_built_is_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundling, "_install", fail)
    monkeypatch.setattr(bundling, "_check", fail)
    build()


def test_changed_pins_make_another_bundle(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pins = tmp_path / "requirements.txt"
    pins.write_text("other==1.0\n")
    monkeypatch.setattr(bundling, "REQUIREMENTS", pins)
    monkeypatch.setattr(bundling, "_install", lambda _, target: (target / "other.py").touch())
    other = build(tmp_path / "build")
    assert other.name != built.name
    assert code_in(other) == {"adminview", NAME, "lambdas", "other.py"}


def interrupted(target: Path) -> None:
    (target / "half").touch()
    raise KeyboardInterrupt


def test_an_interrupted_build_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        bundling._once(tmp_path / "bundle", interrupted)
    assert list(tmp_path.iterdir()) == []


def test_a_build_appears_in_one_step_when_it_is_whole(tmp_path: Path) -> None:
    directory = tmp_path / "bundle"
    inodes = []

    def make(target: Path) -> None:
        assert not directory.exists()
        (target / "file").touch()
        inodes.append(target.stat().st_ino)

    bundling._once(directory, make)
    assert directory.stat().st_ino == inodes[0], "copied, so that others could see half of it"


def beaten_to(directory: Path) -> Callable[[Path], None]:
    def make(target: Path) -> None:
        (target / "file").write_text("ours")
        directory.mkdir()
        (directory / "file").write_text("theirs")

    return make


def test_of_two_builds_at_once_the_first_one_stands(tmp_path: Path) -> None:
    directory = tmp_path / "bundle"
    assert bundling._once(directory, beaten_to(directory)) == directory
    assert (directory / "file").read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [directory]


def test_when_pip_fails_the_error_shows_the_command_and_what_to_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pins = tmp_path / "requirements.txt"
    pins.write_text("-r missing.txt\n")
    monkeypatch.setattr(bundling, "REQUIREMENTS", pins)
    with pytest.raises(BundleError) as caught:
        build(tmp_path / "build")
    message = str(caught.value)
    assert f"{sys.executable} -m pip install" in message
    assert "manylinux2014_aarch64" in message
    assert "missing.txt" in message
    assert "Check that this Python has pip" in message
    assert list((tmp_path / "build").iterdir()) == []


VIEW = """
from app_a.money import cents
from adminview import Item, Row, Source, view

parcels = Source("Parcels", partition_key="id")


@view(parcels)
def parcel(item: Item):
    yield Row(f"PARCEL#{item['id']}", "DETAILS", data={"cents": cents(item["price"])})
"""
LOAD_VIEW = """
import marshal, sys
sys.path.insert(0, sys.argv[1])
from app_a.rows import parcels
with open(parcels.__cached__, "rb") as file:
    print(marshal.loads(file.read()[16:]).co_filename)
"""
OTHER = """
from adminview import Row, Source, view

secrets = Source("Secrets", partition_key="id")


@view(secrets)
def secret(item):
    yield Row("A", "B")
"""


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Write an app of another layout: two view files, and a module that one of them imports."""
    folder = tmp_path / "app_a"
    (folder / "rows").mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "rows" / "__init__.py").touch()
    (folder / "rows" / "parcels.py").write_text(VIEW)
    (folder / "rows" / "secrets.py").write_text(OTHER)
    (folder / "money.py").write_text(
        "from . import rounding\n\n\ndef cents(price):\n    return rounding.near(price * 100)\n"
    )
    (folder / "rounding.py").write_text("def near(number):\n    return round(number)\n")
    (folder / "unused.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "app_a"]:
        del sys.modules[name]


def load(module: str) -> Registry:
    return Registry.of([import_module(module)])


def build_app(views: Registry, folder: Path) -> Path:
    return bundling.build_bundle(views, manifest_of(views), build=folder / "build")


def app_files(bundle: Path) -> set[str]:
    return {str(path.relative_to(bundle)) for path in bundle.glob("app_a/**/*.py")}


@pytest.mark.usefixtures("light")
def test_the_bundle_holds_the_registrys_modules_with_their_local_imports_and_no_other_views(
    app: Path,
) -> None:
    bundle = build_app(load("app_a.rows.parcels"), app)
    assert app_files(bundle) == {
        "app_a/__init__.py",
        "app_a/money.py",
        "app_a/rounding.py",
        "app_a/rows/__init__.py",
        "app_a/rows/parcels.py",
    }
    assert not (bundle / "lambdas").exists()


@pytest.mark.usefixtures("light")
def test_an_isolated_interpreter_finds_the_same_fingerprint_in_the_bundles_files(
    app: Path,
) -> None:
    views = load("app_a.rows.parcels")
    bundle = build_app(views, app)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-B", "-c", bundling.DESCRIBE, str(bundle)],
        check=True,
        capture_output=True,
        text=True,
        cwd="/",
    )
    assert json.loads(done.stdout)["fingerprint"] == views.fingerprint


def test_a_change_of_a_module_that_a_view_imports_changes_the_fingerprint(app: Path) -> None:
    before = load("app_a.rows.parcels")
    before_model, before_code = before.fingerprint, before.description()["code"]
    (app / "rounding.py").write_text("def near(number):\n    return int(number)\n")
    after = load("app_a.rows.parcels")
    assert after.fingerprint != before_model
    assert after.description()["code"] != before_code


@pytest.mark.usefixtures("light")
def test_synthesis_fails_and_names_both_sides_if_the_bundle_would_run_another_model(
    app: Path,
) -> None:
    views = load("app_a.rows.parcels")
    declared = views.fingerprint
    changed = VIEW.replace('"Parcels"', '"Boxes"')
    (app / "rows" / "parcels.py").write_text(changed)  # after Python has imported it
    with pytest.raises(BundleError) as caught:
        build_app(views, app)
    printed = str(caught.value)
    assert f"the stacks are built for model {declared}, but the Lambda bundle would run" in printed
    assert "source 'Parcels': only in the stacks" in printed
    assert "source 'Boxes': only in the bundle" in printed
    assert not [path for path in (app / "build").iterdir() if "dependencies" not in path.name]


@pytest.mark.usefixtures("light")
def test_a_view_that_imports_a_package_which_the_bundle_lacks_is_refused(app: Path) -> None:
    (app / "money.py").write_text("import rich\n\n\ndef cents(price):\n    return price\n")
    with pytest.raises(BundleError) as caught:
        build_app(load("app_a.rows.parcels"), app)
    printed = str(caught.value)
    assert "No module named 'rich'" in printed
    assert "requirements.txt" in printed


@pytest.fixture
def light(monkeypatch: pytest.MonkeyPatch) -> None:
    """Install no dependencies: these tests look at the app's own files."""
    monkeypatch.setattr(bundling, "_install", lambda *_: None)


def interpreters() -> dict[str, str]:
    """Return this interpreter, and that of the runtime's version, if it is installed."""
    runtime = bundling.runtime_python()
    return {"this": sys.executable} | ({"runtime": runtime} if runtime else {})


@pytest.mark.parametrize("python", interpreters().values(), ids=interpreters())
@pytest.mark.usefixtures("light")
def test_bytecode_is_loaded_without_its_source_and_names_files_as_lambda_has_them(
    app: Path, python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundling, "runtime_python", lambda: python)
    bundle = build_app(load("app_a.rows.parcels"), app)
    compiled = [*bundle.rglob("*.pyc")]
    assert len(compiled) == len([*bundle.rglob("*.py")])
    flags = {int.from_bytes(file.read_bytes()[4:8], "little") for file in compiled}
    assert flags == {0b01}, "by hash, and not compared with the source when it is loaded"
    for file in bundle.rglob("*.py"):
        file.write_text("raise AssertionError('compiled again')")
    done = subprocess.run(
        [python, "-I", "-S", "-B", "-c", LOAD_VIEW, str(bundle)],
        check=False,
        capture_output=True,
        text=True,
        cwd="/",
        env={"PATH": os.environ["PATH"]},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["/var/task/app_a/rows/parcels.py"]


def test_without_the_runtimes_python_a_notice_is_printed(
    app: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bundling, "_install", lambda *_: None)
    monkeypatch.setattr(bundling, "runtime_python", lambda: None)
    bundle = build_app(load("app_a.rows.parcels"), app)
    assert not [*bundle.rglob("*.pyc")]
    assert (
        "has no bytecode, because no python3.13 that works is on the PATH"
        in capsys.readouterr().err
    )


def test_a_shim_of_a_version_that_is_not_installed_is_no_interpreter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shim = tmp_path / "python3.13"
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "version_info", (3, 11))
    assert bundling.runtime_python.__wrapped__() is None
    later = tmp_path / "later" / "python3.13"
    later.parent.mkdir()
    later.write_text("#!/bin/sh\nexit 0\n")
    later.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{later.parent}")
    assert bundling.runtime_python.__wrapped__() == str(later), "the shim hides none behind it"


def test_packages_that_views_import_are_installed_from_the_list_next_to_the_handlers(
    app: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed: list[str] = []

    def install(requirements: list[Path], _: Path) -> None:
        installed.extend(str(path) for path in requirements)

    monkeypatch.setattr(bundling, "_install", install)
    views = load("app_a.rows.parcels")
    (app / "requirements.txt").write_text("phonenumbers==9.0.0\n")
    bundling.build_bundle(views, manifest_of(views), handlers="app_a", build=app / "build")
    assert installed == [str(bundling.REQUIREMENTS), str(app / "requirements.txt")]
