"""The shop's migrations under a name of their own, for ADMINVIEW_MIGRATIONS in any folder."""

from adminview.aws.settings import DEFAULT_MIGRATIONS
from adminview.examples import shop

__path__ = shop.alias(__name__, DEFAULT_MIGRATIONS)
