"""The bundle holds what the functions need, and is the same wherever it is built."""

import os
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from adminview.cdk import bundle as bundling
from adminview.cdk.bundle import LIBRARY, NOT_DEPLOYED, PACKAGE, BundleError

CODE = {
    "adminview",
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
for name in (*boto3, "botocore", "botocore.config", "botocore.exceptions"):
    sys.modules[name] = MagicMock()
for path in sorted([*bundle.glob("adminview/**/*.py"), *bundle.glob("lambdas/**/*.py")]):
    name = ".".join(path.relative_to(bundle).with_suffix("").parts)
    module = import_module(name.removesuffix(".__init__"))
    assert Path(module.__file__).is_relative_to(bundle), module
from adminview.views import registry
print(len(registry().sources))
"""


def build(directory: Path = bundling.BUILD, *, tracing: bool = False) -> Path:
    """Build anew, as another process would."""
    return bundling.bundle.__wrapped__(tracing=tracing, build=directory)


def code_in(directory: Path) -> set[str]:
    return {one.name for one in directory.iterdir() if not one.name.endswith(".dist-info")}


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


def test_our_package_is_bundled_module_by_module(built: Path) -> None:
    for package in (LIBRARY, PACKAGE):
        inside = built / package.name
        bundled = {path.relative_to(inside) for path in inside.rglob("*") if path.is_file()}
        ours = {path.relative_to(package) for path in package.rglob("*.py")}
        assert bundled == {path for path in ours if path.parts[0] not in NOT_DEPLOYED}
        for path in bundled:
            assert (inside / path).read_bytes() == (package / path).read_bytes()


def test_the_bundle_holds_no_command_no_construct_and_no_engine(built: Path) -> None:
    assert not {"cdk", "cli", "local"} & {path.name for path in (built / "adminview").iterdir()}


def test_the_bundle_needs_nothing_but_python_and_the_runtimes_boto3(built: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-B", "-c", IMPORT_EVERYTHING, str(built)],
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


def test_the_build_tells_the_size_every_time(
    built: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        build()
        assert f"Lambda bundle {built.name}: " in capsys.readouterr().err


def fail(*_: object, **__: object) -> None:
    pytest.fail("nothing should be built again")


@pytest.mark.usefixtures("built")
def test_what_is_built_is_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundling, "_install", fail)
    monkeypatch.setattr(bundling, "_assemble", fail)
    build()


def test_changed_code_makes_another_bundle_of_the_same_dependencies(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "lambdas"
    package.mkdir()
    (package / "sync.py").write_text("CHANGED = True\n")
    monkeypatch.setattr(bundling, "PACKAGE", package)
    monkeypatch.setattr(bundling, "_install", fail)
    (tmp_path / "build").mkdir()
    for installed in built.parent.glob("dependencies-*"):
        (tmp_path / "build" / installed.name).symlink_to(installed)
    other = build(tmp_path / "build")
    assert other.name != built.name
    assert code_in(other) == CODE
    assert (other / "lambdas" / "sync.py").read_text() == "CHANGED = True\n"


def test_changed_pins_make_another_bundle(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pins = tmp_path / "requirements.txt"
    pins.write_text("other==1.0\n")
    monkeypatch.setattr(bundling, "REQUIREMENTS", pins)
    monkeypatch.setattr(bundling, "_install", lambda _, target: (target / "other.py").touch())
    other = build(tmp_path / "build")
    assert other.name != built.name
    assert code_in(other) == {"adminview", "lambdas", "other.py"}


def interrupted(target: Path) -> None:
    (target / "half").touch()
    raise KeyboardInterrupt


def test_an_interrupted_build_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        bundling._once(tmp_path / "bundle", interrupted)
    assert list(tmp_path.iterdir()) == []


def test_a_build_appears_in_one_step_when_it_is_whole(tmp_path: Path) -> None:
    directory = tmp_path / "bundle"
    made = []

    def make(target: Path) -> None:
        assert not directory.exists()
        (target / "file").touch()
        made.append(target.stat().st_ino)

    bundling._once(directory, make)
    assert directory.stat().st_ino == made[0], "copied, so that others could see half of it"


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
