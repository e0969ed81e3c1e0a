"""JSON Schemas of the operations."""

from typing import Final

from adminview.http_api.schemas import (
    MAYBE_TEXT,
    TEXT,
    Schema,
    list_of,
    one_of,
    or_null,
    reference,
    shape,
)

BOOLEAN: Final[Schema] = {"type": "boolean"}
MAYBE_BOOLEAN: Final[Schema] = {"type": ["boolean", "null"]}
COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
MAYBE_COUNT: Final[Schema] = {"type": ["integer", "null"], "minimum": 0}
NUMBER: Final[Schema] = {"type": "number"}
MAYBE_NUMBER: Final[Schema] = {"type": ["number", "null"]}
TIME: Final[Schema] = {"type": "string", "format": "date-time"}
MAYBE_TIME: Final[Schema] = {"type": ["string", "null"], "format": "date-time"}
COUNTS: Final[Schema] = {"type": "object", "additionalProperties": COUNT}
TEXTS: Final[Schema] = {"type": "object", "additionalProperties": TEXT}
KEYS: Final[Schema] = list_of(reference("RowKey"))
REASON: Final[Schema] = {
    "type": "string",
    "minLength": 5,
    "maxLength": 500,
    "description": "Why; two words or more. It is recorded in the audit file.",
}
# A row as it is stored, which may lack anything but its key.
STORED_ROW: Final[Schema] = shape(
    {
        "key": reference("RowKey"),
        "data": {"description": "As in Row; null if there is none."},
        "index": reference("IndexKeys"),
    }
)


def _nullable(members: dict[str, Schema]) -> Schema:
    return {"anyOf": [shape(members), {"type": "null"}]}


PROVENANCE: Final[dict[str, Schema]] = {
    "StoredRow": STORED_ROW,
    "Explanation": shape(
        {
            "key": reference("RowKey"),
            "row": reference("StoredRow"),
            "expected": or_null("StoredRow"),
            "verdict": one_of(["equal", "different", "orphaned", "failing", "unowned"]),
            "explanation": TEXT,
            "difference": list_of(TEXT),
            "item": _nullable(
                {
                    "owner": TEXT,
                    "source": TEXT,
                    "table": TEXT,
                    "key": TEXTS,
                    "exists": MAYBE_BOOLEAN,
                }
            ),
            "change": shape(
                {
                    "sequence": MAYBE_TEXT,
                    "reconciled": BOOLEAN,
                    "time": MAYBE_TIME,
                    "ageSeconds": MAYBE_NUMBER,
                }
            ),
            "view": _nullable({"name": TEXT, "module": TEXT, "file": TEXT, "line": COUNT}),
            "model": shape({"row": MAYBE_TEXT, "current": TEXT, "same": BOOLEAN}),
            "contributions": list_of(TEXT),
            "repair": MAYBE_TEXT,
            "repairable": BOOLEAN,
            "problem": MAYBE_TEXT,
        }
    ),
    "Related": shape(
        {
            "partition": shape({"rows": KEYS, "more": BOOLEAN}),
            "item": shape({"owner": MAYBE_TEXT, "rows": KEYS, "more": BOOLEAN}),
            "joins": list_of(
                shape({"name": TEXT, "pattern": TEXT, "key": reference("RowKey")}),
            ),
            "links": list_of(
                shape(
                    {
                        "pattern": TEXT,
                        "about": TEXT,
                        "parameters": TEXTS,
                        "missing": list_of(TEXT),
                        "because": TEXT,
                        "basis": one_of(["key", "name"]),
                    }
                )
            ),
        }
    ),
}

