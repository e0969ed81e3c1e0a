"""The code that Lambda runs: the app's `lambdas`, the library, and pinned dependencies.

boto3 is not in it: the runtime's own will do, for the calls we make have been stable for years,
and a small bundle starts quicker and gets the runtime's security updates.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Final
from zipfile import ZIP_DEFLATED, ZipFile

from adminview.model.errors import AdminViewError

ROOT: Final = Path(__file__).parents[2]
PACKAGE: Final = ROOT / "lambdas"
LIBRARY: Final = Path(__file__).parents[1]
NOT_DEPLOYED: Final = ("cdk", "cli", "local")  # packages of the library
BUILD: Final = ROOT / "build" / "lambda"
REQUIREMENTS: Final = PACKAGE / "requirements.txt"
TRACING_REQUIREMENTS: Final = PACKAGE / "requirements-tracing.txt"

# The lists are complete and pinned, so nothing is resolved: aws-xray-sdk would pull botocore in.
PIP: Final = (
    *("install", "--quiet", "--disable-pip-version-check", "--no-input", "--no-deps"),
    *("--platform", "manylinux2014_aarch64", "--implementation", "cp", "--python-version", "3.13"),
    *("--only-binary=:all:", "--no-compile"),
)
# Scanners read METADATA; these say how and where pip ran, and differ from machine to machine.
PIP_TRACES: Final = ("*.dist-info/RECORD", "*.dist-info/INSTALLER", "*.dist-info/REQUESTED", "bin")


class BundleError(AdminViewError):
    """Say which command failed, and what to check."""


@cache
def bundle(*, tracing: bool, build: Path = BUILD) -> Path:
    """Build the bundle, unless it is there already, and tell its size."""
    requirements = (REQUIREMENTS, TRACING_REQUIREMENTS) if tracing else (REQUIREMENTS,)
    pins = [path.read_bytes() for path in requirements]
    installed = _once(
        build / f"dependencies-{_digest([repr(PIP).encode(), *pins])}",
        lambda target: _install(requirements, target),
    )
    # Read once, so that what is hashed is what is written, whoever saves a file meanwhile.
    code = {path: file.read_bytes() for path, file in _code()}
    names = [path.as_posix().encode() for path in code]
    built = _once(
        build / _digest([installed.name.encode(), *names, *code.values()]),
        lambda target: _assemble(installed, code, target),
    )
    print(f"Lambda bundle {_size(built)}", file=sys.stderr)  # noqa: T201 - what a build is for
    return built


def _once(directory: Path, make: Callable[[Path], None]) -> Path:
    """Make *directory* whole or not at all: it appears under its name when it is complete."""
    if directory.exists():
        return directory
    directory.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix="unfinished-", dir=directory.parent))
    try:
        make(unfinished)
        _open_to_all(unfinished)
        unfinished.rename(directory)
    except OSError:
        if not directory.exists():  # otherwise somebody else was quicker, with the same content
            raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return directory


def _install(requirements: Iterable[Path], target: Path) -> None:
    lists = [argument for path in requirements for argument in ("-r", str(path))]
    command = [sys.executable, "-m", "pip", *PIP, "--target", str(target), *lists]
    done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603 - ours
    if done.returncode:
        msg = (
            f"the Lambda bundle's dependencies could not be installed:\n  {' '.join(command)}\n"
            f"{done.stderr.strip()}\n"
            "Check that this Python has pip, that the package index can be reached, and that each "
            "pinned version has a wheel for Python 3.13 on arm64 Linux."
        )
        raise BundleError(msg)
    for pattern in PIP_TRACES:
        for trace in target.glob(pattern):
            shutil.rmtree(trace) if trace.is_dir() else trace.unlink()


def _assemble(installed: Path, code: dict[Path, bytes], target: Path) -> None:
    shutil.copytree(installed, target, dirs_exist_ok=True)
    for path, content in code.items():
        file = target / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def _code() -> Iterator[tuple[Path, Path]]:
    """List our modules, where they go and where they are, in one order everywhere."""
    for package in (LIBRARY, PACKAGE):
        for file in sorted(package.rglob("*.py")):
            path = file.relative_to(package)
            if package is not LIBRARY or path.parts[0] not in NOT_DEPLOYED:
                yield package.name / path, file


def _open_to_all(directory: Path) -> None:
    """Let Lambda's user read everything, whatever umask the build ran under."""
    for path in (directory, *directory.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def _digest(parts: Iterable[bytes]) -> str:
    return sha256(b"".join(sha256(part).digest() for part in parts)).hexdigest()[:16]


def _size(directory: Path) -> str:
    files = [path for path in directory.rglob("*") if path.is_file()]
    unpacked = sum(path.stat().st_size for path in files)
    zipped = BytesIO()
    with ZipFile(zipped, "w", ZIP_DEFLATED) as archive:
        for path in files:
            archive.write(path, path.relative_to(directory))
    return (
        f"{directory.name}: {len(files)} files, {unpacked / 1e6:.1f} MB unpacked, "
        f"{zipped.tell() / 1e6:.1f} MB zipped"
    )
