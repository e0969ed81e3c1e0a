"""View files that a test writes, in addition to the shipped ones."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from adminview.model import Registry
from tests.support.model import registry


def with_view_file(file: Path, text: str) -> Registry:
    """Write a view file, and collect it with the shop's own, as if it were in their folder."""
    return Registry.of([*registry().modules, load_view_file(file, text)])


def load_view_file(file: Path, text: str) -> ModuleType:
    """Write a view file, and load it as `view_file_` plus its name, which must be unique."""
    file.write_text(text)
    spec = spec_from_file_location(f"view_file_{file.stem}", file)
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    sys.modules[module.__name__] = module  # where the fingerprint looks for its source
    spec.loader.exec_module(module)
    return module