LETTER: Final[dict[str, Schema]] = {
    "id": TEXT,
    "source": MAYBE_TEXT,
    "view": MAYBE_TEXT,
    "error": TEXT,
    "reason": TEXT,
    "items": list_of(TEXT),
    "changed": MAYBE_TIME,
    "sent": MAYBE_TIME,
    "received": COUNT,
    "attempts": COUNT,
    "kind": one_of(["record", "in-doubt", "batch", "unreadable"]),
}
LETTER_GROUP: Final[dict[str, Schema]] = {"source": MAYBE_TEXT, "view": MAYBE_TEXT, "error": TEXT}
QUEUE: Final[dict[str, Schema]] = {"ready": COUNT, "received": COUNT, "delayed": COUNT}
FAILURE: Final[dict[str, Schema]] = {"kind": TEXT, "reason": TEXT}
SELECTION: Final[Schema] = {
    "description": "Dead letters by id, one group as it is listed, or all.",
    "oneOf": [
        shape(
            {
                "ids": {
                    "type": "array",
                    "items": {"type": "string", "minLength": 1, "maxLength": 200},
                    "minItems": 1,
                    "maxItems": 1000,
                }
            }
        ),
        shape({"group": reference("LetterGroup")}),
        shape({"all": {"const": True}}),
    ],
}
DEAD_LETTERS: Final[dict[str, Schema]] = {
    "StoredRow": STORED_ROW,
    "LetterGroup": shape(LETTER_GROUP),
    "Selection": SELECTION,
    "DeadLetter": shape(LETTER),
    "DeadLetters": shape(
        {
            "queue": shape({**QUEUE, "at": TIME}),
            "invisible": shape(
                {
                    "count": COUNT,
                    "latest": MAYBE_TIME,
                    "note": TEXT,
                    "known": list_of(
                        shape({"item": TEXT, "source": MAYBE_TEXT, "error": TEXT, "until": TIME})
                    ),
                }
            ),
            "groups": list_of(
                shape(
                    {
                        **LETTER_GROUP,
                        "count": COUNT,
                        "oldest": MAYBE_TIME,
                        "newest": MAYBE_TIME,
                        "attempts": COUNT,
                        "reasons": list_of(shape({"reason": TEXT, "count": COUNT})),
                        "readable": BOOLEAN,
                    }
                )
            ),
            "letters": list_of(reference("DeadLetter")),
            "complete": BOOLEAN,
        }
    ),
    "DeadLetterDetails": shape(
        {
            **LETTER,
            "rows": KEYS,
            "model": MAYBE_TEXT,
            "sequence": MAYBE_TEXT,
            "event": MAYBE_TEXT,
            "table": MAYBE_TEXT,
            "firstError": _nullable(FAILURE),
            "lastAttempt": _nullable({**FAILURE, "at": MAYBE_TEXT, "count": COUNT}),
            "text": TEXT,
            "truncated": BOOLEAN,
        }
    ),
    "ReplayPreview": shape(
        {
            "items": list_of(
                shape(
                    {
                        "item": TEXT,
                        "letters": COUNT,
                        "problem": MAYBE_TEXT,
                        "put": list_of(
                            shape(
                                {
                                    "key": reference("RowKey"),
                                    "before": or_null("StoredRow"),
                                    "after": or_null("StoredRow"),
                                    "isNew": BOOLEAN,
                                }
                            )
                        ),
                        "delete": list_of(
                            shape({"key": reference("RowKey"), "before": or_null("StoredRow")})
                        ),
                    }
                )
            ),
            "unreadable": list_of(shape({"id": TEXT, "reason": TEXT})),
            "letters": COUNT,
            "complete": BOOLEAN,
            "truncated": BOOLEAN,
        }
    ),
}

REPAIRS: Final[dict[str, Schema]] = {
    "Repair": shape(
        {"select": reference("Selection"), "reason": REASON},
        {"perSecond": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10}},
    ),
    "ReconcileRow": shape(
        {
            "PK": {"type": "string", "minLength": 1},
            "SK": {"type": "string", "minLength": 1},
            "reason": REASON,
        }
    ),
    "ReconciledRow": shape({"item": TEXT, "put": COUNT, "deleted": COUNT}),
    "Job": shape(
        {
            "id": TEXT,
            "action": one_of(["replay", "discard"]),
            "reason": TEXT,
            "select": reference("Selection"),
            "perSecond": COUNT,
            "state": one_of(["running", "stopping", "done", "stopped", "failed"]),
            "startedAt": TIME,
            "endedAt": MAYBE_TIME,
            "total": MAYBE_COUNT,
            "handled": COUNT,
            "outcomes": COUNTS,
            "rowsPut": MAYBE_COUNT,
            "rowsDeleted": MAYBE_COUNT,
            "reasons": COUNTS,
            "letters": list_of(shape({"id": TEXT, "outcome": TEXT, "reason": TEXT})),
            "problem": MAYBE_TEXT,
        }
    ),
    "StartedJob": shape({"job": reference("Job")}),
    "Jobs": shape({"jobs": list_of(reference("Job"))}),
    "Audit": shape(
        {
            "file": TEXT,
            "entries": list_of(
                shape(
                    {
                        "at": MAYBE_TEXT,
                        "by": MAYBE_TEXT,
                        "action": MAYBE_TEXT,
                        "reason": MAYBE_TEXT,
                        "id": MAYBE_TEXT,
                        "outcome": MAYBE_TEXT,
                        "job": MAYBE_TEXT,
                        "item": MAYBE_TEXT,
                    }
                )
            ),
        }
    ),
}

