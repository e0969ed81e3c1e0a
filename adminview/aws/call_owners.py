"""The owners of the rows of a call, kept until its response is certain.

The direct client may find out later that a call got the response of another call (see
`connection`). The call is then in doubt, like one without a response, and only the owners of its
rows are known.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeAlias, runtime_checkable

Owners: TypeAlias = tuple[str, ...]

CALL_OWNERS: ContextVar[Owners] = ContextVar("call_owners", default=())


@contextmanager
def calls_about(owners: Owners) -> Iterator[None]:
    """Attribute the calls that this thread makes in the context to *owners*."""
    token = CALL_OWNERS.set(owners)
    try:
        yield
    finally:
        CALL_OWNERS.reset(token)


@runtime_checkable
class DoubtTracker(Protocol):
    """A client that may find a call in doubt after it was answered."""

    def find_in_doubt(self) -> Sequence[Owners]:
        """Return the owners of each answered call found to be in doubt since the last query.

        The caller must report them.
        """

    def keep_in_doubt(self, calls: Sequence[Owners], /) -> None:
        """Return *calls* again the next time, because they could not be reported."""


def find_in_doubt(client: object) -> Sequence[Owners]:
    """Return a client's calls in doubt; boto3 clients have none."""
    return client.find_in_doubt() if isinstance(client, DoubtTracker) else ()


def keep_in_doubt(client: object, calls: Sequence[Owners]) -> None:
    if isinstance(client, DoubtTracker):
        client.keep_in_doubt(calls)
