"""Unpacked samples: each through its symmetry, with targets in the right view."""

import dataclasses
import math
from collections import defaultdict

import numpy as np
import pytest
import torch
from played_games import played

import zerofleet as zf
from zerofleet._core import pack_rows
from zerofleet.config import ReplayConfig
from zerofleet.replay import ReplayBuffer, Sampler
from zerofleet.training.loss import PackedBatch, TensorBatch, Unpacker

CPU = torch.device("cpu")


def filled(game, episodes):
    buffer = ReplayBuffer(game, 100_000)
    for episode in episodes:
        buffer.add(pack_rows(game, [episode]))
    return buffer


def unpacked(buffer, game, config, batch_size):
    """So many samples of a buffer, as arrays."""
    batch = Sampler(buffer, game, config, seed=1).sample(batch_size)
    tensors = Unpacker(batch.format, CPU)(PackedBatch.of(batch))
    return TensorBatch(*(tensor.numpy() for tensor in tensors.fields()))


def scripted_connect4(columns, num_simulations=8):
    """The episode of a Connect Four game that is played so, by an evaluator that wants it so."""
    game = zf.games.get("connect4")

    def evaluate(observations):
        logits = np.full((len(observations), 7), -30, np.float32)
        for row, observation in enumerate(observations):
            ply = np.count_nonzero(observation[:42])
            if ply < len(columns):
                logits[row, int(columns[ply]) - 1] = 30
        return logits, np.full((len(observations), 3), 1 / 3, np.float32)

    (data,) = zf.selfplay.play(
        game,
        evaluate,
        num_episodes=1,
        num_threads=0,
        num_simulations=num_simulations,
        dirichlet_epsilon=0,
        forced_playouts=0,
        temperature=0,
        prove=False,
    )
    episode = zf.games.Episode.decode(data)
    assert episode.positions(game)[-1].to_text() == columns
    return game, episode


@pytest.mark.parametrize(
    ("columns", "winner"), [("1212121", 0), ("71212121", 1)], ids=["first", "second"]
)
def test_who_won_has_the_target_win_and_the_other_loss_from_both_seats(columns, winner):
    game, episode = scripted_connect4(columns)
    names = [outcome.name for outcome in game.outcomes]
    config = ReplayConfig(value_target_q_ratio=0)
    batch = unpacked(filled(game, [episode]), game, config, 256)
    seen = set()
    for observation, target, final in zip(
        batch.observations_BN, batch.outcome_target_BO, batch.final_observation_BN, strict=True
    ):
        own, other = np.count_nonzero(observation == 1), np.count_nonzero(observation[:42] == 2)
        own -= int(observation[42])  # the last byte says that the observer is to move
        observer = (own + other) % 2
        assert target.tolist() == [
            float(name == ("win" if observer == winner else "loss")) for name in names
        ]
        assert np.count_nonzero(final[:42] == 1) == (len(columns) + 1 - observer) // 2
        seen.add(observer)
    assert seen == {0, 1}


def test_the_search_has_its_share_of_the_value_target_where_there_was_one():
    # Played well, games of tic-tac-toe are drawn.
    game, episodes = played("gomoku", 40, options=(("size", 3), ("line", 3)), num_simulations=64)
    # Where the last cell is all that is left it is taken without a search.
    episode = next(each for each in episodes if len(each.events) == 9)
    rows = episode.rows(game)
    searched = np.arange(9) < 8
    ended = np.eye(3)[rows.outcome]
    found = rows.search_outcomes / 65535
    for share in (0.0, 0.25, 1.0):
        config = ReplayConfig(value_target_q_ratio=share)
        batch = unpacked(filled(game, [episode]), game, config, 512)
        expected = np.where(searched[:, None], (1 - share) * ended + share * found, ended)
        plies = np.count_nonzero(batch.observations_BN[:, :9], axis=1)
        assert batch.outcome_target_BO == pytest.approx(expected[plies], abs=1e-6)
        assert batch.outcome_target_BO.sum(axis=1) == pytest.approx(1, abs=1e-6)


def test_a_search_share_that_is_no_number_does_not_touch_rows_without_a_search():
    game, episodes = played("connect4", 1)
    batch = Sampler(filled(game, episodes), game, ReplayConfig(), seed=1).sample(64)
    batch.rows_B["search_outcomes"] = 0
    row_format = dataclasses.replace(batch.format, q_ratio=math.nan)
    rows = Unpacker(row_format, CPU)(PackedBatch.of(batch))
    assert rows.outcome_target_BO.sum(dim=1).tolist() == [1] * 64


