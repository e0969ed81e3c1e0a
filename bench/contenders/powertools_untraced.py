"""The baseline without the Tracer, whose SDK takes most of a cold start."""

from bench.contenders import Handler
from bench.contenders.powertools import connect as connect_powertools


def connect() -> Handler:
    return connect_powertools(traced=False)
