"""The built files of the console's page."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import adminview

FOLDER: Final = Path(adminview.__file__).parent / "console" / "static"
INDEX: Final = "index.html"
ASSETS: Final = "/assets/"
# Only these are served. Their names contain a hash of their content.
TYPES: Final[Mapping[str, str]] = {
    ".css": "text/css; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}


@dataclass(frozen=True, slots=True)
class StaticFiles:
    """The page and its assets, read once: a request never names a file on the disk."""

    index: bytes | None = None  # None if the page was not built
    assets: Mapping[str, tuple[str, bytes]] = field(default_factory=dict)  # by path: type, content

    @classmethod
    def load(cls, folder: Path = FOLDER) -> "StaticFiles":
        """Read all files of a folder; files of unknown types are left out."""
        index = folder / INDEX
        if not index.is_file():
            return cls()
        files = sorted(file for file in (folder / "assets").rglob("*") if file.is_file())
        return cls(
            index.read_bytes(),
            {
                f"/{file.relative_to(folder).as_posix()}": (TYPES[file.suffix], file.read_bytes())
                for file in files
                if file.suffix in TYPES
            },
        )
