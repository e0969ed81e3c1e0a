"""Models of other domains: a view file each, with data, queries and their results.

``examples/crm.py`` is a view file like those in ``lambdas/views``. ``examples/data/crm.py`` has the
items that its services write, and queries with the expected rows. ``python -m examples crm`` runs
the example.
"""

from dataclasses import dataclass
from importlib import import_module
from inspect import getdoc
from pkgutil import iter_modules

from adminview import Registry
from adminview.local.source_writes import Put
from examples import data
from examples.query import ExampleQuery


@dataclass(frozen=True, slots=True)
class Example:
    """A model, the writes of its services, and queries."""

    name: str
    about: str
    registry: Registry
    steps: tuple[Put, ...]
    queries: tuple[ExampleQuery, ...]


def names() -> list[str]:
    return sorted(module.name for module in iter_modules(data.__path__))


def load(name: str) -> Example:
    """Load one example, or raise a DeclarationError if its model is wrong."""
    views = import_module(f"{__name__}.{name}")
    content = import_module(f"{data.__name__}.{name}")
    about = (getdoc(views) or "").partition("\n")[0]
    steps = [Put(source, item) for source, items in content.ITEMS.items() for item in items]
    return Example(name, about, Registry.of([views]), tuple(steps), tuple(content.QUERIES))
