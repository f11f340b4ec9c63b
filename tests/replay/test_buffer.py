"""The buffer: the newest rows as the core derives them, in any slot."""

from contextlib import closing

import numpy as np
import pytest
from played_games import entries

from zerofleet._core import pack_rows
from zerofleet.config import ReplayConfig
from zerofleet.replay import EpisodeLog, Replay, ReplayBuffer


def newest(buffer):
    """The rows of a buffer from the oldest to the newest, and how their games ended."""
    return buffer.take(buffer.slots(np.arange(len(buffer))[::-1]))


def joined(rows, name):
    return np.concatenate([getattr(each, name) for each in rows])


def assert_holds_newest(buffer, rows):
    """Whether the buffer has what the core derived, newest rows only."""
    kept, finals = newest(buffer)
    num_kept = len(kept)
    assert num_kept == min(buffer.capacity, len(joined(rows, "observer")))
    for field, name in [
        ("observation", "observations"),
        ("policy", "policy"),
        ("outcome", "outcome"),
        ("search_outcomes", "search_outcomes"),
        ("surprise", "surprise"),
        ("reply", "reply"),
    ]:
        assert (kept[field] == joined(rows, name)[-num_kept:]).all()
    legal = joined(rows, "legal")[-num_kept:]
    assert (np.unpackbits(kept["legal_bits"], axis=1, count=legal.shape[1]) == legal).all()
    assert (kept["has_policy"] == joined(rows, "policy")[-num_kept:].any(axis=1)).all()
    expected = np.concatenate([each.final_observations[each.observer] for each in rows])
    assert (finals == expected[-num_kept:]).all()


@pytest.mark.parametrize("name", ["connect4", "beastybar", "backgammon"])
@pytest.mark.parametrize("capacity", [1, 30, 101, 100_000])
def test_it_holds_the_newest_rows_as_the_core_derives_them(play, name, capacity):
    game, episodes = play(name, 40, full_search_probability=0.5, fast_simulations=2)
    rows = [episode.rows(game) for episode in episodes]
    buffer = ReplayBuffer(game, capacity)
    for count, episode in enumerate(episodes, start=1):
        buffer.add(pack_rows(game, [episode]))
        if count in (1, 2, 7, 40):
            assert_holds_newest(buffer, rows[:count])
    assert buffer.num_added == len(joined(rows, "observer"))


def test_no_rows_leave_it_as_it_was(play):
    game, (episode,) = play("connect4", 1)
    buffer = ReplayBuffer(game, 50)
    buffer.add(pack_rows(game, [episode]))
    buffer.add(pack_rows(game, []))
    assert_holds_newest(buffer, [episode.rows(game)])


@pytest.mark.parametrize("capacity", [10, 137, 10_000])
def test_a_buffer_filled_from_the_log_has_every_row_in_the_same_place(tmp_path, play, capacity):
    game, episodes = play("connect4", 40)
    config = ReplayConfig(capacity_rows=capacity, min_rows=1, segment_bytes=4096)
    buffer = ReplayBuffer(game, capacity)
    with closing(EpisodeLog(tmp_path, game, config)) as log:
        for episode in episodes:
            packed = pack_rows(game, [episode])
            log.append(entries([episode], packed.num_rows.tolist()))
            buffer.add(packed)
    with closing(Replay(tmp_path, game, config, seed=1)) as replay:
        again = replay.buffer
    assert (len(again), again.num_added) == (len(buffer), buffer.num_added)
    fields = [name for name in buffer.rows_C.dtype.names if name != "final"]
    assert (again.rows_C[fields] == buffer.rows_C[fields]).all()
    assert (newest(again)[1] == newest(buffer)[1]).all()


def test_its_memory_is_known_and_near_what_the_rows_need(play):
    game, episodes = play("connect4", 40)
    buffer = ReplayBuffer(game, 1000)
    for episode in episodes:
        buffer.add(pack_rows(game, [episode]))
    bytes_per_row = 43 + 1 + 7 * 2 + 1 + 1 + 3 * 2 + 1 + 1 + 4 + 4 + 8
    bytes_per_row += 1 + 4  # whether it is excluded, and how often it was drawn
    bytes_of_episodes = 2 * 43 * 64
    assert buffer.num_bytes <= 1000 * bytes_per_row + bytes_of_episodes


def test_many_episodes_at_once_are_as_one_after_another(play):
    game, episodes = play("beastybar", 40)
    rows = [episode.rows(game) for episode in episodes]
    for capacity in (30, 500, 100_000):
        buffer = ReplayBuffer(game, capacity)
        buffer.add(pack_rows(game, episodes[:3]))
        buffer.add(pack_rows(game, episodes[3:]))
        assert_holds_newest(buffer, rows)
