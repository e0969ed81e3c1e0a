"""The environment of somebody who has installed the library, and has no checkout of it."""

import os
from pathlib import Path

ROOT = Path(__file__).parents[2]


def adopter_environment(folder: Path) -> dict[str, str]:
    """Return an environment in which Python finds this checkout's library, but not its app.

    *folder* must not be an app's: the library is linked there.
    """
    library = folder / "library"
    library.mkdir()
    (library / "adminview").symlink_to(ROOT / "adminview")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ADMINVIEW_")}
    return kept | {"PYTHONPATH": str(library), "NO_COLOR": "1", "TERM": "dumb"}
