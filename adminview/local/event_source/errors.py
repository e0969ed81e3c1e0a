"""What the emulator cannot settle by itself."""

from adminview.model.errors import AdminViewError


class UnsettledRecordsError(AdminViewError):
    """Records wait, and were tried as often as the caller allowed."""
