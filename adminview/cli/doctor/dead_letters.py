"""Whether the dead-letter queue is there, set as deployed, and empty."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

from adminview.cli.deployment.aws_calls import Aws
from adminview.cli.deployment.deployment import DeployedStack, Deployment, Resource
from adminview.cli.deployment.stacks import SYNC
from adminview.cli.doctor.finding import Check, Fault, State, Verdict

QUEUE: Final = "AWS::SQS::Queue"
# As a template calls them, and as SQS does.
SETTINGS: Final = {
    "DelaySeconds": "DelaySeconds",
    "VisibilityTimeout": "VisibilityTimeout",
    "MessageRetentionPeriod": "MessageRetentionPeriod",
}
COUNTS: Final = {
    "waiting": "ApproximateNumberOfMessages",
    "taken up": "ApproximateNumberOfMessagesNotVisible",
    "delayed": "ApproximateNumberOfMessagesDelayed",
}


def checks(aws: Aws, deployment: Deployment) -> Iterator[Check]:
    """List what is to be looked at."""
    part = deployment.part(SYNC)
    for queue in part.of(QUEUE):
        yield Check(f"queue {queue.label}", partial(fetch_queue, aws, deployment, part, queue))


def fetch_queue(aws: Aws, deployment: Deployment, part: DeployedStack, queue: Resource) -> Verdict:
    """Look at the queue's own account of itself; no letter is taken up."""
    names = [*SETTINGS.values(), *COUNTS.values()]
    found = aws.find("sqs", "GetQueueAttributes", QueueUrl=queue.name, AttributeNames=names)
    told = found["Attributes"] if found else None
    faults = evaluate_queue(told, queue, deployment, part)
    return faults, "reachable, and no letter is in it"


def evaluate_queue(
    told: Mapping[str, str] | None, queue: Resource, deployment: Deployment, part: DeployedStack
) -> Iterator[Fault]:
    """Find what is wrong with the queue, and whether letters wait."""
    if told is None:
        yield Fault(
            "it is gone: what cannot be synced stays in the stream", deployment.restore(part)
        )
        return
    for ours, theirs in SETTINGS.items():
        wanted = queue.properties.get(ours)
        if wanted is not None and told.get(theirs) != str(wanted):
            seen = f"{theirs} is {told.get(theirs)}, and deployed was {wanted}"
            yield Fault(seen, deployment.restore(part))
    counts = {word: int(told.get(name, 0)) for word, name in COUNTS.items()}
    if any(counts.values()):
        each = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
        do = f"adminview dlq list {deployment.options} says why each was dead-lettered"
        yield Fault(f"letters: {each}", do, State.WARNING)
