"""The limiter: the ratio holds whichever side is faster, and it reports which side waits."""

import json
import random
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import asdict

import pytest

from zerofleet.config import ReplayConfig
from zerofleet.replay import LimiterState, RateLimiter

MIN_ROWS = 1000


def limiter_of(samples_per_row=8.0, state=None):
    config = ReplayConfig(min_rows=MIN_ROWS, samples_per_row=samples_per_row)
    return RateLimiter(config, state)


def may_play(limiter):
    return limiter.state.num_rows <= limiter.rows_allowed


def held(limiter, samples_per_row):
    """Whether the ratio is within 5 % or two of the largest quanta."""
    state = limiter.state
    due = max(0, state.num_rows - MIN_ROWS) * samples_per_row
    return abs(state.num_samples - due) <= max(0.05 * due, 2 * state.largest_quantum)


@pytest.mark.parametrize("self_play_share", [0.02, 0.5, 0.98])
@pytest.mark.parametrize("samples_per_row", [0.3, 8.0])
def test_the_ratio_holds_under_any_schedule_and_never_do_both_wait(
    self_play_share, samples_per_row
):
    rng = random.Random(1)
    limiter = limiter_of(samples_per_row)
    for _ in range(20_000):
        batch_size = rng.choice([16, 64, 1024])
        trainer_may, self_play_may = limiter.may_train(batch_size), may_play(limiter)
        assert trainer_may or self_play_may
        if rng.random() < self_play_share:
            if self_play_may:
                limiter.inserted(rng.randrange(300))
        elif trainer_may:
            limiter.trained(batch_size)
        assert held(limiter, samples_per_row)
    assert limiter.state.num_samples > 10_000


def test_nothing_is_trained_before_min_rows_and_those_rows_make_nothing_due():
    limiter = limiter_of()
    limiter.inserted(MIN_ROWS - 1)
    assert not limiter.may_train(1)
    assert may_play(limiter)
    assert limiter.waiting == "trainer"
    limiter.inserted(2)
    assert limiter.may_train(8)
    assert not limiter.may_train(9)


def test_it_says_who_waits():
    limiter = limiter_of()
    assert not limiter.may_train(64)
    limiter.inserted(MIN_ROWS + 10)
    limiter.trained(64)
    assert limiter.waiting == "trainer"
    while may_play(limiter):
        limiter.inserted(500)
    assert limiter.waiting == "self-play"
    while not may_play(limiter):
        assert limiter.may_train(64)
        limiter.trained(64)
    assert limiter.waiting == "nobody"


def test_finished_episodes_count_although_self_play_has_to_wait():
    limiter = limiter_of()
    while may_play(limiter):
        limiter.inserted(500)
    before = limiter.state.num_rows
    limiter.inserted(500)
    assert limiter.state.num_rows == before + 500


def test_a_batch_larger_than_what_is_left_lets_self_play_continue():
    limiter = limiter_of()
    for _ in range(200):
        limiter.inserted(10)
    assert not may_play(limiter)
    assert not limiter.may_train(9000)
    assert may_play(limiter)


def test_rows_wake_a_waiting_trainer():
    limiter = limiter_of()
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(limiter.wait_to_train, 80, timeout_s=10)
        assert not wait([waiting], timeout=0.05).done
        limiter.inserted(MIN_ROWS + 10)
        assert waiting.result(timeout=5)


def test_training_allows_more_rows():
    limiter = limiter_of()
    assert not limiter.may_train(80)
    while may_play(limiter):
        limiter.inserted(100)
    allowed = limiter.rows_allowed
    limiter.trained(80)
    assert limiter.rows_allowed > allowed


def test_it_resumes_from_its_state_through_json():
    limiter = limiter_of()
    limiter.inserted(MIN_ROWS + 100)
    assert limiter.may_train(500)
    limiter.trained(500)
    text = json.dumps(asdict(limiter.state))
    again = limiter_of(state=LimiterState(**json.loads(text)))
    assert again.state == limiter.state
    assert again.may_train(300)
    assert not again.may_train(301)


def test_after_an_absence_no_more_is_due_than_one_buffer_gives():
    """Rows 500 of which 400 count, four samples each: 1,600 are due and trained. Then 5,000 rows
    wait, of which 1,000 fit into the buffer: 4,000 samples are due, 16,000 are waived."""
    config = ReplayConfig(min_rows=100, capacity_rows=1000, samples_per_row=4)
    limiter = RateLimiter(config)
    limiter.inserted(*[50] * 10)
    while limiter.may_train(50):
        limiter.trained(50)
    assert limiter.state.num_samples == 1600
    for _ in range(100):
        limiter.inserted(50)
    assert limiter.state.num_rows == 5500
    assert limiter.state.num_waived == 16_000
    assert limiter.waiting == "self-play"
    num_batches = 0
    while limiter.may_train(50):
        limiter.trained(50)
        num_batches += 1
    assert num_batches == 80
    assert may_play(limiter)
    limiter.inserted(50)  # back at its ratio: a game of 50 rows is worth 200 samples
    for _ in range(4):
        assert limiter.may_train(50)
        limiter.trained(50)
    assert not limiter.may_train(50)
    assert limiter.state.num_waived == 16_000


def test_what_comes_together_is_waived_as_what_comes_one_by_one():
    config = ReplayConfig(min_rows=100, capacity_rows=1000, samples_per_row=4)
    together, singly = RateLimiter(config), RateLimiter(config)
    together.inserted(*[50] * 100)
    for _ in range(100):
        singly.inserted(50)
    assert together.state == singly.state


def test_self_play_never_runs_ahead_by_more_than_half_a_buffer():
    """After 100,000 samples, 5 % ahead would be 1,315 rows; half a buffer is 500."""
    config = ReplayConfig(min_rows=100, capacity_rows=1000, samples_per_row=4)
    state = LimiterState(num_rows=25_100, num_samples=100_000, largest_quantum=50)
    limiter = RateLimiter(config, state)
    assert limiter.rows_allowed == 25_100 + 500
    limiter.inserted(*[10] * 51)
    assert limiter.waiting == "self-play"
    assert limiter.state.num_waived == 0


@pytest.mark.parametrize("samples_per_row", [0.01, 8.0])
def test_a_buffer_smaller_than_a_batch_still_trains(samples_per_row):
    config = ReplayConfig(min_rows=10, capacity_rows=20, samples_per_row=samples_per_row)
    limiter = RateLimiter(config)
    num_trained = 0
    for _ in range(50_000):
        if limiter.may_train(200):
            limiter.trained(200)
            num_trained += 1
        else:
            assert may_play(limiter)
            limiter.inserted(5)
    assert num_trained > 2
    assert limiter.state.num_waived == 0


def test_samples_that_were_waived_are_waived_after_a_restart_too():
    config = ReplayConfig(min_rows=100, capacity_rows=1000, samples_per_row=4)
    limiter = RateLimiter(config)
    limiter.inserted(*[50] * 100)
    again = RateLimiter(config, LimiterState(**json.loads(json.dumps(asdict(limiter.state)))))
    assert again.may_train(4000)
    assert not again.may_train(4001)
