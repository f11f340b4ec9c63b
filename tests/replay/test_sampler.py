"""Samples: uniform over rows, each with a symmetry; tests/training has what they mean."""

import json

import numpy as np
import pytest

import zerofleet as zf
from zerofleet._core import pack_rows
from zerofleet.config import ReplayConfig
from zerofleet.replay import ReplayBuffer, Sampler


def filled(game, episodes):
    buffer = ReplayBuffer(game, 100_000)
    for episode in episodes:
        buffer.add(pack_rows(game, [episode]))
    return buffer


def same(one, other):
    fields = ("rows_B", "final_observation_BN", "symmetry_B")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in fields)


def test_samples_are_uniform_over_rows(play):
    game, episodes = play("beastybar", 20)
    buffer = filled(game, episodes)
    numbers = np.arange(len(buffer), dtype=np.float32)
    buffer.rows_C["surprise"][: len(buffer)] = numbers  # marks each row
    sampler = Sampler(buffer, game, ReplayConfig(), seed=1)
    drawn = np.concatenate([sampler.sample(1000).rows_B["surprise"] for _ in range(100)])
    counts = np.bincount(drawn.astype(int), minlength=len(buffer))
    expected = len(drawn) / len(buffer)
    chi_square = ((counts - expected) ** 2 / expected).sum()
    degrees = len(buffer) - 1
    assert abs(chi_square - degrees) < 4 * np.sqrt(2 * degrees)


def test_with_a_share_for_surprise_policies_are_drawn_by_it_and_others_as_before(play):
    game, episodes = play("beastybar", 20)
    buffer = filled(game, episodes)
    rows = buffer.rows_C[: len(buffer)]
    with_policy = rows["has_policy"].copy()
    rows["surprise"] = np.where(with_policy, 1 + np.arange(len(buffer)) % 2 * 2, 0)
    sampler = Sampler(buffer, game, ReplayConfig(policy_surprise_weight=0.5), seed=1)
    batches = [sampler.sample(1000) for _ in range(100)]
    surprise = np.concatenate([batch.rows_B["surprise"] for batch in batches])
    has_policy = np.concatenate([batch.rows_B["has_policy"] for batch in batches])
    assert has_policy.mean() == pytest.approx(with_policy.mean(), abs=0.01)
    high = np.count_nonzero(rows["surprise"] == 3) / np.count_nonzero(with_policy)
    share_of_surprise = 3 * high / (3 * high + (1 - high))
    expected = 0.5 * high + 0.5 * share_of_surprise
    assert (surprise[has_policy] == 3).mean() == pytest.approx(expected, abs=0.01)


def test_rows_are_those_of_the_buffer_and_symmetries_are_uniform(play):
    game, episodes = play("gomoku", 20, options=(("size", 5),))
    buffer = filled(game, episodes)
    known = {row.tobytes() for row in buffer.rows_C[: len(buffer)]}
    batch = Sampler(buffer, game, ReplayConfig(), seed=1).sample(4000)
    assert len(batch) == 4000
    assert {row.tobytes() for row in batch.rows_B} <= known
    counts = np.bincount(batch.symmetry_B, minlength=8)
    assert ((counts - 500) ** 2 / 500).sum() < 7 + 4 * np.sqrt(2 * 7)


def test_a_sampler_resumes_from_its_state_through_json(play):
    game, episodes = play("connect4", 40)
    buffer = filled(game, episodes)
    sampler = Sampler(buffer, game, ReplayConfig(), seed=1)
    sampler.sample(100)
    text = json.dumps(sampler.state)
    again = Sampler(buffer, game, ReplayConfig(), seed=2)
    assert not same(again.sample(100), sampler.sample(100))
    for each in (sampler, again):
        each.restore(json.loads(text))
    for _ in range(3):
        assert same(sampler.sample(100), again.sample(100))


def test_an_empty_buffer_and_a_state_of_something_else_are_refused(play):
    game, _ = play("connect4", 40)
    sampler = Sampler(ReplayBuffer(game, 10), game, ReplayConfig(), seed=1)
    with pytest.raises(zf.errors.Inconsistent, match="buffer is empty"):
        sampler.sample(1)
    with pytest.raises(zf.errors.BadText, match="not the state of a sampler"):
        sampler.restore({"bit_generator": "MT19937"})