MEASURE: Final[Schema] = reference("Measure")
STATE: Final[Schema] = one_of(["healthy", "attention", "problem", "unknown", "quiet"])
STATUS: Final[dict[str, Schema]] = {
    "Measure": {
        **shape(
            {
                "value": MAYBE_NUMBER,
                "unit": one_of(["seconds", "count"]),
                "at": MAYBE_TIME,
                "reason": MAYBE_TEXT,
            }
        ),
        "description": "A measured value. Null is unknown, for the reason given; never zero.",
    },
    "SourceStatus": shape(
        {
            "name": TEXT,
            "table": TEXT,
            "state": STATE,
            "lag": MEASURE,
            "records": MEASURE,
            "writes": MEASURE,
            "deadLetters": MEASURE,
            "drift": MEASURE,
            "verified": shape(
                {
                    "at": MAYBE_TIME,
                    "complete": MAYBE_BOOLEAN,
                    "share": {"type": ["number", "null"], "exclusiveMinimum": 0, "maximum": 1},
                    "checked": MEASURE,
                    "reason": MAYBE_TEXT,
                }
            ),
        }
    ),
    "Status": shape(
        {
            "at": TIME,
            "model": shape({"local": TEXT, "deployed": MAYBE_TEXT, "same": MAYBE_BOOLEAN}),
            "state": STATE,
            "problems": list_of(TEXT),
            "sources": list_of(reference("SourceStatus")),
            "window": MAYBE_TEXT,
            "deadLetters": _nullable(QUEUE),
            "alarms": shape(
                {
                    "known": BOOLEAN,
                    "reason": MAYBE_TEXT,
                    "ringing": list_of(
                        shape({"name": TEXT, "since": MAYBE_TIME, "description": TEXT})
                    ),
                    "ok": MAYBE_COUNT,
                    "noData": MAYBE_COUNT,
                }
            ),
            "pending": list_of(shape({"pattern": TEXT, "servedBy": MAYBE_TEXT})),
        }
    ),
    "Apply": shape(
        {
            "state": one_of(["running", "done", "stopped", "failed"]),
            "model": TEXT,
            "startedAt": TIME,
            "at": TIME,
            "steps": list_of(
                shape(
                    {
                        "title": TEXT,
                        "state": one_of(["done", "running", "stopped", "failed", "waiting"]),
                    }
                )
            ),
        }
    ),
    "Progress": shape(
        {
            "runs": list_of(
                shape(
                    {
                        "run": TEXT,
                        "kind": TEXT,
                        "subject": TEXT,
                        "segmentsDone": COUNT,
                        "segments": COUNT,
                        "counts": COUNTS,
                        "state": one_of(["running", "waiting"]),
                        "model": TEXT,
                        "leaseUntil": MAYBE_TIME,
                    }
                )
            ),
            "completed": list_of(
                shape(
                    {
                        "run": TEXT,
                        "at": MAYBE_TIME,
                        "model": MAYBE_TEXT,
                        "counts": COUNTS,
                        "current": BOOLEAN,
                    }
                )
            ),
            "plan": shape(
                {
                    "unbuilt": list_of(TEXT),
                    "stale": list_of(TEXT),
                    "pending": list_of(TEXT),
                    "apply": or_null("Apply"),
                }
            ),
            "known": BOOLEAN,
            "reason": MAYBE_TEXT,
        }
    ),
}
