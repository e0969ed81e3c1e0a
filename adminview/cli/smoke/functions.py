"""Checks 3 and 11: which client the functions use and how fast they are; the totals' windows."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from adminview.aws.clients import FALLBACK_LOGGED
from adminview.aws.observability import UPDATED_LOGGED
from adminview.aws.settings import TOTALS_FUNCTION_OUTPUT
from adminview.aws.transport.eligibility import Fallback, deployed_fallback
from adminview.cli.deployment.stacks import FUNCTION, TOTALS
from adminview.cli.smoke.check import (
    Cleanup,
    Seen,
    SmokeCheck,
    UnknownError,
    failed,
    passed,
    skipped,
    unknown,
)
from adminview.cli.smoke.logs import PLATFORM_REPORT, REPORT, entries, figures, log_lines, reports
from adminview.cli.smoke.run import SmokeRun
from adminview.totals.archive import DISORDER

HOUR: Final = 60 * 60.0  # a shard that is closed stays listed for longer
DAY: Final = 24 * HOUR
LOG_SECONDS: Final = 60.0  # until CloudWatch Logs shows a line
REPORT_IT: Final = "report it, with this line, for adminview/aws/transport/eligibility.py:"


def name_clients(run: SmokeRun, _: Cleanup) -> Seen:
    """Compare the client that each function logs with the one that its settings imply."""
    lines: list[str] = []
    wrong: list[str] = []
    idle: list[str] = []
    for _part, function in run.deployment.of(FUNCTION):
        configuration = run.call("lambda", "GetFunctionConfiguration", FunctionName=function.name)
        region = str(configuration["FunctionArn"]).split(":")[3]
        variables = (configuration.get("Environment") or {}).get("Variables", {})
        expected = deployed_fallback(variables, region)
        logged = _logged(run, configuration)
        if not logged:
            idle.append(function.label)
            continue
        line, right = evaluate_client(function.label, expected, logged)
        (lines if right else wrong).append(line)
    if wrong:
        return failed(
            "; ".join([*wrong, *lines]),
            f"{REPORT_IT} it lists the variables that Lambda sets itself",
        )
    if not lines:
        return unknown(
            "no function has a report in its log",
            "put an item, or run check 1 first, and repeat this check",
        )
    if idle:
        lines.append(f"no report of {', '.join(idle)}")
    return passed("; ".join(lines))


def evaluate_client(
    function: str, expected: Fallback | None, lines: Sequence[str]
) -> tuple[str, bool]:
    """Return what the log of a function says, and whether its settings imply it."""
    warned = next((str(entry.get("reason")) for entry in entries(lines, FALLBACK_LOGGED)), None)
    seen = reports(lines)
    why = warned or expected
    client = f"boto3 ({why})" if why else "the direct client"
    line = f"{function} uses {client}: {figures(seen)}" if seen else f"{function} uses {client}"
    if warned and not expected:
        return f"{line}, although no setting requires boto3", False
    return line, True


def _logged(run: SmokeRun, configuration: Mapping[str, Any]) -> list[str]:
    """Return the reports and warnings of a function since it was last deployed."""
    group = configuration.get("LoggingConfig", {}).get("LogGroup")
    if not group:
        return []
    modified = datetime.fromisoformat(configuration["LastModified"]).timestamp()
    since = max(modified, run.now() - DAY)
    return log_lines(run, group, since, REPORT, PLATFORM_REPORT, FALLBACK_LOGGED)


def follow_windows(run: SmokeRun, _: Cleanup) -> Seen:
    """Compare the shards in the events of the totals function with those of the stream."""
    if not run.deployment.part(TOTALS).stack:
        return skipped("the deployed model has no totals")
    function = run.deployment.output(TOTALS, TOTALS_FUNCTION_OUTPUT)
    configuration = run.call("lambda", "GetFunctionConfiguration", FunctionName=function)
    group = configuration.get("LoggingConfig", {}).get("LogGroup")
    if not group:
        msg = f"the function {function} names no log group"
        raise UnknownError(msg)
    if run.written_at is None:
        msg = "no row has changed in this run"
        raise UnknownError(msg, "run check 1 as well: --only 1,11")

    def updates() -> list[Mapping[str, Any]]:
        return [*entries(log_lines(run, group, run.now() - HOUR, UPDATED_LOGGED), UPDATED_LOGGED)]

    updated, _seconds = run.wait(updates, run.patience(LOG_SECONDS))
    return evaluate_windows(updated, _shards(run))


def evaluate_windows(updates: Sequence[Mapping[str, Any]], shards: Sequence[str]) -> Seen:
    """Evaluate the log lines of the totals function and the shards of the view's stream."""
    named = [str(entry["shard"]) for entry in updates if entry.get("shard")]
    if not updates:
        advice = "read docs/runbook.md#totals-silence, or repeat this check in some minutes"
        return unknown("the totals function has logged no batch", advice)
    if not named:
        return unknown("its log does not name shards", "deploy this version of AdminView")
    strange = sorted({*named} - {*shards})
    final = sum(1 for entry in updates if entry.get("final"))
    outside = sum(int(entry.get("outside", 0)) for entry in updates)
    disorder = max(float(entry.get("disorder_seconds", 0)) for entry in updates)
    line = (
        f"{len(updates)} batches of {len({*named})} shards; {final} final invocations with "
        f"records; {outside} records outside of their window; record times out of order by up to "
        f"{disorder:.0f} s"
    )
    if strange:
        words = f"{line}; {len(strange)} shards are not in DescribeStream"
        return failed(words, "report it: positions of totals are named after the shard")
    if disorder >= DISORDER:
        return failed(line, "report it: totals trust the times of records to fifteen minutes")
    return passed(line)


def _shards(run: SmokeRun) -> list[str]:
    """Return the ids of all shards of the view's stream."""
    request: dict[str, Any] = {"StreamArn": run.table(run.settings.view_table).stream_arn}
    shards: list[str] = []
    while True:
        stream = run.call("dynamodbstreams", "DescribeStream", **request)["StreamDescription"]
        shards += (str(shard["ShardId"]) for shard in stream["Shards"])
        if not stream.get("LastEvaluatedShardId"):
            return shards
        request["ExclusiveStartShardId"] = stream["LastEvaluatedShardId"]


CHECKS: Final = (
    SmokeCheck(
        3,
        "The functions use the direct client, or boto3 for a stated reason",
        "no function falls back to boto3 unless a setting of the deployment requires it",
        name_clients,
        minutes=0.3,
        cents=0.1,
        only_on_aws=True,
    ),
    SmokeCheck(
        11,
        "The events of a tumbling window name their shard",
        "shardId of each event is a shard that DescribeStream lists; record times are in order",
        follow_windows,
        minutes=0.5,
        cents=0.1,
        only_on_aws=True,
    ),
)
