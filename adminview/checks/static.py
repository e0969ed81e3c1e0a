"""Checks that need no items: what view files import, and what no access pattern uses."""

import re
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Final

from adminview.checks.finding import Level, ModelFinding
from adminview.model import Registry
from adminview.model.local_imports import foreign_imports
from adminview.model.places import place, place_of_declaration, shown, source_of
from adminview.model.row import OWNER_INDEX

VIEW_REQUIREMENTS: Final = "requirements.txt"  # packages that views import; next to the handlers
REQUIREMENT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
AWS_SDK: Final = frozenset({"boto3", "botocore", "aioboto3", "aiobotocore"})


def static_findings(model: Registry, requirements: Path | None = None) -> list[ModelFinding]:
    """Return impure imports, and indexes and totals that no access pattern uses.

    *requirements* is the file that lists the packages of the functions; None if there is none.
    """
    return [*_imports(model, requirements), *_unused(model)]


def _imports(model: Registry, requirements: Path | None) -> Iterator[ModelFinding]:
    files = {
        module.__name__: Path(str(module.__file__))
        for module in model.modules
        if source_of(module)  # tests declare views in modules without a file
    }
    listed: frozenset[str] | None = None
    for foreign in foreign_imports(files):
        if foreign.package in AWS_SDK:
            reason = "a view does no I/O, because it also runs in replays and verifications"
        else:
            if listed is None:
                listed = _listed(requirements)
            if foreign.package in listed:
                continue
            also = f", and packages that {shown(requirements)} lists" if requirements else ""
            reason = (
                "a view file may import the standard library, adminview, modules of the app"
                f"{also or '; the functions have no other packages'}"
            )
        message = f"imports {foreign.package}: {reason}"
        where = place(foreign.file, foreign.line)
        yield ModelFinding(Level.ERROR, "import", where, message, foreign.package)


def _listed(requirements: Path | None) -> frozenset[str]:
    """Return the modules of the packages that a requirements file lists."""
    if requirements is None or not requirements.exists():
        return frozenset()
    lines = requirements.read_text(encoding="utf-8").splitlines()
    matches = [REQUIREMENT.match(line.strip()) for line in lines]
    names = {_normalized(match[0]) for match in matches if match}
    return frozenset(
        module
        for module, distributions in packages_distributions().items()
        if names & {_normalized(name) for name in distributions}
    )


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _unused(model: Registry) -> Iterator[ModelFinding]:
    queried = {
        pattern.index.name for pattern in model.patterns if pattern.index and not pattern.total
    }
    for index in model.indexes:
        if index is not OWNER_INDEX and index.name not in queried:
            message = (
                f"no access pattern uses index {index.name!r}, and each of its entries costs "
                "writes and storage; declare one, or remove the index"
            )
            where = place_of_declaration(index, model.modules)
            yield ModelFinding(Level.WARNING, "unused-index", where, message, index.name)
    totalled = {pattern.total.name for pattern in model.patterns if pattern.total}
    for total in model.totals:
        if total.name not in totalled:
            message = (
                f"no access pattern uses total {total.name!r}, and each contribution costs writes; "
                "declare one, or remove the total"
            )
            where = place_of_declaration(total, model.modules)
            yield ModelFinding(Level.WARNING, "unused-total", where, message, total.name)
