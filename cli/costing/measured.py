"""Figures of the sync function, as measured; docs/scale.md says how and when."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figures:
    """Processor time of one whole core, in seconds, and the wait for an answer."""

    per_record: float = 0.00006  # to decode it, and to find what differs
    per_row: float = 0.00032  # to derive, to send and to hear of it
    per_call: float = 0.008  # seconds of waiting: DynamoDB's and the network's


FIGURES = Figures()
