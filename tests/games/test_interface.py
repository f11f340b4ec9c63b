"""The Python interface of games, the same for each of them."""

import random

import numpy as np
import pytest

import zerofleet as zf
from zerofleet.errors import BadText, IllegalAction, Unsupported, ZerofleetError

GAMES = [
    ("backgammon", {}),
    ("backgammon", {"checkers": 1}),
    ("beastybar", {}),
    ("beastybar", {"scoring": "animals"}),
    ("connect4", {}),
    ("gomoku", {}),
    ("gomoku", {"size": 3, "line": 3}),
    ("gomoku", {"size": 9, "rule": "exact"}),
]


@pytest.fixture(params=GAMES, ids=lambda entry: " ".join([entry[0], *map(str, entry[1].values())]))
def game(request: pytest.FixtureRequest) -> zf.games.Game:
    name, options = request.param
    return zf.games.get(name, **options)


def ids(position: zf.games.Position) -> list[int]:
    return position.legal_actions() + [outcome for outcome, _ in position.chance_outcomes()]


def random_positions(game: zf.games.Game, seed: int, num_games: int = 3):
    """All positions of some random games, the last ones over."""
    rng = random.Random(seed)
    for number in range(num_games):
        position = game.new_position(seed=number)
        yield position.copy()
        while position.to_move != zf.OVER:
            position.play(rng.choice(ids(position)))
            yield position.copy()


def test_the_games_are_known_by_name() -> None:
    ours = ["backgammon", "beastybar", "connect4", "gomoku"]
    assert zf.games.names() == [*ours, "tictactoe"]
    assert [zf.games.get(name).name for name in ours] == ours


def test_tictactoe_is_gomoku_with_fixed_options() -> None:
    assert zf.games.get("tictactoe") == zf.games.get("gomoku", size=3, line=3)
    assert [spec.allowed for spec in zf.games.option_specs("tictactoe")] == [
        ["3"],
        ["3"],
        ["freestyle"],
    ]


def test_options_have_defaults_and_can_be_given_as_numbers_or_text() -> None:
    assert zf.games.get("gomoku").options == {"size": "15", "line": "5", "rule": "freestyle"}
    assert zf.games.get("gomoku", size=9) == zf.games.get("gomoku", size="9")
    assert zf.games.get("gomoku", size=9) != zf.games.get("gomoku")
    assert zf.games.get("gomoku", size=9).num_actions == 81


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("gomku", {}, "unknown game gomku; did you mean gomoku? known: gomoku, connect4, "),
        ("chess", {}, "unknown game chess; known: "),
        ("gomoku", {"siz": 9}, "gomoku: unknown option siz; did you mean size? known: size, "),
        ("gomoku", {"size": 2}, "gomoku: size must be 3…19, got 2"),
        ("gomoku", {"rule": "free"}, "gomoku: rule must be freestyle or exact, got free"),
        ("backgammon", {"checkers": 5}, "backgammon: checkers must be 1, 2, 3 or 15, got 5"),
        ("tictactoe", {"size": 4}, "tictactoe: size must be 3, got 4"),
        ("connect4", {"size": 9}, "connect4: unknown option size; there are none"),
    ],
)
def test_an_unknown_name_or_option_is_an_error_with_the_known_ones_nearest_first(
    name: str, options: dict[str, int | str], message: str
) -> None:
    with pytest.raises(Unsupported) as caught:
        zf.games.get(name, **options)
    assert str(caught.value).startswith(message)


def test_options_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(BadText, match="a line of 5 does not fit a board of size 3"):
        zf.games.get("gomoku", size=3)


def test_facts_of_connect_four() -> None:
    game = zf.games.get("connect4")
    assert (game.num_actions, game.observation_bytes, game.max_plies) == (7, 43, 42)
    assert [(outcome.name, outcome.reward) for outcome in game.outcomes] == [
        ("win", 1),
        ("draw", 0),
        ("loss", -1),
    ]
    assert [outcome.opposite for outcome in game.outcomes] == [2, 1, 0]
    (identity, _), (mirror, _) = game.symmetries
    assert identity.tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert mirror.tolist() == [6, 5, 4, 3, 2, 1, 0]


