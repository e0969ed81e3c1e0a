"""The usual, for those who leave the Tracer out: its SDK is most of a cold start."""

from bench.ways import Handle
from bench.ways.usual import connect as connect_usual


def connect() -> Handle:
    """Make the handler."""
    return connect_usual(traced=False)
