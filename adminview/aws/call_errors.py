"""Failed calls for the log: error codes, AWS request ids, throttling reasons. Never data."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from adminview.aws.responses import REASONS
from adminview.aws.retry import error_code

MOST_IDS = 5  # request ids and throttling reasons per code
UNPROCESSED = "UnprocessedItems"


@dataclass(slots=True)
class _Failed:
    calls: int = 0
    request_ids: dict[str, None] = field(default_factory=dict)
    reasons: dict[str, None] = field(default_factory=dict)


@dataclass(slots=True)
class CallErrors:
    """The failed calls of one batch, by error code."""

    codes: dict[str, _Failed] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.codes)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self.codes))

    def add(self, error: ClientError | BotoCoreError) -> None:
        response: Mapping[str, Any] = error.response if isinstance(error, ClientError) else {}
        self._add(error_code(error), response)
        failed = self.codes[error_code(error)]
        for reason in (reason for name in REASONS for reason in response.get(name) or ()):
            if len(failed.reasons) < MOST_IDS and isinstance(reason, dict):
                text = f"{reason.get('reason', '')} {reason.get('resource', '')}".strip()
                failed.reasons[text] = None

    def add_unprocessed(self, response: Mapping[str, Any]) -> None:
        """Count a call with unprocessed items, which is throttling too."""
        self._add(UNPROCESSED, response)

    def add_code(self, code: str) -> None:
        """Count a failed call of which only the code is known."""
        self._add(code, {})

    def update(self, other: "CallErrors") -> None:
        for code, failed in other.codes.items():
            mine = self.codes.setdefault(code, _Failed())
            mine.calls += failed.calls
            mine.request_ids |= failed.request_ids
            mine.reasons |= failed.reasons

    def as_list(self) -> list[dict[str, Any]]:
        return [
            {
                "code": code,
                "calls": failed.calls,
                **({"request_ids": [*failed.request_ids][:MOST_IDS]} if failed.request_ids else {}),
                **({"throttling_reasons": [*failed.reasons]} if failed.reasons else {}),
            }
            for code, failed in sorted(self.codes.items())
        ]

    def _add(self, code: str, response: Mapping[str, Any]) -> None:
        failed = self.codes.setdefault(code, _Failed())
        failed.calls += 1
        request_id = response.get("ResponseMetadata", {}).get("RequestId")
        if request_id and len(failed.request_ids) < MOST_IDS:
            failed.request_ids[str(request_id)] = None
