"""Players by text, and what each kind promises."""

import random
import subprocess
import sys

import numpy as np
import pytest

import zerofleet as zf
from zerofleet.arena.search_players import PolicyPlayer, SearchPlayer
from zerofleet.arena.simple_players import GreedyPlayer
from zerofleet.arena.turns import turns
from zerofleet.errors import BadText, TooLarge, Unsupported, ZerofleetError


def arithmetic_values(observations):
    """A made-up worth of each row, different for nearly all rows."""
    weights = np.random.default_rng(1).normal(size=observations.shape[1])
    return np.sin(observations @ weights).astype(np.float32)


def test_an_unknown_text_names_the_known_forms():
    with pytest.raises(Unsupported, match="unknown player 'strong' of beastybar") as error:
        zf.arena.player("beastybar", "strong")
    for form in (
        "random",
        "aggressive",
        "playout-N",
        "best",
        "run:NAME",
        "file:PATH",
        "gnubg-0|1|2",
    ):
        assert form in str(error.value)


def test_mcts_n_is_another_name_of_playout_n():
    position = zf.games.get("beastybar").new_position(seed=3)
    named, other = (zf.arena.player("beastybar", text) for text in ("playout-60", "mcts-60"))
    assert other.name == "mcts-60"
    seeds = range(8)
    positions = [position] * len(seeds)
    assert other.choose_many(positions, seeds) == named.choose_many(positions, seeds)


@pytest.mark.parametrize(
    ("game", "text", "fault"),
    [
        ("connect4", "playout-0", "playout-N must be an integer of at least 1"),
        ("connect4", "mcts-0", "mcts-N must be an integer of at least 1"),
        ("connect4", "mcts-5,sims=6", "sims is given twice"),
        ("connect4", "aggressive", "unknown player 'aggressive' of connect4"),
        ("connect4", "gnubg-0", "gnubg-0 plays backgammon"),
        ("backgammon", "gomocup:brain", "gomocup:brain plays gomoku"),
        ("beastybar", "run:bb,sims=-1", "sims=N must be an integer of at least 0"),
        ("beastybar", "run:bb,speed=9", "unknown setting 'speed=9'"),
        ("beastybar", "run:bb,sims=50,greedy", "greedy has no tree"),
        ("gomoku", "best,speed=9", "unknown setting 'speed=9'"),
        ("connect4", "playout-5,sims=6", "sims is given twice"),
        ("connect4", "playout,sims=0", "sims=N must be an integer of at least 1"),
        ("connect4", "playout,greedy", "greedy needs a network's values"),
        ("connect4", "playout,seconds=0", "seconds=S must be a finite number above 0"),
        ("connect4", "playout,seconds=nan", "seconds=S must be a finite number above 0"),
        ("connect4", "playout,seconds=soon", "seconds=S must be a finite number above 0"),
        ("connect4", "best,sims=9,seconds=1", "give sims=N or seconds=S, not both"),
        ("connect4", "best,root=gumbel,seconds=1", "so it takes no seconds=S"),
        ("beastybar", "run:bb@x", "@STEP needs a step: an integer"),
        ("beastybar", "run:bc", "unknown run bc; known: bb"),
        ("beastybar", "run:bb@8", "has no weights of step 8; it has: 0, 7"),
        ("connect4", "run:bb", "weights of beastybar .* are not for connect4"),
        ("beastybar", "file:nothing.safetensors", "nothing.safetensors refused"),
    ],
)
def test_an_impossible_text_is_one_clear_error(run_of_beastybar, game, text, fault):
    with pytest.raises(ZerofleetError, match=fault):
        zf.arena.player(game, text)


def test_options_go_with_a_name():
    assert zf.arena.player("gomoku", "random", size=9).name == "random"
    with pytest.raises(BadText, match="options \\(size\\) go with a game's name"):
        zf.arena.player(zf.games.get("gomoku"), "random", size=9)


