"""The on-failure destination of a local event source: the same queue as our own dead letters."""

import json
from collections.abc import Callable
from typing import Any

from adminview.aws.dead_letter_producer import DeadLetterSink
from adminview.aws.deadline import Deadline
from adminview.model.dead_letter import OutgoingLetter, from_json

SECONDS = 30.0  # to send one of Lambda's letters


def on_failure(post: DeadLetterSink) -> Callable[[dict[str, Any]], None]:
    """Let Lambda's own letters go the same way as ours; raise if one is not taken."""

    def send(letter: dict[str, Any]) -> None:
        message = OutgoingLetter.of(from_json(json.dumps(letter)))
        unsent, trouble = post.send([message], deadline=Deadline.after(SECONDS))
        if unsent:
            msg = f"Lambda's letter was not taken, its records stay: {', '.join(sorted(trouble))}"
            raise RuntimeError(msg)

    return send
