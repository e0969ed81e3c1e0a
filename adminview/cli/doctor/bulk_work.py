"""Check for bulk runs that did not complete, and for rows that were not built."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from adminview.aws.deadline import Deadline
from adminview.bulk.builds import missing_rows
from adminview.bulk.completions import Completions
from adminview.bulk.lease_table import LeaseTable
from adminview.bulk.runs import BACKFILL, EVERYTHING, MIGRATE, SWEEP
from adminview.bulk.segment import SegmentState
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.stacks import RECOVERY, SYNC, TABLE
from adminview.cli.doctor.finding import Check, Fault, State, Verdict
from adminview.cli.doctor.stacks import how_to_build


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
    """Report the runs that have records, which a completed run has not, and what is not built."""
    aws, sources = deployment.aws, [*deployment.settings.sources]
    model = deployment.part(SYNC).description()
    runs = [
        *(f"{BACKFILL}/{source}" for source in sources),
        *(f"{SWEEP}/{subject}" for subject in (EVERYTHING, *sources)),
        *(f"{MIGRATE}/{migration}" for migration in migrations),
    ]

    def read(client: object) -> tuple[list[SegmentState], Completions]:
        progress = LeaseTable(client, table, aws.backoff)  # type: ignore[arg-type]  # Any's
        deadline = Deadline.after(aws.timeout)
        records = [record for run in runs for record in progress.records(run, deadline=deadline)]
        return records, progress.completions(deadline=deadline)

    records, completions = aws.run("dynamodb", "Query", read)
    faults = [*evaluate_work(records, now(), deployment)]
    if model:
        faults += evaluate_missing(*missing_rows(model, completions), deployment)
    return faults, "no run is incomplete"


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


def evaluate_missing(
    unbuilt: Sequence[str], stale: Sequence[str], deployment: Deployment
) -> Iterator[Fault]:
    """Report sources whose rows are not those of the deployed model."""
    for sources, problem in (
        (unbuilt, "rows of the deployed model are not built"),
        (stale, "rows that their item no longer derives may be left"),
    ):
        if sources:
            text = f"{problem}: {', '.join(sources)}"
            yield Fault(text, how_to_build(deployment), State.WARNING)


def _command(run: str, deployment: Deployment) -> str:
    kind, _, subject = run.partition("/")
    if kind == MIGRATE:
        words = f"{kind} {subject}"
    else:
        words = kind if subject == EVERYTHING else f"{kind} --source {subject}"
    return f"adminview {words} {deployment.options} resumes it"
