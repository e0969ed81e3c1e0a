"""The settings of a local engine: names as the view files declare them."""

from typing import Final

from adminview.aws.settings import Settings
from adminview.model import Registry
from adminview.model.row import VIEW_TABLE

ENDPOINT: Final = "AWS_ENDPOINT_URL"


def declared(registry: Registry, queue_url: str, view_table: str = VIEW_TABLE) -> Settings:
    """Take the names from the view files, as local engines have them."""
    names = {source.name: source.name for source in registry.sources}
    return Settings(view_table, queue_url, names, registry.fingerprint)
