"""Figures of the sync function, as measured; docs/scale.md says how and when."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figures:
    """Processor time of one whole core, in seconds, and the wait for an answer."""

    per_record: float = 0.0000109  # to decode it, and to find what differs
    per_row: float = 0.00001437  # to derive, to send and to hear of it
    per_call: float = 0.008  # seconds of waiting: DynamoDB's and the network's


FIGURES = Figures()
# Powertools' batch processor and data classes, and `Table.put_item` for each row: 3.3 s of a core
# for 1,000 records with three rows each, in the same run. How that divides is rough.
USUAL_FIGURES = Figures(per_record=0.0002, per_row=0.001)
