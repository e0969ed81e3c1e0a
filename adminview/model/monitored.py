"""What of a model the alarms look at."""

from collections.abc import Mapping
from typing import Any


def watched(description: Mapping[str, Any]) -> str:
    """Name the sources and indexes: as long as they are the same, so are the alarms."""
    sources = [source["name"] for source in description["sources"]]
    indexes = [index["name"] for index in description["indexes"] if not index.get("local")]
    return f"sources {', '.join(sorted(sources))}; indexes {', '.join(sorted(indexes))}"
