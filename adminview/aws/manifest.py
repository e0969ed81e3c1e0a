"""The file in a Lambda bundle that holds whatever grows with the model.

Lambda limits a function's environment to 4,096 bytes, enough for about thirty sources. And during a
deployment the environment can differ from the code for a moment; a file in the bundle cannot.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from json import dumps, loads
from pathlib import Path

NAME = "adminview-manifest.json"
BUNDLE = Path(__file__).parents[2]  # the folder that holds the package `adminview`


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a bundle was built for."""

    model: str  # the fingerprint of the views, which the build recomputed from the bundle's files
    views: tuple[str, ...]  # modules
    migrations: tuple[str, ...] = ()  # modules
    sources: Mapping[str, str] = field(default_factory=dict)  # source name -> table name
    # Access patterns that are not ready, each with the older index that serves it meanwhile.
    pending: Mapping[str, str | None] = field(default_factory=dict)

    def to_json(self) -> bytes:
        """Serialize it; equal manifests give equal bytes."""
        return dumps(asdict(self), indent=1).encode()

    @classmethod
    def read(cls, bundle: Path = BUNDLE) -> "Manifest | None":
        """Read the manifest of a bundle; None if the folder has none."""
        try:
            content = loads((bundle / NAME).read_bytes())
        except FileNotFoundError:
            return None
        return cls(**content | {name: tuple(content[name]) for name in ("views", "migrations")})


@cache
def own_manifest() -> Manifest | None:
    """Return the manifest of the bundle that this code is in; None outside Lambda."""
    return Manifest.read()