def test_an_exact_value_is_the_whole_value_target_in_solved_endings_of_both_seats():
    game, episodes = played("beastybar", 4, num_simulations=8)
    buffer = ReplayBuffer(game, 100_000)
    solver = zf.solve.BeastyBarSolver()
    exact_by_seat = {0: 0, 1: 0}
    for episode in episodes:
        buffer.add(pack_rows(game, [episode], use_solved_values=True))
        rows = episode.rows(game, use_solved_values=True)
        positions = episode.positions(game)
        for row, (event, observer) in enumerate(zip(rows.event, rows.observer, strict=True)):
            position = positions[event]
            assert rows.is_solved[row] == position.nothing_hidden
            if not rows.is_solved[row]:
                continue
            score = solver.score_to_move(position)
            score = score if position.to_move == observer else -score
            target = [score > 0, score == 0, score < 0]
            assert (rows.search_outcomes[row] / 65535).tolist() == target
            exact_by_seat[int(observer)] += 1
        assert not episode.rows(game).is_solved.any()
    assert min(exact_by_seat.values()) > 0
    config = ReplayConfig(value_target_q_ratio=0.25)
    batch = Sampler(buffer, game, config, seed=1).sample(2048)
    tensors = Unpacker(batch.format, CPU)(PackedBatch.of(batch))
    solved_B = batch.rows_B["is_solved"]
    assert 0 < solved_B.sum() < len(solved_B)
    target_BO = tensors.outcome_target_BO.numpy()
    assert (target_BO[solved_B] == batch.rows_B["search_outcomes"][solved_B] / 65535).all()
    assert target_BO.sum(axis=1) == pytest.approx(1, abs=1e-6)


def relabelled_games(game, episode):
    """What each position of an episode looks like when it is played through each symmetry.

    By observation of the mover: legal actions, policy, reply and how the game ended for the mover.
    """
    looks = defaultdict(list)
    for number, (action_to, _) in enumerate(game.symmetries):
        position = game.new_position()
        steps = []
        for event in episode.events:
            steps.append((position.copy(), event))
            position.play(int(action_to[event.id]))
        for ply, (before, event) in enumerate(steps):
            policy = np.zeros(game.num_actions)
            for action, share in event.policy:
                policy[action_to[action]] = share
            replies = [int(action_to[later.id]) for _, later in steps[ply + 1 : ply + 2]]
            looks[bytes(before.observe(before.to_move))].append(
                (
                    number,
                    before.legal_actions() if event.policy else [],
                    policy,
                    (replies or [-1])[0],
                    bytes(position.observe(before.to_move)),
                )
            )
    return looks


@pytest.mark.parametrize(("name", "size"), [("connect4", None), ("gomoku", 5)])
def test_a_symmetry_of_a_sample_is_the_same_game_transformed(name, size):
    game, episodes = played(name, 20, options=(("size", size),) if size else ())
    episode = episodes[0]
    looks = relabelled_games(game, episode)
    batch = unpacked(filled(game, [episode]), game, ReplayConfig(), 600)
    symmetries_seen = set()
    for row, observation in enumerate(batch.observations_BN):
        matching = [
            number
            for number, legal, policy, reply, final in looks[bytes(observation)]
            if legal == np.flatnonzero(batch.legal_BA[row]).tolist()
            and np.allclose(policy, batch.policy_BA[row], atol=1e-6)
            and reply == batch.reply_B[row]
            and final == bytes(batch.final_observation_BN[row])
        ]
        assert matching
        if len(matching) == 1:
            symmetries_seen.update(matching)
    assert symmetries_seen == set(range(len(game.symmetries)))


def test_moves_without_a_full_search_train_the_value_only():
    game, episodes = played("connect4", 40, full_search_probability=0.5, fast_simulations=2)
    batch = unpacked(filled(game, episodes), game, ReplayConfig(), 2000)
    value_only = batch.has_policy_B == 0
    assert 0.3 < value_only.mean() < 0.8
    assert not batch.policy_BA[value_only].any()
    assert not batch.legal_BA[value_only].any()
    assert batch.policy_BA[~value_only].sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert (batch.legal_BA[~value_only] >= (batch.policy_BA[~value_only] > 0)).all()


def test_a_batch_is_made_of_contiguous_tensors_of_the_stated_types():
    game, episodes = played("connect4", 40)
    batch = unpacked(filled(game, episodes), game, ReplayConfig(), 8)
    expected = {
        "observations_BN": ("uint8", (8, 43)),
        "legal_BA": ("float32", (8, 7)),
        "policy_BA": ("float32", (8, 7)),
        "has_policy_B": ("float32", (8,)),
        "outcome_target_BO": ("float32", (8, 3)),
        "reply_B": ("int64", (8,)),
        "final_observation_BN": ("uint8", (8, 43)),
    }
    got = {name: (str(array.dtype), array.shape) for name, array in vars(batch).items()}
    assert got == expected
    assert all(array.flags.c_contiguous for array in vars(batch).values())
