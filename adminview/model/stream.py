"""The stream that a source needs, and how to enable it."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

VIEW_TYPE: Final = "NEW_AND_OLD_IMAGES"  # the sync compares both images
FAR_FUTURE: Final = 10**11  # seconds since 1970: no record is that late


@dataclass(frozen=True, slots=True)
class SequenceRange:
    """A run of records in one shard, from the first to the last sequence number."""

    stream_arn: str
    shard_id: str
    first: str
    last: str


@lru_cache(maxsize=64)  # all records of a batch have the same
def table_of_stream(arn: object) -> str:
    """Read the table's name from ``arn:…:table/Orders/stream/2025-…``."""
    return str(arn).split(":table/")[1].split("/")[0]


def turn_on(table: str) -> str:
    """Return the instruction that enables a table's stream."""
    return (
        f"Enable the stream with: aws dynamodb update-table --table-name {table} "
        f"--stream-specification StreamEnabled=true,StreamViewType={VIEW_TYPE} "
        "--query TableDescription.LatestStreamArn"
    )


def replace(table: str) -> str:
    """Return the instruction that replaces a table's stream."""
    return (
        "A stream's view type cannot change: disable the stream (aws dynamodb update-table "
        f"--table-name {table} --stream-specification StreamEnabled=false), then enable it. "
        f"{turn_on(table)}"
    )
