"""The shop's view files under a name of their own, for ADMINVIEW_VIEWS in any folder."""

from adminview.aws.settings import DEFAULT_VIEWS
from adminview.examples import shop

__path__ = shop.alias(__name__, DEFAULT_VIEWS)
