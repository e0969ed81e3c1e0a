"""All errors that AdminView raises.

AdminViewError
├── DeclarationError           a view file contradicts itself or another one
├── QueryError                 a query does not fit its access pattern
│   └── PatternNotReadyError   the access pattern is not ready: its rows are still backfilled
├── SettingsError              a setting is missing or wrong
├── ServiceError               AWS kept refusing a call
├── UnansweredCallError        a write got no response and may still take effect
├── BulkError                  bulk work cannot continue now
│   ├── SegmentTakenError      another worker holds this segment
│   ├── TooEarlyError          a condition of the next step is not met yet
│   └── TooManyFailuresError   more items failed than the run tolerates
├── RepairError                an item cannot be reconciled now
│   ├── MovingItemError        it keeps changing while its rows are written
│   ├── ExpiredRecordsError    the stream no longer has the records of a dead letter
│   └── UnknownLetterError     a message in the queue is not a known dead letter
└── RecordError                a retry cannot help this record: dead-letter it
    ├── UnreadableRecordError  not a complete NEW_AND_OLD_IMAGES record of a source
    ├── MissingAttributeError  a view read an attribute that the item does not have
    ├── ViewError              a view raised another error
    ├── RowError               a view yielded a row that DynamoDB would refuse
    │   └── TooManyRowsError   more rows or bytes than one item may have
    ├── MigrationError         a migration's update cannot be written safely
    ├── OwnershipError         two source items claim one row
    └── RefusedRowError        DynamoDB itself refused a row

The text of a RecordError goes to logs and dead letters. It names attributes, types, views and row
shapes, never a value of an item.
"""

KIND_LIMIT = 80  # characters


def kind_of(error: BaseException) -> str:
    """Return the class name of an error; "Error" if it is no identifier or is too long."""
    name = type(error).__name__
    return name if name.isidentifier() and len(name) <= KIND_LIMIT else "Error"


class AdminViewError(Exception):
    """Base class of all errors that AdminView raises on purpose."""

    place = ""  # where the error arose, if known: a view and its line, or a file and line
    touched: frozenset[tuple[str, str]] = frozenset()  # rows written before the error


def reason_of(error: AdminViewError) -> str:
    """Return the error's text with its place, if it has one."""
    return "; ".join(filter(None, [str(error), error.place]))


class DeclarationError(AdminViewError):
    """A declaration is invalid or contradicts another. Raised when view files are loaded."""

    def __init__(self, text: str = "", *, place: str = "") -> None:
        super().__init__(text)
        self.place = place


class QueryError(AdminViewError):
    """A query does not fit its access pattern."""


class PatternNotReadyError(QueryError):
    """The access pattern is not ready: a query would miss rows."""

    def __init__(self, pattern: str) -> None:
        super().__init__(
            f"access pattern {pattern!r} is not ready: its rows are still being backfilled; "
            "`adminview doctor` shows whether a backfill is running"
        )


class SettingsError(AdminViewError):
    """A setting is missing or wrong."""


class ServiceError(AdminViewError):
    """AWS kept refusing a call. Carries the error code, not the text: that may quote data."""

    hint = ""  # what to do; commands and the Python API add it

    def __init__(self, code: str, action: str, *, answered: bool = True) -> None:
        super().__init__(
            f"{action}: {'AWS answered' if answered else 'no answer from AWS:'} {code}"
        )
        self.code = code
        self.answered = answered

    def __str__(self) -> str:
        return "; ".join(filter(None, [super().__str__(), self.hint]))


class UnansweredCallError(AdminViewError):
    """A write got no response. It may still arrive and overwrite a newer row."""

    def __init__(self) -> None:
        super().__init__("a write ended without a response and may still arrive: check these items")


class BulkError(AdminViewError):
    """Bulk work cannot continue. Rows that are written stay written."""


class TooEarlyError(BulkError):
    """A condition of the next step is not met yet. A build tries it again after a minute."""


class SegmentTakenError(BulkError):
    """Another worker holds the lease of a segment, or stopped without releasing it."""

    def __init__(self, run: str, number: int, seconds: float) -> None:
        super().__init__(
            f"another worker holds segment {number} of {run}, or stopped a moment ago: "
            f"its lease expires in {seconds:.0f} seconds"
        )
        self.seconds = seconds


class TooManyFailuresError(BulkError):
    """More items failed than the run tolerates: the cause is probably common to all."""


class RepairError(AdminViewError):
    """An item cannot be reconciled now, although its views may be correct."""


class MovingItemError(RepairError):
    """The item changed each time its rows had been written."""


class ExpiredRecordsError(RepairError):
    """The stream no longer has the records; verify the whole source instead."""


class UnknownLetterError(RepairError):
    """A message of the queue is not a known dead letter; it stays in the queue."""


class RecordError(AdminViewError):
    """A record that a retry cannot help: it is dead-lettered."""


class UnreadableRecordError(RecordError):
    """The stream record is incomplete, or not one of a declared source."""


class MissingAttributeError(RecordError, KeyError):
    """A view read an attribute that the item does not have. A KeyError, as for any mapping."""

    def __init__(self, name: str, *, owner: str = "the item", may_name: bool = True) -> None:
        super().__init__(
            f"{owner} has no attribute {name!r}" if may_name else "an attribute is absent"
        )
        self.name = name
        self.owner = owner

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would quote it


class ViewError(RecordError):
    """A view raised. Carries the class of the error, not its text: that may quote data."""

    def __init__(self, cause: BaseException, function: str = "view") -> None:
        super().__init__(f"the {function} raised {kind_of(cause)}")


class RowError(RecordError):
    """A view yielded a row that DynamoDB would refuse."""


class TooManyRowsError(RowError):
    """A view yielded more rows or bytes for one item than it may."""


class MigrationError(RecordError):
    """A migration's update cannot be written, or no condition can guard it."""


class OwnershipError(RecordError):
    """Two source items claim the same row."""


class RefusedRowError(RecordError):
    """DynamoDB refused a row that passed our own checks."""
