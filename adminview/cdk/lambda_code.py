"""Which code the functions run, and that its model is the one the stacks are built for."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adminview import views
from adminview.cdk.bundle import PACKAGE, BundleError, bundle
from adminview.model import Registry

ADVICE = (
    "The functions would run the views of the bundle. Declare the model in lambdas/views and pass "
    "adminview.views.registry() to build(); other registries cannot be deployed yet."
)


@dataclass(frozen=True, slots=True)
class LambdaCode:
    """The code of the functions: the model its view files declare, and what builds it."""

    model: Registry
    build: Callable[..., Path]  # called with tracing=

    def check(self, registry: Registry) -> None:
        """Raise a BundleError if the stacks are built for another model than the code has."""
        if registry.fingerprint == self.model.fingerprint:
            return
        differences = _differences(registry.description(), self.model.description())
        lines = "\n".join(f"  {line}" for line in differences)
        msg = (
            f"the stacks are built for model {registry.fingerprint}, but the view files in the "
            f"Lambda bundle declare model {self.model.fingerprint}; they differ in\n{lines}\n"
            f"{ADVICE}"
        )
        raise BundleError(msg)


def bundled_code() -> LambdaCode:
    """Return the code of this checkout's `lambdas` package, which `bundle` copies."""
    declared = views.registry()
    loaded = {Path(str(module.__file__)) for module in declared.modules}
    if strange := sorted(file for file in loaded if not file.is_relative_to(PACKAGE)):
        msg = f"the bundle is made of {PACKAGE}, but Python imports the view file {strange[0]}"
        raise BundleError(msg)
    return LambdaCode(declared, bundle)


def _differences(stacks: dict[str, Any], code: dict[str, Any]) -> Iterator[str]:
    """Name each declaration that only one of two model descriptions has, or that differs."""
    ours, theirs = _declarations(stacks), _declarations(code)
    for name in (*ours, *(name for name in theirs if name not in ours)):
        if name not in theirs:
            yield f"{name}: only in the stacks"
        elif name not in ours:
            yield f"{name}: only in the bundle"
        elif ours[name] != theirs[name]:
            yield f"{name}: declared differently"


def _declarations(description: dict[str, Any]) -> dict[str, Any]:
    """Give what a model declares by kind and name; a source comes with its views' code."""
    code = description["code"]
    return {
        **{f"source {one['name']!r}": (one, code[one["name"]]) for one in description["sources"]},
        **{f"view {view!r} of {source!r}": None for source, view in description["views"]},
        **{f"index {one['name']!r}": one for one in description["indexes"]},
        **{f"access pattern {one['name']!r}": one for one in description["patterns"]},
    }
