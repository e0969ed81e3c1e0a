"""Check that the dead-letter queue exists, has the deployed settings, and is empty."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

from adminview.cli.deployment.deployment import DeployedStack, Deployment, Resource
from adminview.cli.deployment.stacks import SYNC
from adminview.cli.doctor.finding import Check, Fault, State, Verdict

QUEUE: Final = "AWS::SQS::Queue"
# Name in a template -> name in SQS.
SETTINGS: Final = {
    "DelaySeconds": "DelaySeconds",
    "VisibilityTimeout": "VisibilityTimeout",
    "MessageRetentionPeriod": "MessageRetentionPeriod",
}
COUNTS: Final = {
    "waiting": "ApproximateNumberOfMessages",
    "in flight": "ApproximateNumberOfMessagesNotVisible",
    "delayed": "ApproximateNumberOfMessagesDelayed",
}


def checks(deployment: Deployment) -> Iterator[Check]:
    part = deployment.part(SYNC)
    for queue in part.of(QUEUE):
        yield Check(f"queue {queue.label}", partial(fetch_queue, deployment, part, queue))


def fetch_queue(deployment: Deployment, part: DeployedStack, queue: Resource) -> Verdict:
    """Read the attributes of the queue; no message is received."""
    names = [*SETTINGS.values(), *COUNTS.values()]
    request = {"QueueUrl": queue.name, "AttributeNames": names}
    response = deployment.aws.find("sqs", "GetQueueAttributes", **request)
    attributes = response["Attributes"] if response else None
    return evaluate_queue(attributes, queue, deployment, part), "reachable, no dead letters"


def evaluate_queue(
    attributes: Mapping[str, str] | None,
    queue: Resource,
    deployment: Deployment,
    part: DeployedStack,
) -> Iterator[Fault]:
    """Report a deleted queue, changed settings, and dead letters."""
    restore = deployment.restore(part)
    if attributes is None:
        yield Fault("it is deleted: failed records stay in the stream", restore)
        return
    for setting, attribute in SETTINGS.items():
        expected = queue.properties.get(setting)
        actual = attributes.get(attribute)
        if expected is not None and actual != str(expected):
            yield Fault(f"{attribute} is {actual}, but {expected} was deployed", restore)
    counts = {word: int(attributes.get(name, 0)) for word, name in COUNTS.items()}
    if any(counts.values()):
        counted = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
        advice = f"adminview dlq list {deployment.options} shows why each was dead-lettered"
        yield Fault(f"dead letters: {counted}", advice, State.WARNING)
