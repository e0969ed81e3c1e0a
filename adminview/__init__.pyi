from adminview import model
from adminview.client import RowPage, Rows, ViewClient, connect
from adminview.model import *  # noqa: F403 - the list is kept there, once
from adminview.model.errors import AdminViewError, PatternNotReadyError, QueryError

__all__ = [
    "AdminViewError",
    "PatternNotReadyError",
    "QueryError",
    "RowPage",
    "Rows",
    "ViewClient",
    "connect",
]
__all__ += model.__all__
