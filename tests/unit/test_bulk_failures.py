"""Dead letters of bulk work name every row that a repair must check."""

import json
from typing import Any, cast

from adminview.aws.deadline import Deadline
from adminview.bulk.failures import Failures
from adminview.model import Source
from adminview.model.dead_letter import OutgoingLetter
from adminview.model.errors import MovingItemError
from adminview.reconcile.item_ref import ItemRef
from adminview.sync.decode import Route

ROUTE = Route("things-table", Source("Things", partition_key="id"), ())


class Post:
    """A queue that takes everything."""

    def __init__(self) -> None:
        self.letters: list[Any] = []

    def send(
        self, letters: list[OutgoingLetter], *, deadline: Deadline
    ) -> tuple[list[OutgoingLetter], set[str]]:
        assert not deadline.passed
        self.letters += [json.loads(letter.body) for letter in letters]
        return [], set()


def test_a_dead_letter_names_the_rows_that_were_written_before_the_item_failed() -> None:
    post = Post()
    failures = Failures(cast("Any", post), "model-1", lambda: 0.0)
    target = ItemRef(ROUTE, {"id": {"S": "a"}}, frozenset({("THING#a", "known")}))
    with failures.of(target):
        error = MovingItemError("it moves")
        error.touched = frozenset({("THING#a", "written")})
        raise error
    assert failures.send(Deadline.after(60)) == 1
    (letter,) = post.letters
    assert letter["rows"] == [["THING#a", "known"], ["THING#a", "written"]]