def test_the_numbers_of_symmetries_are_those_of_the_boards() -> None:
    assert len(zf.games.get("gomoku").symmetries) == 8
    assert len(zf.games.get("connect4").symmetries) == 2


def test_to_move_is_a_player_chance_or_over() -> None:
    assert zf.games.get("backgammon").new_position().to_move == zf.CHANCE
    game = zf.games.get("connect4")
    assert game.from_text("").to_move == 0
    assert game.from_text("4").to_move == 1
    assert game.from_text("4141414").to_move == zf.OVER
    assert len({0, 1, zf.CHANCE, zf.OVER}) == 4


def test_texts_and_descriptions_give_the_position_back(game: zf.games.Game) -> None:
    for position in random_positions(game, seed=1):
        assert game.from_text(position.to_text()) == position
        again = game.from_describe(position.describe())
        assert (again.to_move, ids(again)) == (position.to_move, ids(position))
        for player in (0, 1):
            assert np.array_equal(again.observe(player), position.observe(player))


def test_legal_actions_are_read_back_from_their_text(game: zf.games.Game) -> None:
    for position in random_positions(game, seed=2):
        for each in ids(position):
            assert position.action_from_text(position.action_text(each)) == each


def test_an_observation_is_a_row_of_bytes_and_the_callers_own(game: zf.games.Game) -> None:
    position = game.new_position(seed=1)
    observation = position.observe(0)
    assert (observation.dtype, observation.shape) == (np.uint8, (game.observation_bytes,))
    observation[:] = 255
    assert not np.array_equal(position.observe(0), observation)


def test_a_copy_is_independent(game: zf.games.Game) -> None:
    position = game.new_position(seed=1)
    before, copy = position.to_text(), position.copy()
    assert copy == position
    copy.play(ids(copy)[0])
    assert position.to_text() == before
    assert copy != position


def test_rewards_are_opposite_and_come_when_the_game_is_over(game: zf.games.Game) -> None:
    rewards = {outcome.reward for outcome in game.outcomes}
    for position in random_positions(game, seed=3):
        if position.to_move == zf.OVER:
            first, second = position.rewards()
            assert first == -second
            assert first in rewards
            assert ids(position) == []
        else:
            with pytest.raises(IllegalAction, match="no result before the game is over"):
                position.rewards()


def test_probabilities_of_chance_add_up_to_one() -> None:
    game = zf.games.get("backgammon")
    for position in random_positions(game, seed=4, num_games=1):
        if position.to_move == zf.CHANCE:
            assert sum(p for _, p in position.chance_outcomes()) == pytest.approx(1, abs=1e-12)
            assert position.legal_actions() == []


def test_the_same_seed_deals_the_same_and_another_one_differs() -> None:
    game = zf.games.get("beastybar")
    assert game.new_position(seed=7) == game.new_position(seed=7)
    assert game.new_position(seed=7) != game.new_position(seed=8)


def test_resampling_leaves_what_a_player_sees() -> None:
    position = zf.games.get("beastybar").new_position(seed=7)
    drawn = position.copy()
    drawn.resample_hidden(0, seed=1)
    assert np.array_equal(drawn.observe(0), position.observe(0))
    assert drawn.describe(0) == position.describe(0)
    assert drawn.describe() != position.describe()


@pytest.mark.parametrize("wrong", [-1, 7, 65536 + 3, 2**40])
def test_an_illegal_action_is_refused_by_name_and_changes_nothing(wrong: int) -> None:
    position = zf.games.get("connect4").from_text("444444")
    with pytest.raises(IllegalAction) as caught:
        position.play(wrong)
    assert str(caught.value) == (
        f"action {wrong} is not legal here; legal: 0, 1, 2, 4, 5, 6 (connect4, player 0 to move)"
    )
    assert position.to_text() == "444444"


def test_nothing_can_be_played_when_the_game_is_over() -> None:
    with pytest.raises(IllegalAction, match="the game is over"):
        zf.games.get("connect4").from_text("4141414").play(0)


