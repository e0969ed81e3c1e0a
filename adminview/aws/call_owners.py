"""Whose rows a call is about: all that is remembered of it until its response is surely its own.

The direct client may find out after a call that its response was another's (see `connection`). The
call is in doubt then, like one without a response, and only the owners of its rows can be named.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeAlias, runtime_checkable

Owners: TypeAlias = tuple[str, ...]

CALL_OWNERS: ContextVar[Owners] = ContextVar("call_owners", default=())


@contextmanager
def calls_about(owners: Owners) -> Iterator[None]:
    """Let the calls that this thread makes be about *owners*."""
    token = CALL_OWNERS.set(owners)
    try:
        yield
    finally:
        CALL_OWNERS.reset(token)


@runtime_checkable
class Doubting(Protocol):
    """A client that may find a call in doubt after it was answered."""

    def find_in_doubt(self) -> Sequence[Owners]:
        """Return the owners of each answered call that was found to be in doubt since last asked.

        Whoever asks has to report them.
        """

    def keep_in_doubt(self, calls: Sequence[Owners], /) -> None:
        """Return *calls* again the next time, because they could not be reported."""


def find_in_doubt(client: object) -> Sequence[Owners]:
    """Ask a client for calls in doubt; boto3 clients know of none."""
    return client.find_in_doubt() if isinstance(client, Doubting) else ()


def keep_in_doubt(client: object, calls: Sequence[Owners]) -> None:
    """Let a client return *calls* again."""
    if isinstance(client, Doubting):
        client.keep_in_doubt(calls)
