"""The Lambda bundle: the app's views with their local imports, the library and its dependencies.

It leaves out boto3 and uses the runtime's: the calls we make have been stable for years, a small
bundle starts faster, and the runtime gets security updates.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any, Final
from zipfile import ZIP_DEFLATED, ZipFile

from adminview.aws import manifest as manifest_file
from adminview.aws.manifest import Manifest
from adminview.checks.static import VIEW_REQUIREMENTS
from adminview.model import Registry
from adminview.model.errors import AdminViewError
from adminview.model.local_imports import local_modules

LIBRARY: Final = Path(__file__).parents[1]
# Parts of the library that no function imports.
NOT_DEPLOYED: Final = (
    *("__main__.py", "cdk", "checks", "cli", "console", "examples", "local"),
    *("http_api/operations", "item_files.py", "preview.py", "testing.py"),
)
BUILD: Final = Path("build", "lambda")  # in the app's folder
REQUIREMENTS: Final = LIBRARY / "cdk" / "bundled" / "requirements.txt"
TRACING_REQUIREMENTS: Final = REQUIREMENTS.with_name("requirements-tracing.txt")

RUNTIME: Final = (3, 13)
TASK_ROOT: Final = "/var/task"  # where Lambda unpacks a bundle
# --no-deps: the lists are complete and pinned, and aws-xray-sdk would install botocore.
PIP: Final = (
    *("install", "--quiet", "--disable-pip-version-check", "--no-input", "--no-deps"),
    *("--platform", "manylinux2014_aarch64", "--implementation", "cp"),
    *("--python-version", ".".join(map(str, RUNTIME))),
    *("--only-binary=:all:", "--no-compile"),
)
# These describe how and where pip ran, and differ between machines. Scanners read METADATA.
PIP_TRACES: Final = ("*.dist-info/RECORD", "*.dist-info/INSTALLER", "*.dist-info/REQUESTED", "bin")
# /var/task is read-only: without bytecode in the bundle, each cold start compiles.
COMPILE: Final = ("-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash")
NOT_COMPILED: Final = (
    "note: the Lambda bundle has no bytecode, because no python{0}.{1} that works is on the PATH. "
    "Cold starts take about twice the processor time."
)
# Runs without the app's folder and installed packages on its path, so it imports only from the
# bundle. The fingerprint is computed from the bundle's files, not read from the manifest.
DESCRIBE: Final = """
import json, sys
sys.path.insert(0, sys.argv[1])
from adminview.model import Registry
from adminview.views import migrations, registry
migrations()
modules = registry().modules
outside = [module.__file__ for module in modules if not module.__file__.startswith(sys.argv[1])]
assert not outside, outside
print(json.dumps(Registry.of(modules).description()))
"""


class BundleError(AdminViewError):
    """The bundle cannot be built, or its model differs from that of the stacks."""


def build_bundle(
    views: Registry,
    manifest: Manifest,
    *,
    handlers: str = "",
    tracing: bool = False,
    build: Path = BUILD,
) -> Path:
    """Build the bundle, unless it exists, and return its folder.

    It contains the modules of *views*, of the manifest's migrations and of the package *handlers*,
    each with its local imports, and no other modules of the app. Raises a BundleError if its model
    differs from *views*.
    """
    build = build.resolve()  # the process of the CDK has another current folder
    requirements = [REQUIREMENTS, *([TRACING_REQUIREMENTS] if tracing else ())]
    if (own := view_requirements(handlers)) and own.exists():
        requirements.append(own)
    pins = [path.read_bytes() for path in requirements]
    installed = _once(
        build / f"dependencies-{_digest([repr(PIP).encode(), *pins])}",
        lambda target: _install(requirements, target),
    )
    # Read once: a file that is saved meanwhile must not be written under the old hash.
    code = {path: file.read_bytes() for path, file in _code(views, manifest, handlers)}
    code[Path(manifest_file.NAME)] = manifest.to_json()
    names = [path.as_posix().encode() for path in code]
    compiler = runtime_python()
    version = repr(RUNTIME if compiler else None).encode()

    def assemble(target: Path) -> None:
        shutil.copytree(installed, target, dirs_exist_ok=True)
        for path, content in code.items():
            file = target / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        _check(views, target)
        if compiler:
            _compile(compiler, target)

    folder = build / _digest([installed.name.encode(), version, *names, *code.values()])
    built = _once(folder, assemble)
    _report(built, is_compiled=compiler is not None)
    return built


def view_requirements(handlers: str) -> Path | None:
    """Return the file that lists the packages of views, whether or not it exists."""
    return _folder_of(handlers) / VIEW_REQUIREMENTS if handlers else None


@cache
def runtime_python() -> str | None:
    """Return an interpreter of the version that Lambda runs, or None."""
    if sys.version_info[:2] == RUNTIME:
        return sys.executable
    name = "python{}.{}".format(*RUNTIME)
    # The first on the PATH may be the shim of a version manager, which fails: try all of them.
    candidates = (shutil.which(name, path=folder) for folder in os.get_exec_path())
    return next((python for python in candidates if python and _runs(python)), None)


def _runs(python: str) -> bool:
    command = [python, "-c", ""]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0  # noqa: S603 - ours


def _once(directory: Path, make: Callable[[Path], None]) -> Path:
    """Create *directory* atomically, unless it exists."""
    if directory.exists():
        return directory
    directory.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix="unfinished-", dir=directory.parent))
    try:
        make(unfinished)
        _open_to_all(unfinished)
        unfinished.rename(directory)
    except OSError:
        if not directory.exists():  # otherwise another process created it, with the same content
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


def _code(views: Registry, manifest: Manifest, handlers: str) -> Iterator[tuple[Path, Path]]:
    """Yield the path in the bundle and the file of each module, in a stable order."""
    for file in sorted(LIBRARY.rglob("*.py")):
        path = file.relative_to(LIBRARY)
        if not any(path.is_relative_to(part) for part in NOT_DEPLOYED):
            yield LIBRARY.name / path, file
    roots = {module.__name__: Path(str(module.__file__)) for module in views.modules}
    roots |= {name: _file_of(name) for name in manifest.migrations}
    if handlers:
        folder = _folder_of(handlers)
        roots |= {f"{handlers}.{file.stem}": file for file in sorted(folder.glob("[!_]*.py"))}
    text = {name: file.read_text(encoding="utf-8") for name, file in roots.items()}
    for name, file in sorted((roots | local_modules(text)).items()):
        if name == "__main__":
            msg = f"{file} is run as a script: declare views in a module that can be imported"
            raise BundleError(msg)
        path = Path(*name.split("."))
        yield (path / file.name if file.name == "__init__.py" else path.with_suffix(".py")), file


def _file_of(module: str) -> Path:
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        msg = f"there is no file of module {module}"
        raise BundleError(msg)
    return Path(spec.origin)


def _folder_of(package: str) -> Path:
    return _file_of(package).parent


def _check(views: Registry, bundle: Path) -> None:
    """Raise a BundleError unless the bundle on its own declares the same model as *views*."""
    place = str(bundle.resolve())
    command = [sys.executable, "-I", "-S", "-B", "-c", DESCRIBE, place]
    done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603 - ours
    if done.returncode:
        reason = done.stderr.strip().replace(place, TASK_ROOT)
        msg = (
            f"the views cannot be loaded from the Lambda bundle:\n{reason}\n"
            "View files may import other modules of the app, and packages that "
            f"{VIEW_REQUIREMENTS} next to the handlers lists."
        )
        raise BundleError(msg)
    expected, bundled = views.description(), json.loads(done.stdout)
    if bundled != json.loads(json.dumps(expected)):
        lines = "\n".join(f"  {line}" for line in _differences(expected, bundled))
        msg = (
            f"the stacks are built for model {views.fingerprint}, but the Lambda bundle would run "
            f"model {bundled['fingerprint']}; they differ in\n{lines}\n"
            "Synthesize again; if it persists, the view files are not those that Python imports."
        )
        raise BundleError(msg)


def _differences(stacks: dict[str, Any], code: dict[str, Any]) -> Iterator[str]:
    """Yield each declaration that differs, or that only one of the two descriptions has."""
    declared, bundled = _declarations(stacks), _declarations(code)
    for name in (*declared, *(name for name in bundled if name not in declared)):
        if name not in bundled:
            yield f"{name}: only in the stacks"
        elif name not in declared:
            yield f"{name}: only in the bundle"
        elif declared[name] != bundled[name]:
            yield f"{name}: declared differently"


def _declarations(description: dict[str, Any]) -> dict[str, Any]:
    """Return a model's declarations by kind and name; a source includes its views' code."""
    code = description["code"]
    named = {
        kind: {declared["name"]: declared for declared in description[kind]}
        for kind in ("sources", "indexes", "patterns")
    }
    return {
        **{f"source {name!r}": (shape, code[name]) for name, shape in named["sources"].items()},
        **{f"view {view!r} of {source!r}": None for source, view in description["views"]},
        **{f"index {name!r}": shape for name, shape in named["indexes"].items()},
        **{f"access pattern {name!r}": shape for name, shape in named["patterns"].items()},
    }


def _compile(python: str, bundle: Path) -> None:
    """Add bytecode with the paths of Lambda, so that it is the same on every machine."""
    place = str(bundle)
    command = [python, *COMPILE, "-s", place, "-p", TASK_ROOT, place]
    done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603 - ours
    if done.returncode:
        msg = f"the Lambda bundle does not compile:\n{(done.stdout + done.stderr).strip()}"
        raise BundleError(msg)


def _open_to_all(directory: Path) -> None:
    """Let Lambda's user read every file, whatever the umask of the build."""
    for path in (directory, *directory.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def _digest(parts: Sequence[bytes]) -> str:
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


@cache  # once per process: several functions run one bundle
def _report(bundle: Path, *, is_compiled: bool) -> None:
    print(f"Lambda bundle {_size(bundle)}", file=sys.stderr)  # noqa: T201 - what a build is for
    if not is_compiled:
        print(NOT_COMPILED.format(*RUNTIME), file=sys.stderr)  # noqa: T201 - likewise
