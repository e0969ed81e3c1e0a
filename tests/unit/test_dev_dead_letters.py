"""Dead letters of a local engine: soon visible, one per item, and each traceback once."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from adminview.aws.call_errors import CallErrors
from adminview.aws.dead_letter_consumer import Message
from adminview.aws.deadline import Deadline
from adminview.local.dev.letters import FirstLetterSink, PromptSink
from adminview.local.dev.printer import BatchPrinter
from adminview.local.dev.rebuild import count
from adminview.model.dead_letter import ItemOrigin, OutgoingLetter
from adminview.model.errors import RowError, TooManyRowsError
from adminview.sync.counts import BatchCounts
from adminview.sync.dead_letter import dead_letter

SOON = Deadline.after(3600)  # of the whole suite


def letter(owner: str, error: RowError | None = None) -> OutgoingLetter:
    origin = ItemOrigin(source="Users", table="Users", key=None, owner=owner, at=1.0)
    return dead_letter(0, origin, error or RowError("it is bad"), ())


@dataclass
class Queue:
    """Stands in for both ends of a queue."""

    bodies: list[str] = field(default_factory=list)
    delays: list[int | None] = field(default_factory=list)
    full: bool = False
    taken: list[Message] = field(default_factory=list)

    def send(
        self, letters: Sequence[OutgoingLetter], *, deadline: Deadline
    ) -> tuple[list[OutgoingLetter], set[str]]:
        assert not deadline.passed
        if self.full:
            return [*letters], {"Full"}
        self.bodies += [letter.body for letter in letters]
        self.delays += [letter.delay_seconds for letter in letters]
        return [], set()

    def take(self, *, deadline: Deadline, hide_seconds: int) -> list[Message]:
        assert not deadline.passed
        assert hide_seconds
        messages = [Message(str(n), "", body, 0.0, 1) for n, body in enumerate(self.bodies)]
        fresh = [message for message in messages if message not in self.taken][:10]
        self.taken += fresh
        return fresh

    def put_back(self, messages: Sequence[Message], *, deadline: Deadline) -> None:
        assert not deadline.passed
        self.taken = [message for message in self.taken if message not in messages]


def test_no_dead_letter_waits_for_minutes() -> None:
    queue = Queue()
    assert letter("Users/1", TooManyRowsError("too many")).delay_seconds == 360
    letters = [letter("Users/1", TooManyRowsError("too many")), letter("Users/2")]
    assert PromptSink(queue).send(letters, deadline=SOON) == ([], set())
    assert queue.delays == [5, 0]


def test_dead_letters_that_are_refused_are_returned_as_they_were() -> None:
    letters = [letter("Users/1", TooManyRowsError("too many")), letter("Users/2")]
    unsent, codes = PromptSink(Queue(full=True)).send(letters, deadline=SOON)
    assert [id(outgoing) for outgoing in unsent] == [id(outgoing) for outgoing in letters]
    assert codes == {"Full"}


def test_another_error_of_an_item_gets_a_dead_letter_of_its_own() -> None:
    queue = Queue([letter("Users/1").body])
    other = letter("Users/1", RowError("it is bad in another way"))
    FirstLetterSink(queue, queue).send([other], deadline=SOON)  # type: ignore[arg-type]  # it stands in
    assert queue.bodies[1:] == [other.body]


def test_an_item_that_has_a_dead_letter_gets_no_other() -> None:
    queue = Queue(["not a dead letter", *(letter(f"Users/{n}").body for n in range(12))])
    sink = FirstLetterSink(queue, queue)  # type: ignore[arg-type]  # it stands in
    sink.send([letter("Users/11"), letter("Users/12")], deadline=SOON)
    assert queue.bodies[13:] == [letter("Users/12").body]
    assert queue.taken == []


def test_a_traceback_is_printed_once_until_the_view_files_change() -> None:
    printed: list[str] = []
    printer = BatchPrinter(printed.append, lambda _: "Traceback\n  line")
    printer.dead_lettered([letter("Users/1"), letter("Users/2")])
    assert printed == [
        "  dead letter: Users/1: RowError: it is bad",
        "    Traceback\n      line",
        "  dead letter: Users/2: RowError: it is bad",
    ]
    printer.forget()
    printer.dead_lettered([letter("Users/3")])
    assert printed[-1] == "    Traceback\n      line"


def test_a_dead_letter_of_an_item_that_was_just_corrected_says_so() -> None:
    printed: list[str] = []
    printer = BatchPrinter(printed.append, lambda _: "")
    printer.synced(BatchCounts("Users", records=1, written=1), [letter("Users/1")], CallErrors())
    assert printed[1] == (
        "  dead letter: Users/1: RowError: it is bad (in the item's old version; a replay checks "
        "that no row of that version is left)"
    )
    printer.synced(
        BatchCounts("Users", records=1, dead_lettered=1), [letter("Users/2")], CallErrors()
    )
    assert printed[3] == "  dead letter: Users/2: RowError: it is bad"


def test_rows_without_totals_print_no_line_about_totals() -> None:
    printed: list[str] = []
    counts = {"records": 2, "updates": 0, "malformed": 0, "refused": 0, "redelivered": 0}
    printer = BatchPrinter(printed.append)
    printer.counted(counts, CallErrors())
    assert printed == []
    for name in ("updates", "malformed", "refused", "redelivered"):
        printer.counted(counts | {name: 1}, CallErrors())
    assert [line.partition(";")[0] for line in printed] == ["totals: 2 rows changed"] * 4


def test_the_sources_that_sent_records_are_known() -> None:
    printer = BatchPrinter(list[str]().append)
    for source in ("Users", "Orders", "Users"):
        printer.synced(BatchCounts(source, records=1, written=1), [], CallErrors())
    assert printer.sources == {"Users", "Orders"}


def test_a_count_has_its_plural() -> None:
    assert [count(1, "row written"), count(2, "item")] == ["1 row written", "2 items"]


def test_many_dead_letters_of_one_error_leave_its_traceback_visible() -> None:
    printed: list[str] = []
    printer = BatchPrinter(printed.append, lambda _: "Traceback")
    other = letter("Users/101", RowError("it is bad in another way"))
    printer.dead_lettered([*(letter(f"Users/{n}") for n in range(100)), other])
    assert len(printed) == 3 + 1 + 2 + 1
    assert "  dead letter: Users/101: RowError: it is bad in another way" in printed
    assert printed[-1] == "  and 97 more: RowError: it is bad"
