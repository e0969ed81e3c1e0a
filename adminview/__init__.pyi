from adminview import model
from adminview.client import RowPage as RowPage
from adminview.client import Rows as Rows
from adminview.client import ViewClient as ViewClient
from adminview.client import connect as connect
from adminview.model import *  # noqa: F403 - the list is kept there, once
from adminview.model.errors import AdminViewError, PatternNotReadyError, QueryError

__all__ = [
    "AdminViewError",
    "PatternNotReadyError",
    "QueryError",
]
__all__ += model.__all__
