"""The settings of a local engine: tables have the names that the view files declare."""

from adminview.aws.settings import Settings
from adminview.model import Registry
from adminview.model.row import VIEW_TABLE


def declared(registry: Registry, queue_url: str, view_table: str = VIEW_TABLE) -> Settings:
    names = {source.name: source.name for source in registry.sources}
    return Settings(view_table, queue_url, names, registry.fingerprint)
