"""The on-failure destination of a local event source: the same queue as our own dead letters."""

import json
from collections.abc import Callable
from typing import Any

from adminview.aws.deadline import Deadline
from adminview.runtime import Post
from adminview.sync.dead_letter import Letter

SECONDS = 30.0  # to send one of Lambda's letters


def on_failure(post: Post) -> Callable[[dict[str, Any]], None]:
    """Let Lambda's own letters go the same way as ours; raise if one is not taken."""

    def send(letter: dict[str, Any]) -> None:
        condition = letter["requestContext"]["condition"]
        mail = Letter(0, None, None, condition, "Lambda gave up on a batch", json.dumps(letter))
        unsent, trouble = post.send([mail], until=Deadline.after(SECONDS))
        if unsent:
            msg = f"Lambda's letter was not taken, its records stay: {', '.join(sorted(trouble))}"
            raise RuntimeError(msg)

    return send
