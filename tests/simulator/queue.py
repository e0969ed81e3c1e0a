"""SQS: messages are delayed, invisible while they are processed, and sometimes delivered twice."""

import json
from dataclasses import dataclass, replace
from itertools import count
from math import inf
from typing import Any

from adminview.model.delivery import FIRST_TRY_SECONDS, HIDDEN_SECONDS, NEXT_TRY_SECONDS
from tests.simulator.calls import Calls
from tests.simulator.faults import Fault
from tests.support.fakes import refusal

QUEUE = "queue"


@dataclass(slots=True, eq=False)
class Letter:
    """A message in the queue."""

    id: str
    body: str
    sent: float
    visible: float  # from this time on
    received: int = 0
    receipt: str = ""


class Queue:
    """A standard queue. Its methods are boto3's."""

    first_try: float = FIRST_TRY_SECONDS
    next_try: float = NEXT_TRY_SECONDS
    hidden: float = HIDDEN_SECONDS

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._ids = count(1)
        self.letters: list[Letter] = []
        self.bodies: list[str] = []  # of all messages ever sent

    @property
    def due(self) -> float:
        """Return when the next message is visible."""
        return min((letter.visible for letter in self.letters), default=inf)

    def add(self, body: str, delay: float | None = None) -> None:
        """Add a message."""
        assert body.isascii(), "SQS refuses some characters"
        now = self._calls.fibers.now
        visible = now + (self.first_try if delay is None else delay)
        self.letters.append(Letter(f"m{next(self._ids)}", body, now, visible))
        self.bodies.append(body)

    def send_message_batch(self, QueueUrl: str, Entries: list[Any]) -> dict[str, Any]:  # noqa: N803
        assert QueueUrl == QUEUE
        assert len(Entries) <= 10

        def effect(fault: Fault | None) -> dict[str, Any]:
            refused = Entries[self._calls.choices.below(len(Entries)) :]
            if fault is not Fault.REFUSED:
                refused = []
            for entry in Entries:
                if entry not in refused:
                    self.add(entry["MessageBody"], entry.get("DelaySeconds"))
            failure = {"SenderFault": self._calls.choices.below(2) == 1} if refused else {}
            return {
                "Successful": [{"Id": entry["Id"]} for entry in Entries if entry not in refused],
                "Failed": [{"Id": entry["Id"], "Code": "Internal", **failure} for entry in refused],
            }

        owners = [
            "in doubt" if "items" in (body := json.loads(entry["MessageBody"])) else body["owner"]
            for entry in Entries
        ]
        name = f"SendMessageBatch about {', '.join(map(str, owners))}"
        return self._calls.make(name, effect, Fault.REFUSED)

    def receive_message(self, MaxNumberOfMessages: int, **_: Any) -> dict[str, Any]:  # noqa: N803
        def effect(fault: Fault | None) -> dict[str, Any]:
            now = self._calls.fibers.now
            ready = [letter for letter in self.letters if letter.visible <= now]
            if fault is Fault.SHUFFLED and ready:
                first = self._calls.choices.below(len(ready))
                ready = [ready[first], *ready[:first]]
            taken = ready[:MaxNumberOfMessages]
            if fault is Fault.DUPLICATED and taken:
                self._copy(taken[0])
            messages = [self._take(letter) for letter in taken]
            shown = " ".join(letter.id for letter in taken) or "nothing"
            return {"Messages": messages, "shown": shown}

        return self._calls.make("ReceiveMessage", effect, Fault.SHUFFLED, Fault.DUPLICATED)

    def delete_message_batch(self, QueueUrl: str, Entries: list[Any]) -> dict[str, Any]:  # noqa: N803
        assert QueueUrl == QUEUE

        def effect(_: Fault | None) -> dict[str, Any]:
            receipts = {entry["ReceiptHandle"] for entry in Entries}
            gone = [letter for letter in self.letters if letter.receipt in receipts]
            self.letters = [letter for letter in self.letters if letter not in gone]
            return {"shown": " ".join(letter.id for letter in gone)}

        return self._calls.make("DeleteMessageBatch", effect)

    def change_message_visibility_batch(
        self,
        QueueUrl: str,  # noqa: N803
        Entries: list[Any],  # noqa: N803
    ) -> dict[str, Any]:
        assert QueueUrl == QUEUE

        def effect(_: Fault | None) -> dict[str, Any]:
            for entry in Entries:
                for letter in self.letters:
                    if letter.receipt == entry["ReceiptHandle"]:
                        letter.visible = self._calls.fibers.now + entry["VisibilityTimeout"]
            return {}

        return self._calls.make("ChangeMessageVisibilityBatch", effect)

    def take_lambdas(self, letter: dict[str, Any]) -> None:
        """Accept Lambda's on-failure message about a batch, or refuse it."""
        self._calls.fibers.pause()
        if self._calls.faults.draw(self._calls.fibers.current.name, (Fault.REFUSED,)):
            raise refusal("AccessDenied", "SendMessage")
        self._calls.faults.came[Fault.GIVEN_UP] += 1
        self._calls.log_event("SendMessage by Lambda, which gives up on a batch")
        self.add(json.dumps(letter))

    def _take(self, letter: Letter) -> dict[str, Any]:
        letter.received += 1
        letter.receipt = f"{letter.id}#{next(self._ids)}"
        letter.visible = self._calls.fibers.now + self.hidden
        return {
            "MessageId": letter.id,
            "ReceiptHandle": letter.receipt,
            "Body": letter.body,
            "Attributes": {
                "SentTimestamp": str(int(letter.sent * 1000)),
                "ApproximateReceiveCount": str(letter.received),
            },
        }

    def _copy(self, letter: Letter) -> None:
        """Deliver a message a second time: a server of SQS missed that it was received."""
        later = self._calls.choices.pick((0.0, 20.0, 200.0, 2000.0))
        self.letters.append(replace(letter, visible=self._calls.fibers.now + later))
