"""What a source's stream must be, and how to make it so: for synthesis and the command alike."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

VIEW_TYPE: Final = "NEW_AND_OLD_IMAGES"  # a change is the difference of both images
FAR_FUTURE: Final = 10**11  # seconds since 1970; a record's time is nowhere near


@dataclass(frozen=True, slots=True)
class SequenceRange:
    """A run of records in one shard, from the first to the last sequence number."""

    stream_arn: str
    shard_id: str
    first: str
    last: str


@lru_cache(maxsize=64)  # the records of a batch are all from one
def table_of_stream(arn: object) -> str:
    """Read the table's name from ``arn:…:table/Orders/stream/2025-…``."""
    return str(arn).split(":table/")[1].split("/")[0]


def turn_on(table: str) -> str:
    """Say how a table gets its stream."""
    return (
        f"Turn the stream on with: aws dynamodb update-table --table-name {table} "
        f"--stream-specification StreamEnabled=true,StreamViewType={VIEW_TYPE} "
        "--query TableDescription.LatestStreamArn"
    )


def replace(table: str) -> str:
    """Say how a table gets another stream."""
    return (
        "A stream's view type cannot change: turn the stream off (aws dynamodb update-table "
        f"--table-name {table} --stream-specification StreamEnabled=false), then on. "
        f"{turn_on(table)}"
    )