def test_numpy_numbers_are_ids_too() -> None:
    position = zf.games.get("connect4").new_position()
    position.play(np.int64(3))
    assert position.to_text() == "4"


@pytest.mark.parametrize("player", [-1, 2])
def test_only_players_0_and_1_are_known(player: int) -> None:
    position = zf.games.get("connect4").new_position()
    for call in (
        lambda: position.observe(player),
        lambda: position.describe(player),
        lambda: position.resample_hidden(player, seed=1),
    ):
        with pytest.raises(IllegalAction, match=f"player must be 0.* got {player}"):
            call()


def test_an_id_without_meaning_has_no_text() -> None:
    with pytest.raises(IllegalAction, match="action 7 is not an id of connect4; ids are 0…6"):
        zf.games.get("connect4").new_position().action_text(7)


def test_a_turn_that_is_refused_leaves_the_position() -> None:
    game = zf.games.get("connect4")
    position = game.from_text("444444")
    with pytest.raises(IllegalAction, match="column 4 is full"):
        game.play_from_text(position, "4")
    game.play_from_text(position, "5")
    assert position.to_text() == "4444445"


def test_a_position_is_played_by_its_own_game_only() -> None:
    position = zf.games.get("gomoku", size=9).new_position()
    with pytest.raises(
        IllegalAction, match=r"the position is of gomoku size=9 .*, not of connect4"
    ):
        zf.games.get("connect4").play_from_text(position, "4")


def test_bad_texts_and_descriptions_are_refused_with_what_would_be_right() -> None:
    game = zf.games.get("connect4")
    with pytest.raises(BadText, match="'x' is no move; a move is a column 1-7"):
        game.from_text("44x")
    with pytest.raises(BadText, match="description lacks 'board'"):
        game.from_describe({})
    with pytest.raises(BadText, match=r"description\.board\[0\] must be .* got 1\.5"):
        game.from_describe({"board": [1.5], "player": 0})


def test_a_game_whose_moves_are_known_is_pictured() -> None:
    position = zf.games.get("connect4").from_text("445")
    assert str(position) == (
        " 6 . . . . . . .\n"
        " 5 . . . . . . .\n"
        " 4 . . . . . . .\n"
        " 3 . . . . . . .\n"
        " 2 . . . O . . .\n"
        " 1 . . . X X . .\n"
        "   1 2 3 4 5 6 7\n"
        "O to move\n"
    )
    assert repr(position) == "<Position connect4 '445', player 1 to move>"
    assert repr(position.game) == "<Game connect4>"


def test_a_position_can_change_so_it_has_no_hash() -> None:
    with pytest.raises(TypeError, match="no hash"):
        hash(zf.games.get("connect4").new_position())


def test_random_games_end_as_many_ways_as_there_are_games(game: zf.games.Game) -> None:
    games = game.random_games(200, seed=1)
    assert sum(games.num_outcomes_first_player) + games.num_truncated == games.num_games == 200
    assert 0 < games.num_plies <= 200 * game.max_plies


def test_all_errors_have_one_base_and_are_value_errors() -> None:
    for name in set(zf.errors.__all__) - {"ZerofleetError"}:
        assert issubclass(getattr(zf.errors, name), (ZerofleetError, ValueError))


def test_tic_tac_toe_has_its_255168_games() -> None:
    def num_games(position: zf.games.Position) -> int:
        if position.to_move == zf.OVER:
            return 1
        total = 0
        for action in position.legal_actions():
            next_position = position.copy()
            next_position.play(action)
            total += num_games(next_position)
        return total

    assert num_games(zf.games.get("gomoku", size=3, line=3).new_position()) == 255168


def test_connect_four_has_its_known_numbers_of_sequences_to_five_plies() -> None:
    def num_sequences(position: zf.games.Position, plies: int) -> int:
        if plies == 0:
            return 1
        total = 0
        for action in position.legal_actions():
            next_position = position.copy()
            next_position.play(action)
            total += num_sequences(next_position, plies - 1)
        return total

    start = zf.games.get("connect4").new_position()
    assert [num_sequences(start, plies) for plies in range(1, 6)] == [7, 49, 343, 2401, 16807]