def test_playing_without_a_network_does_not_load_torch():
    code = (
        "import sys, zerofleet as zf;"
        "zf.arena.match('connect4', 'heuristic', 'playout-5', num_games=4);"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_random_takes_every_legal_action_about_as_often():
    position = zf.games.get("connect4").new_position()
    player = zf.arena.player("connect4", "random")
    chosen = player.choose_many([position] * 7000, range(7000))
    assert all(abs(chosen.count(action) - 1000) < 5 * 30 for action in range(7))


@pytest.mark.parametrize("name", ["connect4", "beastybar"])
def test_a_playout_player_plays_what_an_analysis_finds(name, random_positions):
    positions = random_positions(name, 10)
    chosen = zf.arena.player(name, "playout-60").choose_many(positions, range(10))
    for position, seed, action in zip(positions, range(10), chosen, strict=True):
        assert action == zf.search.analyse(position, "playout", 60, seed).best_action


@pytest.mark.parametrize("text", ["playout,seconds=0.01", "run:bb,seconds=0.01"])
def test_a_player_with_seconds_moves_by_the_clock(text, run_of_beastybar, random_positions):
    positions = random_positions("beastybar", 3)
    player = zf.arena.player("beastybar", text)
    for position, action in zip(positions, player.choose_many(positions, range(3)), strict=True):
        assert action in position.legal_actions()
    assert player.analyse(positions[0]).num_simulations > 0


def test_a_forced_action_needs_no_search():
    def never(observations):
        raise AssertionError("asked for an evaluation")

    rng = random.Random(1)
    position = zf.games.get("connect4").new_position()
    while len(position.legal_actions()) != 1:  # but for one column the board is full
        if position.to_move == zf.OVER:
            position = position.game.new_position()
        position.play(rng.choice(position.legal_actions()))
    player = SearchPlayer("never", never, 100)
    assert player.choose(position) == position.legal_actions()[0]


def test_policy_alone_is_the_likeliest_legal_action():
    def evaluate(observations):
        logits = np.tile(np.arange(7, dtype=np.float32), (len(observations), 1))
        return logits, np.full((len(observations), 3), 1 / 3, np.float32)

    game = zf.games.get("connect4")
    positions = [game.new_position(), game.from_text("777777")]
    assert PolicyPlayer("policy", evaluate).choose_many(positions, [1, 2]) == [6, 5]


@pytest.mark.parametrize("name", ["connect4", "backgammon"])
def test_greedy_ends_its_turn_where_the_opponents_value_is_lowest(name, random_positions):
    player = GreedyPlayer("greedy", arithmetic_values)
    positions = random_positions(name, 40)
    chosen = player.choose_many(positions, range(40))
    for position, action in zip(positions, chosen, strict=True):
        other = 1 - position.to_move

        def worth(turn, player=position.to_move, other=other):
            if turn.after.to_move == zf.OVER:
                return turn.after.rewards()[player]
            return -float(arithmetic_values(turn.after.observe(other)[None])[0])

        assert action == max(turns(position), key=worth).actions[0]


def test_greedy_takes_a_win_in_one_from_both_seats():
    game = zf.games.get("connect4")
    player = GreedyPlayer("greedy", lambda observations: np.zeros(len(observations), np.float32))
    assert player.choose(game.from_text("112233")) == 3
    assert player.choose(game.from_text("7112233")) == 3


@pytest.mark.parametrize(
    "text",
    [
        *("heuristic", "aggressive", "defensive", "playout-30"),
        *("run:bb,greedy", "run:bb,sims=0", "run:bb,sims=12", "run:bb,sims=12,root=gumbel"),
    ],
)
def test_what_a_player_cannot_see_does_not_change_its_choice(
    text, run_of_beastybar, random_positions
):
    positions = random_positions("beastybar", 60)
    with zf.arena.player("beastybar", text) as player:
        chosen = player.choose_many(positions, range(60))
        for redraw in range(3):
            others = [position.copy() for position in positions]
            for number, position in enumerate(others):
                position.resample_hidden(position.to_move, 1000 * redraw + number)
            assert sum(map(lambda a, b: a != b, positions, others)) > 30
            assert player.choose_many(others, range(60)) == chosen


def test_greedy_does_not_look_at_the_card_it_is_about_to_draw(random_positions):
    """Its inputs are byte for byte the same, whatever the hidden cards are."""
    seen = []

    def remember(observations):
        seen.append(observations.copy())
        return np.zeros(len(observations), np.float32)

    positions = random_positions("beastybar", 1, seed=9)
    player = GreedyPlayer("greedy", remember)
    for redraw in range(2):
        position = positions[0].copy()
        position.resample_hidden(position.to_move, redraw)
        player.choose_many([position], [4])
    assert (seen[0] == seen[1]).all()


def test_steps_of_a_run_are_distinguished_and_the_newest_is_the_default(
    run_of_beastybar, random_positions
):
    positions = random_positions("beastybar", 80)

    def choices(text):
        return zf.arena.player("beastybar", text).choose_many(positions, [1] * 80)

    newest = choices("run:bb,sims=0")
    assert newest == choices("run:bb@7,sims=0")
    assert newest != choices("run:bb@0,sims=0")
    file = run_of_beastybar / "weights" / "000000000.safetensors"
    assert choices(f"file:{file},sims=0") == choices("run:bb@0,sims=0")


@pytest.mark.parametrize("root", ["puct", "gumbel"])
def test_a_run_searches_as_analyse_does(root, run_of_beastybar, random_positions):
    position = random_positions("beastybar", 1)[0]
    player = zf.arena.player("beastybar", f"run:bb,sims=20,root={root}")
    expected = zf.search.analyse(position, zf.load("bb"), 20, seed=3, root=root)
    assert player.choose(position, seed=3) == expected.best_action
    found = player.analyse(position, seed=3)
    assert found is not None
    assert found.visits == expected.visits


class LongTurn:
    """Player 0 answers yes or no seventeen times in a row, then player 1 ends the game."""

    name = "long-turn"
    num_actions = 2
    observation_bytes = 1
    max_plies = 18

    def __init__(self):
        self.to_move, self.num_played = 0, 0

    def legal_actions(self):
        return [0, 1]

    def play(self, action):
        self.num_played += 1
        self.to_move = 0 if self.num_played < 17 else 1 if self.num_played == 17 else zf.OVER

    def rewards(self):
        return [1, -1]

    def observe(self, player):
        return [self.num_played]

    def copy(self):
        copied = LongTurn()
        copied.to_move, copied.num_played = self.to_move, self.num_played
        return copied


def test_a_turn_with_too_many_ends_is_refused_by_greedy_and_can_be_searched():
    position = zf.games.from_class(LongTurn).new_position()
    with pytest.raises(TooLarge, match="more than 100000 positions"):
        GreedyPlayer("greedy", arithmetic_values).choose(position)
    assert zf.arena.player(position.game, "playout-20").choose(position) in (0, 1)


def test_best_is_loaded_by_game_and_is_not_a_run_name(random_positions):
    connect4 = zf.games.get("connect4")
    (position,) = random_positions("connect4", 1)
    found = [
        zf.search.analyse(position, evaluator, 10).visits
        for evaluator in (zf.load("best", game="connect4"), zf.load("best", game=connect4))
    ]
    assert (
        found[0] == found[1] == zf.arena.player(connect4, "best,sims=10").analyse(position).visits
    )
    with pytest.raises(BadText, match='needs a game and no step: load\\("best", game="gomoku"\\)'):
        zf.load("best")
    with pytest.raises(Unsupported, match="no weights come with zerofleet for gomoku size=7"):
        zf.load("best", game=zf.games.get("gomoku", size=7))
