"""The shop of `lambdas/views`, for tests about it."""

from functools import cache

from adminview.examples import shop
from adminview.model import Registry


@cache
def registry() -> Registry:
    """Collect the shop's views and no others: view files may be added beside them."""
    return shop.registry()
