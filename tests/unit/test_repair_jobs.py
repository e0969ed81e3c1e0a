"""Jobs of repairs end with the console, between two dead letters."""

from threading import Event

from adminview.http_api.operations.jobs import DONE, STOPPED, STOPPING, Jobs, RepairJob


def job() -> RepairJob:
    return RepairJob(action="replay", reason="a test repairs this", select={}, per_second=10)


def test_the_active_job_is_stopped_and_waited_for_and_a_complete_one_stays_as_it_was() -> None:
    jobs = Jobs()
    complete = jobs.start(job(), lambda _: None)
    jobs.end(10)
    assert complete.state == DONE
    handled = Event()

    def work(active: RepairJob) -> None:
        active.stop.wait(10)
        handled.set()  # the dead letter that it was handling

    active = jobs.start(job(), work)
    jobs.end(10)
    assert handled.is_set()
    assert (complete.state, active.state) == (DONE, STOPPED)


def test_the_end_of_jobs_needs_no_job_and_does_not_wait_for_ever() -> None:
    jobs = Jobs()
    jobs.end(10)
    released = Event()

    def work(_: RepairJob) -> None:
        released.wait(10)

    active = jobs.start(job(), work)
    jobs.end(0.01)
    assert active.state == STOPPING
    released.set()
