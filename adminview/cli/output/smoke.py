"""The report of `adminview smoke`, as Markdown and as JSON, to be pasted into an issue."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from adminview.cli.smoke.check import SmokeCheck, SmokeResult, SmokeStatus

ACCOUNT: Final = re.compile(r"(?<![\d.])\d{12}(?!\d)")  # in ARNs and host names
MASK: Final = "…"
COLUMNS: Final = ("#", "check", "status", "expected", "seen", "what follows")


def as_data(
    results: Sequence[SmokeResult], facts: Mapping[str, Any], status: int
) -> dict[str, Any]:
    """Return the report as JSON data, without account numbers."""
    checks = [result.data() for result in _sorted(results)]
    data = {"status": status, **facts, "counts": _counts(results), "checks": checks}
    return {name: _masked(value) for name, value in data.items()}


def markdown(results: Sequence[SmokeResult], facts: Mapping[str, Any]) -> str:
    """Return the report as Markdown, without account numbers."""
    lines = ["# adminview smoke", ""]
    lines += (f"- {name}: {value}" for name, value in facts.items())
    lines += ["", _row(COLUMNS), _row(["---"] * len(COLUMNS))]
    for result in _sorted(results):
        check, seen = result.check, result.seen
        words = f"{seen.status} ({result.seconds:.0f} s)"
        lines.append(
            _row([str(check.number), check.title, words, check.expected, seen.seen, seen.follows])
        )
    listed = ", ".join(f"{count} {status}" for status, count in _counts(results).items() if count)
    return mask_accounts("\n".join([*lines, "", f"{listed}."]))


def listing(checks: Sequence[SmokeCheck]) -> str:
    """Return the numbers, titles and assumptions of checks as Markdown."""
    lines = [_row(("#", "check", "expected")), _row(["---"] * 3)]
    ordered = sorted(checks, key=lambda check: check.number)
    lines += (_row([str(check.number), check.title, check.expected]) for check in ordered)
    return "\n".join(lines)


def mask_accounts(text: str) -> str:
    """Replace the account number in ARNs and URLs."""
    return ACCOUNT.sub(MASK, text)


def _masked(data: Any) -> Any:
    if isinstance(data, str):
        return mask_accounts(data)
    if isinstance(data, dict):
        return {name: _masked(value) for name, value in data.items()}
    return [_masked(value) for value in data] if isinstance(data, list) else data


def _row(cells: Sequence[str]) -> str:
    safe = (" ".join(cell.replace("|", "\\|").split()) for cell in cells)
    return f"| {' | '.join(safe)} |"


def _sorted(results: Sequence[SmokeResult]) -> list[SmokeResult]:
    return sorted(results, key=lambda result: result.check.number)


def _counts(results: Sequence[SmokeResult]) -> dict[str, int]:
    counts = Counter(result.seen.status for result in results)
    return {status.value: counts[status] for status in SmokeStatus}
