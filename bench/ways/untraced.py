"""The baseline without the Tracer, whose SDK is most of a cold start."""

from bench.ways import Handle
from bench.ways.usual import connect as connect_usual


def connect() -> Handle:
    return connect_usual(traced=False)
