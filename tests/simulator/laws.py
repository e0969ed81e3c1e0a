"""The laws of the design, checked while a history runs and when it has ended."""

import json
from typing import Any

from adminview.aws.deadline import Deadline
from adminview.model.dead_letter import IN_DOUBT
from adminview.model.row import RowKey
from tests.simulator.broken import BrokenLawError
from tests.simulator.model import SECRET, Name
from tests.simulator.simulation import World


def check_the_quiet(world: World) -> None:
    """Check for silent loss: an item that no actor will process again must be correct."""
    intent = world.dynamodb.progress.intent
    for name in world.names:
        stream = world.sources[name.source.name]
        if (
            not world.busy[name.owner]
            and name.owner not in intent
            and not stream.waiting(name.id)
            and not any(name.owner in owners(world, letter.body) for letter in world.queue.letters)
        ):
            _check_rows(world, name, "5: nothing is lost silently")


def check_the_end(world: World) -> None:
    """Check all laws when everything is settled."""
    for name in world.names:
        _check_rows(world, name, "1: the view is the union of the rows of all items")
    foreign = {key for key, row in world.view.rows.items() if _owner(row) not in _owners(world)}
    if foreign:
        _break(f"6: each row has one owner: {sorted(foreign)} have none")
    for name in world.names:
        plan = world.live.reconciler.plan(
            world.live.target(name), deadline=Deadline(world.fibers.now + 60, world.fibers.clock)
        )
        if plan.puts or plan.deletes:
            _break(f"7: the source is the truth: {name.owner} still needs a reconcile")
    _check_letters(world)


def _check_letters(world: World) -> None:
    """Check that dead letters hold no data, and are only about items that failed themselves."""
    troubled = set(world.ill)
    for body in world.queue.bodies:
        if SECRET in body:
            _break("5: a dead letter holds keys and the error, never the data")
        letter = json.loads(body)
        if letter.get("kind") == IN_DOUBT:
            continue  # about all items of a call that ended without a response
        if "owner" not in letter:  # Lambda's, about all records of its batch
            troubled |= owners(world, body)
        elif letter["error"]["kind"] == "MovingItemError":
            # It changed too fast for bulk work, which affects no other item.
            troubled |= owners(world, body)
        elif not owners(world, body) <= troubled:
            about = owners(world, body)
            _break(f"4: a bad record affects no other item: a dead letter about {about}")


def owners(world: World, body: str) -> set[str]:
    """Return the items that a dead letter is about; Lambda's name a range of a shard."""
    letter = json.loads(body)
    if letter.get("kind") == IN_DOUBT:
        return {item["owner"] for item in letter["items"]}
    if "DDBStreamBatchInfo" not in letter:
        return {letter["owner"]}
    batch = letter["DDBStreamBatchInfo"]
    first, last = int(batch["startSequenceNumber"]), int(batch["endSequenceNumber"])
    return {
        f"{stream.table}/{record['dynamodb']['Keys']['id']['S']}"
        for stream in world.sources.values()
        if stream.arn == batch["streamArn"]
        for shard in stream.shards
        if shard.id == batch["shardId"]
        for record in shard.records
        if first <= int(record["dynamodb"]["SequenceNumber"]) <= last
    }


def _check_rows(world: World, name: Name, law: str) -> None:
    expected = world.live.model.rows(name, world.state_of(name))
    actual: dict[RowKey, str] = {
        key: " ".join(filter(None, [row["data"]["M"]["value"]["N"], row.get("shelf", {}).get("S")]))
        for key, row in world.view.rows.items()
        if _owner(row) == name.owner
    }
    if actual != expected:
        _break(f"{law}: {name.owner} is {_shown(expected)}, and the view has {_shown(actual)}")


def _owner(row: dict[str, Any]) -> str:
    return str(row.get("_owner", {}).get("S"))


def _owners(world: World) -> set[str]:
    return {name.owner for name in world.names}


def _shown(rows: dict[RowKey, str]) -> str:
    return " ".join(f"{sk}={value}" for (_, sk), value in sorted(rows.items())) or "without rows"


def _break(law: str) -> None:
    raise BrokenLawError(law)
