"""Web pages of the local API: the access patterns, and a reference of the API.

They need no JavaScript and no other host. A deployed API does not serve them.
"""

from adminview.local.pages.respond import respond

__all__ = ["respond"]
