"""Check for bulk runs that were started and did not complete."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from adminview.aws.deadline import Deadline
from adminview.bulk.lease_table import LeaseTable
from adminview.bulk.runs import BACKFILL, EVERYTHING, MIGRATE, SWEEP
from adminview.bulk.segment import SegmentState
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.stacks import RECOVERY, TABLE
from adminview.cli.doctor.finding import Check, Fault, State, Verdict


def checks(
    deployment: Deployment, migrations: Sequence[str], now: Callable[[], float]
) -> Iterator[Check]:
    for table in deployment.part(RECOVERY).of(TABLE):
        yield Check("bulk work", partial(fetch_work, deployment, table.name, migrations, now))


def fetch_work(
    deployment: Deployment,
    table: str,
    migrations: Sequence[str],
    now: Callable[[], float],
) -> Verdict:
    """Report the runs that have records: a completed run has none."""
    aws, sources = deployment.aws, [*deployment.settings.sources]
    runs = [
        *(f"{BACKFILL}/{source}" for source in sources),
        *(f"{SWEEP}/{subject}" for subject in (EVERYTHING, *sources)),
        *(f"{MIGRATE}/{migration}" for migration in migrations),
    ]

    def read(client: object) -> list[SegmentState]:
        progress = LeaseTable(client, table, aws.backoff)  # type: ignore[arg-type]  # Any's
        deadline = Deadline.after(aws.timeout)
        return [record for run in runs for record in progress.records(run, deadline=deadline)]

    records = aws.run("dynamodb", "Query", read)
    return evaluate_work(records, now(), deployment), "no run is incomplete"


def evaluate_work(
    all_records: Sequence[SegmentState], now: float, deployment: Deployment
) -> Iterator[Fault]:
    """Report the incomplete runs, and how to resume those without a worker."""
    for run in dict.fromkeys(record.segment.run for record in all_records):
        records = [record for record in all_records if record.segment.run == run]
        done = sum(record.done for record in records)
        total = max(record.segment.of for record in records)
        progress = f"{run}: {done} of {total} segments are done"
        if any(record.deadline > now for record in records):
            yield Fault(f"{progress}, and a worker is running", "", State.WARNING)
        else:
            yield Fault(
                f"{progress}, and no worker is running", _command(run, deployment), State.WARNING
            )


def _command(run: str, deployment: Deployment) -> str:
    kind, _, subject = run.partition("/")
    if kind == MIGRATE:
        words = f"{kind} {subject}"
    else:
        words = kind if subject == EVERYTHING else f"{kind} --source {subject}"
    return f"adminview {words} {deployment.options} resumes it"
