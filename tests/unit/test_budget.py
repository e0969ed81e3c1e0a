"""The budget of capacity units."""

from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import pytest

from adminview.aws.rate_limit import RateLimiter


class Time:
    """A clock that moves only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.lock = Lock()

    def sleep(self, seconds: float) -> None:
        with self.lock:
            self.now += seconds


def test_no_more_is_spent_than_the_rate_allows() -> None:
    time = Time()
    budget = RateLimiter(10, lambda: time.now, time.sleep)
    spent = 0.0
    for _ in range(100):
        budget.wait()
        budget.spend(4)
        spent += 4
        assert spent <= 10 * time.now + 4
    assert time.now == pytest.approx(39.6)


def test_a_call_that_exceeds_a_second_of_the_rate_delays_the_next_one() -> None:
    time = Time()
    budget = RateLimiter(5, lambda: time.now, time.sleep)
    budget.wait()
    budget.spend(100)
    assert time.now == 0
    budget.wait()
    assert time.now == 20


def test_what_is_not_spent_is_not_saved_up_beyond_a_second() -> None:
    time = Time()
    budget = RateLimiter(10, lambda: time.now, time.sleep)
    time.now = 1000
    budget.wait()
    budget.spend(30)
    budget.wait()
    assert time.now == 1002


def test_without_a_rate_nobody_waits() -> None:
    def never(_: float) -> None:
        raise AssertionError

    budget = RateLimiter(None, lambda: 0.0, never)
    budget.spend(1e9)
    budget.wait()


def test_a_table_that_throttles_closes_the_budget_for_all_threads() -> None:
    time = Time()
    budget = RateLimiter(None, lambda: time.now, time.sleep)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: budget.throttled(), range(100)))
        assert set(pool.map(lambda _: budget.wait_seconds, range(100))) == {1.0}
    budget.wait()
    assert (time.now, budget.wait_seconds) == (1.0, 0.0)
    budget.throttled()
    assert budget.wait_seconds == 2.0


def test_a_pause_and_a_debt_pass_side_by_side() -> None:
    time = Time()
    budget = RateLimiter(10, lambda: time.now, time.sleep)
    budget.spend(30)
    budget.throttled()
    assert budget.wait_seconds == 3.0
    budget.spend(-30)
    assert budget.wait_seconds == 1.0


def test_a_debt_that_another_bucket_left_is_paid_first_and_counts_once() -> None:
    time = Time()
    budget = RateLimiter(10, lambda: time.now, time.sleep)
    budget.add_debt(4)
    budget.add_debt(3)
    assert budget.wait_seconds == 4
    budget.wait()
    budget.spend(10)
    assert budget.wait_seconds == 1
    unlimited = RateLimiter(None, lambda: time.now, time.sleep)
    unlimited.add_debt(4)
    assert unlimited.wait_seconds == 0


def test_threads_share_one_budget() -> None:
    time = Time()
    budget = RateLimiter(10, lambda: time.now, time.sleep)

    def work(_: int) -> None:
        budget.wait()
        budget.spend(2)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(200)))
    budget.wait()
    assert time.now >= (400 - 10) / 10 - 1e-6
