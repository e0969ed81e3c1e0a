"""The shop of `lambdas/views`, for its tests."""

from functools import cache

from adminview.examples import shop
from adminview.model import Registry


@cache
def registry() -> Registry:
    """Collect the shop's view files and no others that may be in their folder."""
    return shop.registry()
