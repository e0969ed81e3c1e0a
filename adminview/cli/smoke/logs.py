"""What the functions wrote to their logs: Lambda's reports, and our own JSON lines."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from adminview.cli.smoke.run import SmokeRun

MOST_PAGES: Final = 20
NUMBER: Final = re.compile(r"(Init Duration|Duration|Max Memory Used): ([\d.]+) \w+")
REPORT, PLATFORM_REPORT = "REPORT RequestId", "platform.report"


@dataclass(frozen=True, slots=True)
class Report:
    """Lambda's report of one invocation."""

    milliseconds: float
    cold_milliseconds: float | None  # of the initialization, if this invocation had one
    megabytes: float


def log_lines(run: SmokeRun, group: str, since: float, *texts: str) -> list[str]:
    """Return the lines of a log group that contain one of *texts*."""
    pattern = " ".join(f'?"{text}"' for text in texts)
    request: dict[str, Any] = {
        "logGroupName": group,
        "startTime": int(since * 1000),
        "filterPattern": pattern,
    }
    lines: list[str] = []
    for _ in range(MOST_PAGES):
        page = run.call("logs", "FilterLogEvents", **request)
        messages = (str(event["message"]) for event in page.get("events", []))
        # A local cloud may ignore the pattern.
        lines += (message for message in messages if any(text in message for text in texts))
        if not page.get("nextToken"):
            break
        request["nextToken"] = page["nextToken"]
    return lines


def reports(lines: Iterable[str]) -> list[Report]:
    """Return Lambda's reports among *lines*, in its text format or in JSON."""
    return [report for line in lines if (report := _report(line))]


def entries(lines: Iterable[str], message: str) -> Iterator[Mapping[str, Any]]:
    """Return our own lines with *message*."""
    for line in lines:
        entry = _parsed(line)
        if entry.get("message") == message:
            yield entry


def figures(seen: list[Report]) -> str:
    """Return the medians and maxima of reports as text."""
    durations = [report.milliseconds for report in seen]
    cold = [report.cold_milliseconds for report in seen if report.cold_milliseconds is not None]
    starts = f"cold start {median(cold):.0f} ms (at most {max(cold):.0f})" if cold else "no start"
    return (
        f"{len(seen)} invocations, {starts}, duration {median(durations):.0f} ms "
        f"(at most {max(durations):.0f}), memory {max(r.megabytes for r in seen):.0f} MB"
    )


def _report(line: str) -> Report | None:
    if REPORT in line:
        fields = (NUMBER.fullmatch(field.strip()) for field in line.split("\t"))
        numbers = {match[1]: float(match[2]) for match in fields if match}
        if "Duration" in numbers:
            return Report(
                numbers["Duration"], numbers.get("Init Duration"), numbers.get("Max Memory Used", 0)
            )
    entry = _parsed(line)
    if entry.get("type") != PLATFORM_REPORT:
        return None
    metrics = entry["record"]["metrics"]
    return Report(
        metrics["durationMs"], metrics.get("initDurationMs"), metrics.get("maxMemoryUsedMB", 0)
    )


def _parsed(line: str) -> Mapping[str, Any]:
    try:
        entry = json.loads(line)
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}
