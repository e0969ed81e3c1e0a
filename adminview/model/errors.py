"""What can be wrong, and whose doing it is.

AdminViewError
├── DeclarationError           a view file contradicts itself or another one
├── QuestionError              an access pattern was asked with the wrong parameters
│   └── BeingBuiltError        or rightly, but before all the rows of its answer are there
├── SettingsError              the function was deployed or started with wrong settings
├── ServiceError               AWS would not do what was asked, and went on refusing
├── UnansweredCallError        a write ended without a response, and may still take effect
├── BulkError                  work on a whole table cannot go on now
│   ├── SegmentTakenError      somebody else works on this segment
│   └── TooManyFailuresError   more items failed than were to be tolerated
├── RepairError                an item cannot be reconciled now
│   ├── MovingItemError        it changed faster than its rows could be written
│   ├── ExpiredRecordsError    the stream has forgotten the records that a letter is about
│   └── UnknownLetterError     a message in the queue is no letter that we know
└── RecordError                this record can never be synced as it is: set it aside
    ├── UnreadableRecordError  not a whole NEW_AND_OLD_IMAGES record of a declared source
    ├── MissingAttributeError  a view asked for an attribute that the item does not have
    ├── ViewError              a view raised something of its own
    ├── RowError               a view made a row that DynamoDB would refuse
    │   └── TooManyRowsError   or more rows, or larger ones, than one item may have
    ├── MigrationError         a migration asked for what cannot be set, or cannot be guarded
    ├── OwnershipError         two source items claim one row
    └── RefusedRowError        DynamoDB itself refused a row

The text of a RecordError travels to logs and dead letters, so it names attributes, types,
views and row shapes, and never a value taken from an item.
"""

KIND_LIMIT = 80  # characters


def kind_of(error: BaseException) -> str:
    """Name the class of an error; a class can be named at run time, so not just anything passes."""
    name = type(error).__name__
    return name if name.isidentifier() and len(name) <= KIND_LIMIT else "Error"


class AdminViewError(Exception):
    """Something AdminView can explain."""

    place = ""  # the view and the line of its file, where one is to blame
    touched: frozenset[tuple[str, str]] = frozenset()  # rows that were written before it came


def reason_of(error: AdminViewError) -> str:
    """Say what is wrong, and where."""
    return "; ".join(filter(None, [str(error), error.place]))


class DeclarationError(AdminViewError):
    """Say which declarations contradict each other, when they are made."""


class QuestionError(AdminViewError):
    """Say how an access pattern is to be asked."""


class BeingBuiltError(QuestionError):
    """Refuse a question rather than answer it with a part of its rows."""

    def __init__(self, pattern: str) -> None:
        super().__init__(
            f"question {pattern!r} is being built: its rows are not all there yet; "
            "ask again when `adminview apply` has switched it on"
        )


class SettingsError(AdminViewError):
    """Say which setting is missing or wrong, and what would be right."""


class ServiceError(AdminViewError):
    """AWS went on refusing. Carries the code of its answer, not the text: that may quote data."""

    def __init__(self, code: str, asked: str, *, answered: bool = True) -> None:
        super().__init__(f"{asked}: {'AWS answered' if answered else 'no answer of AWS:'} {code}")
        self.code = code
        self.answered = answered


class UnansweredCallError(AdminViewError):
    """A write ended without a response. It may still arrive, and overwrite a newer row."""

    def __init__(self) -> None:
        super().__init__("a write ended without a response and may still arrive: check these items")


class BulkError(AdminViewError):
    """Say why work on a whole table stops; what is done stays done."""


class SegmentTakenError(BulkError):
    """Somebody else works on a segment, or died over it a moment ago."""

    def __init__(self, run: str, number: int, seconds: float) -> None:
        super().__init__(
            f"segment {number} of {run} is in other hands, or was a moment ago: "
            f"it can be taken in {seconds:.0f} seconds"
        )
        self.seconds = seconds


class TooManyFailuresError(BulkError):
    """More items of a run failed than were to be tolerated: something is wrong with all."""


class RepairError(AdminViewError):
    """Say why an item cannot be reconciled, though its views may be in order."""


class MovingItemError(RepairError):
    """The item changed each time its rows had been written."""


class ExpiredRecordsError(RepairError):
    """The stream has forgotten the records; only a look at the whole source helps."""


class UnknownLetterError(RepairError):
    """A message of the dead-letter queue cannot be understood; it is left where it is."""


class RecordError(AdminViewError):
    """Set one record aside; retrying it cannot help."""


class UnreadableRecordError(RecordError):
    """The stream record itself is not what a source's stream must carry."""


class MissingAttributeError(RecordError, KeyError):
    """A view needs an attribute that the item does not have. A KeyError, as for any mapping."""

    def __init__(self, name: str, *, told: bool = True) -> None:
        super().__init__(
            f"the item has no attribute {name!r}" if told else "an attribute is absent"
        )
        self.name = name

    def __str__(self) -> str:
        """Read as a sentence, not as KeyError's quoted key."""
        return str(self.args[0])


class ViewError(RecordError):
    """A view raised. Carries the kind of the error, not its text: that may quote data."""

    def __init__(self, cause: BaseException, what: str = "view") -> None:
        super().__init__(f"the {what} raised {kind_of(cause)}")


class RowError(RecordError):
    """A view made a row that DynamoDB would refuse."""


class TooManyRowsError(RowError):
    """A view made more rows of one item, or larger ones, than it may."""


class MigrationError(RecordError):
    """A migration asked for what cannot be set, or looked where no condition can."""


class OwnershipError(RecordError):
    """Two source items claim the same row."""


class RefusedRowError(RecordError):
    """DynamoDB refused a row that had passed our own checks."""
