"""Positions: the last record of a shard that a total includes.

A position is an attribute of the total, and every update pays for its size. So its name is a short
hash of the shard, and its value is binary: the sequence number, which DynamoDB compares as bytes,
and the time of the record, which decides when the position can be archived or removed.
"""

from base64 import b64decode, b64encode, urlsafe_b64encode
from binascii import a2b_base64
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final

from adminview.model.item import AttributeValue
from adminview.model.total import POSITION

# Six bytes: with a thousand shards, two names are equal in one of half a billion deployments.
HASH_BYTES: Final = 6
HOUR: Final = 3600
TIME_UNIT: Final = 300  # seconds
TIME_BYTES: Final = 3  # enough for the years until 2129
# A stream delivers a record for 24 hours. Two more cover slow functions and inexact record times.
LIVE_HOURS: Final = 26
# Expired positions of one item. Removing them is a separate write, so it waits for several.
MOST_EXPIRED: Final = 8


@lru_cache(maxsize=1000)
def position_name(shard_id: str) -> str:
    """Return the attribute that holds the position of a shard."""
    return POSITION + urlsafe_b64encode(sha256(shard_id.encode()).digest()[:HASH_BYTES]).decode()


def lower_bound(sequence: int) -> AttributeValue:
    """Return a value greater than all positions before *sequence*, and less than all others.

    The first byte is the length, so that longer numbers compare as greater. A position has its time
    after the same bytes, so it is greater than the bound of its own record.
    """
    return {"B": b64encode(_bytes(sequence)).decode()}


def encode_position(sequence: int, at: float) -> AttributeValue:
    """Return the position of a record with this sequence number and time."""
    return {"B": b64encode(_bytes(sequence) + time_bytes(at)).decode()}


def time_bytes(at: float) -> bytes:
    """Return a time in bytes that compare as times do, rounded down to five minutes."""
    return int(at // TIME_UNIT).to_bytes(TIME_BYTES, "big")


def sequence_of(position: AttributeValue) -> int:
    """Return the sequence number of a position; raises a ValueError if it is malformed."""
    content = _content(position)
    return int.from_bytes(content[1:-TIME_BYTES], "big")


def time_of(position: AttributeValue) -> int:
    """Return the time of a position's record, rounded down; raises a ValueError if malformed."""
    return int.from_bytes(_content(position)[-TIME_BYTES:], "big") * TIME_UNIT


def positions_of(item: Mapping[str, Any]) -> dict[str, AttributeValue]:
    """Return the positions of a total, by attribute."""
    return {name: value for name, value in item.items() if name[:1] == POSITION}


def expired(positions: Mapping[str, AttributeValue], at: float) -> dict[str, AttributeValue]:
    """Return the positions whose records the stream cannot deliver any more.

    *at* is the time of a record that was just delivered. It is never in the future, so no position
    is removed too early, even if the clock of this machine is wrong.
    """
    return older(positions, at - LIVE_HOURS * HOUR)


def older(positions: Mapping[str, AttributeValue], at: float) -> dict[str, AttributeValue]:
    """Return the positions of records before a time."""
    oldest = at - TIME_UNIT  # times are rounded down
    if oldest <= 0:
        return {}
    # An item may have dozens of positions, and every update of it comes here: most are compared
    # as bytes, and only those that look old are parsed.
    bound = time_bytes(oldest)
    return {
        name: position
        for name, position in positions.items()
        if a2b_base64(position["B"])[-TIME_BYTES:] < bound and time_of(position) < oldest
    }


def _bytes(sequence: int) -> bytes:
    content = sequence.to_bytes((sequence.bit_length() + 7) // 8, "big")
    return bytes([len(content)]) + content


def _content(position: AttributeValue) -> bytes:
    content = b64decode(position["B"], validate=True)
    if len(content) <= TIME_BYTES or content[0] != len(content) - 1 - TIME_BYTES:
        msg = "not a position"
        raise ValueError(msg)
    return content
