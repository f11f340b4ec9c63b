"""The replay as a whole: each episode counts once, and a run resumes where it stopped."""

import json
from contextlib import closing

import pytest
from nim import Nim

import zerofleet as zf
from zerofleet.config import ReplayConfig
from zerofleet.replay import Replay

CONFIG = ReplayConfig(capacity_rows=150, min_rows=20, segment_bytes=2048)


def opened(folder, game, **arguments):
    return closing(Replay(folder, game, CONFIG, seed=1, **arguments))


def batches(replay, count):
    """So many batches of a trainer that reports to the limiter."""
    drawn = []
    for _ in range(count):
        batch = replay.sampler.sample(16)
        replay.limiter.trained(16)
        # `final` is an internal index of the game's end.
        fields = [name for name in batch.rows_B.dtype.names if name != "final"]
        arrays = [batch.rows_B[name] for name in fields]
        arrays += [batch.final_observation_BN, batch.symmetry_B]
        drawn.append([array.tobytes() for array in arrays])
    return drawn


@pytest.fixture
def connect4(play):
    game, episodes = play("connect4", 40)
    return game, [episode.encode() for episode in episodes]


def test_an_episode_that_comes_twice_counts_once_everywhere(tmp_path, connect4):
    game, episodes = connect4
    with opened(tmp_path, game) as replay:
        num_rows = replay.accept(episodes[:5])
        assert num_rows > 20
        assert replay.accept(episodes[3:6]) < num_rows
        total = replay.log.position.num_rows
        assert replay.buffer.num_added == replay.limiter.state.num_rows == total
        assert replay.accept(episodes[:6]) == 0
        assert replay.buffer.num_added == replay.limiter.state.num_rows == total


@pytest.mark.parametrize("num_before", [0, 3, 20])
def test_resumed_exactly_samples_are_those_of_a_run_that_never_stopped(
    tmp_path, connect4, num_before
):
    game, episodes = connect4

    def rest_of_run(replay):
        drawn = []
        for start in range(num_before, 40, 4):
            replay.accept(episodes[start : start + 4])
            drawn += batches(replay, 2)
        return drawn, replay.state

    with opened(tmp_path / "whole", game) as replay:
        if num_before:
            replay.accept(episodes[:num_before])
            batches(replay, 3)
        checkpoint = json.dumps(replay.state) if num_before else "null"
        expected = rest_of_run(replay)
    with opened(tmp_path / "whole", game, state=json.loads(checkpoint), exactly=True) as replay:
        assert rest_of_run(replay) == expected


def test_resumed_otherwise_no_episode_is_lost_or_counted_twice(tmp_path, connect4):
    game, episodes = connect4
    with opened(tmp_path, game) as replay:
        replay.accept(episodes[:10])
        batches(replay, 3)
        checkpoint = replay.state
        replay.accept(episodes[10:20])
        batches(replay, 5)
        num_rows = replay.log.position.num_rows
    with opened(tmp_path, game, state=checkpoint) as replay:
        assert replay.buffer.num_added == replay.limiter.state.num_rows == num_rows
        assert replay.limiter.state.num_samples == 3 * 16
        assert replay.accept(episodes[:20]) == 0


def test_an_episode_that_cannot_have_been_played_is_refused_and_with_it_its_batch(
    tmp_path, play, connect4
):
    game, episodes = connect4
    _, (other,) = play("beastybar", 1)
    with opened(tmp_path, game) as replay:
        with pytest.raises(zf.errors.Inconsistent, match="of beastybar, not of connect4"):
            replay.accept([episodes[0], other.encode()])
        with pytest.raises(zf.errors.BadBytes, match="damaged"):
            replay.accept([episodes[0], episodes[1][:-1]])
        assert replay.log.position.num_episodes == len(replay.buffer) == 0


def test_a_state_that_does_not_fit_is_refused_and_the_log_is_free_again(tmp_path, connect4):
    game, episodes = connect4
    with opened(tmp_path, game) as replay:
        replay.accept(episodes)
        state = replay.state
    with pytest.raises(zf.errors.BadText, match="not the state of a sampler"):
        Replay(tmp_path, game, CONFIG, seed=1, state=state | {"sampler": {}})
    with opened(tmp_path, game, state=state) as replay:
        assert replay.log.position.num_episodes == 40


def test_games_that_arrive_together_are_no_reason_to_run_far_ahead(tmp_path, connect4):
    game, episodes = connect4
    with opened(tmp_path, game) as replay:
        replay.limiter.wait_to_train(16, timeout_s=0)
        replay.accept(episodes)  # as after an absence of the trainer
        assert replay.limiter.waiting == "self-play"
        while replay.limiter.may_train(16):
            replay.limiter.trained(16)
        assert replay.limiter.waiting == "trainer"


def test_solved_values_of_a_game_without_a_solver_are_refused(tmp_path):
    game = zf.games.from_class(Nim)
    config = ReplayConfig(use_solved_values=True)
    with pytest.raises(zf.errors.Unsupported, match=r"replay\.use_solved_values: nim has no"):
        Replay(tmp_path, game, config, seed=1)


def test_solved_values_are_in_the_rows_only_by_setting_and_after_a_restart_too(tmp_path, play):
    game, episodes = play("beastybar", 4)
    data = [episode.encode() for episode in episodes]
    num_solved = sum(
        2 * position.nothing_hidden
        for episode in episodes
        for position in episode.positions(game)[:-1]
    )
    for use in (False, True):
        config = CONFIG.model_copy(update={"capacity_rows": 1000, "use_solved_values": use})
        for arriving in (data, []):
            with closing(Replay(tmp_path / str(use), game, config, seed=1)) as replay:
                replay.accept(arriving)
                assert replay.buffer.rows_C["is_solved"].sum() == (num_solved if use else 0)
