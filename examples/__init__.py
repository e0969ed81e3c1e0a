"""Other domains in the same words: a view file each, with data, questions and their answers.

``examples/crm.py`` is written as a file of ``lambdas/views`` is; ``examples/data/crm.py`` holds
what its services write, and what the view then answers. ``python -m examples crm`` shows both.
"""

from dataclasses import dataclass
from importlib import import_module
from inspect import getdoc
from pkgutil import iter_modules

from adminview import Registry
from adminview.local.source_writes import Put
from examples import data
from examples.question import Question


@dataclass(frozen=True, slots=True)
class Example:
    """A model, what its services write, and what it is then asked."""

    name: str
    about: str
    registry: Registry
    steps: tuple[Put, ...]
    questions: tuple[Question, ...]


def names() -> list[str]:
    """List the examples."""
    return sorted(module.name for module in iter_modules(data.__path__))


def load(name: str) -> Example:
    """Collect and check one example."""
    views = import_module(f"{__name__}.{name}")
    content = import_module(f"{data.__name__}.{name}")
    about = (getdoc(views) or "").partition("\n")[0]
    steps = [Put(source, item) for source, items in content.ITEMS.items() for item in items]
    return Example(name, about, Registry.of([views]), tuple(steps), tuple(content.QUESTIONS))
