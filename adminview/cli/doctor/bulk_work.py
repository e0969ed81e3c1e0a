"""Whether bulk work was begun and not ended."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from adminview.aws.deadline import Deadline
from adminview.bulk.lease_table import LeaseTable
from adminview.bulk.runs import BACKFILL, EVERYTHING, MIGRATE, SWEEP
from adminview.bulk.segment import Record
from adminview.cli.deployment.aws_calls import Aws
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.stacks import RECOVERY, TABLE
from adminview.cli.doctor.finding import Check, Fault, State, Verdict


def checks(
    aws: Aws,
    deployment: Deployment,
    migrations: Sequence[str],
    now: Callable[[], float] = time.time,
) -> Iterator[Check]:
    """List what is to be looked at."""
    for one in deployment.part(RECOVERY).of(TABLE):
        yield Check("bulk work", partial(fetch_work, aws, deployment, one.name, migrations, now))


def fetch_work(
    aws: Aws,
    deployment: Deployment,
    table: str,
    migrations: Sequence[str],
    now: Callable[[], float],
) -> Verdict:
    """Look for runs that have records: one that ends leaves none."""
    sources = [*deployment.settings.sources]
    runs = [
        *(f"{BACKFILL}/{one}" for one in sources),
        *(f"{SWEEP}/{one}" for one in (EVERYTHING, *sources)),
        *(f"{MIGRATE}/{one}" for one in migrations),
    ]

    def read(client: object) -> list[Record]:
        progress = LeaseTable(client, table, aws.backoff)  # type: ignore[arg-type]  # Any's
        deadline = Deadline.after(aws.patience)
        return [record for run in runs for record in progress.records(run, deadline=deadline)]

    found = aws.do("dynamodb", "Query", read)
    return evaluate_work(found, now(), deployment), "none was left unfinished"


def evaluate_work(found: Sequence[Record], now: float, deployment: Deployment) -> Iterator[Fault]:
    """Find the runs that nobody goes on with, and say how to go on."""
    for run in dict.fromkeys(one.segment.run for one in found):
        records = [one for one in found if one.segment.run == run]
        done, of = sum(one.done for one in records), max(one.segment.of for one in records)
        far = f"{run}: {done} of {of} segments are done"
        if any(one.deadline > now for one in records):
            yield Fault(f"{far}, and somebody is at work on it", "", State.WARNING)
        else:
            yield Fault(
                f"{far}, and nobody is at work on it", _command(run, deployment), State.WARNING
            )


def _command(run: str, deployment: Deployment) -> str:
    kind, _, subject = run.partition("/")
    if kind == MIGRATE:
        words = f"{kind} {subject}"
    else:
        words = kind if subject == EVERYTHING else f"{kind} --source {subject}"
    return f"adminview {words} {deployment.options} goes on"
