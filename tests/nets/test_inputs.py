"""Observation bytes become the features that are expected by hand."""

import numpy as np
import pytest
import torch

import zerofleet as zf
from zerofleet import nets
from zerofleet.nets.mlp import NUM_SLOTS, PointsInputs


def observation_of(position, player):
    return torch.from_numpy(position.observe(player))[None]


def test_a_board_becomes_own_stones_others_stones_the_turn_and_ones():
    position = zf.games.get("connect4").from_text("445")
    own_RC, others_RC, to_move_RC, ones_RC = nets.build(position.game, "tiny").planes(
        observation_of(position, player=0)
    )[0]
    assert own_RC.nonzero().tolist() == [[5, 3], [5, 4]]  # the bottom row is the last
    assert others_RC.nonzero().tolist() == [[4, 3]]
    assert to_move_RC.sum() == 0  # player 1 is to move
    assert ones_RC.shape == (6, 7)
    assert ones_RC.min() == 1


def test_lines_that_one_side_can_complete_are_counted_in_each_of_their_cells():
    position = zf.games.get("gomoku", size=3, line=3).from_text("a3 b2 b3")
    network = nets.build(position.game, "tiny", line_planes=True)
    own_1_RC, own_2_RC, others_1_RC, others_2_RC = network.planes(
        observation_of(position, player=0)
    )[0, 4:]
    assert own_1_RC.tolist() == [[1, 0, 0], [1, 0, 0], [1, 0, 0]]  # the left column
    assert own_2_RC.tolist() == [[1, 1, 1], [0, 0, 0], [0, 0, 0]]  # the top row
    assert others_1_RC.tolist() == [[0, 0, 1], [1, 2, 1], [1, 0, 0]]  # a row and a diagonal
    assert others_2_RC.sum() == 0


@pytest.mark.parametrize(
    ("name", "options"), [("connect4", {}), ("gomoku", {"size": 7, "line": 5})]
)
def test_the_planes_of_a_turned_board_are_the_turned_planes(get_game, observe, name, options):
    game = get_game(name, **options)
    network = nets.build(game, "tiny", line_planes=True)
    observations_BN = torch.from_numpy(observe(game, 60))
    planes_BFP = network.planes(observations_BN).flatten(2)
    assert planes_BFP[:, 4:].sum(dim=(0, 2)).min() > 0  # or every plane would be alike
    for _, byte_to_N in game.symmetries:
        from_N = torch.from_numpy(np.argsort(byte_to_N))
        turned_BFP = network.planes(observations_BN[:, from_N]).flatten(2)
        assert torch.equal(turned_BFP, planes_BFP[:, :, from_N[:-1]])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_counts_of_lines_are_exact_in_half_precision(get_game, observe, dtype):
    game = get_game("gomoku", size=15)
    network = nets.build(game, "tiny", line_planes=True)
    observations_BN = torch.from_numpy(observe(game, 300))
    planes_BFRC = network.planes(observations_BN)
    assert planes_BFRC[:, 4:].max() > 8
    assert torch.equal(network.to(dtype).planes(observations_BN).float(), planes_BFRC)


def test_backgammon_points_become_thresholds_from_both_sides():
    position = zf.games.get("backgammon").new_position()
    inputs_I = PointsInputs()(observation_of(position, player=0))[0]
    at_least_SC = inputs_I[: 2 * NUM_SLOTS * 3].reshape(2 * NUM_SLOTS, 3)
    beyond_S = inputs_I[2 * NUM_SLOTS * 3 : 2 * NUM_SLOTS * 4]
    point = {number: number - 1 for number in range(1, 25)}
    assert at_least_SC[point[24]].tolist() == [1, 1, 0]  # two checkers
    assert at_least_SC[point[6]].tolist() == [1, 1, 1]  # five
    assert beyond_S[point[6]] == pytest.approx(2 / 12)
    assert at_least_SC[point[5]].tolist() == [0, 0, 0]
    assert at_least_SC[NUM_SLOTS + point[1]].tolist() == [
        1,
        1,
        0,
    ]  # the opponent's two, in this numbering
    assert len(inputs_I) == PointsInputs.num_inputs


def test_backgammon_dice_become_how_many_are_left():
    position = zf.games.get("backgammon").from_text("4HPwATDgc/ABMA 33")
    inputs_I = PointsInputs()(observation_of(position, player=0))[0]
    dice_64 = inputs_I[2 * NUM_SLOTS * 4 :][: 6 * 4].reshape(6, 4)
    assert dice_64[2].tolist() == [1, 1, 1, 1]  # four threes
    assert dice_64.sum() == 4
