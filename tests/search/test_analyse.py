"""zf.search.analyse against answers known from elsewhere."""

import json
import os
import signal
import threading
from pathlib import Path

import numpy as np
import pytest

import zerofleet as zf
from zerofleet.errors import BadText, IllegalAction, Unsupported

ORACLES = Path(__file__).parent.parent / "oracles"

CONNECT4 = zf.games.get("connect4")
GOMOKU = zf.games.get("gomoku")
TIC_TAC_TOE = zf.games.get("gomoku", size=3, line=3)


def sign(number: float) -> int:
    return (number > 0) - (number < 0)


def uniform(observations: np.ndarray, num_actions: int = 7) -> tuple[np.ndarray, np.ndarray]:
    num_leaves = len(observations)
    outcomes = np.full((num_leaves, 3), 1 / 3, np.float32)
    return np.zeros((num_leaves, num_actions), np.float32), outcomes


# ---- a win in one, a loss in one

WINS_IN_ONE = [
    pytest.param(TIC_TAC_TOE, "a1 a2 b1 b2", "c1", id="tic-tac-toe, X"),
    pytest.param(TIC_TAC_TOE, "a1 a2 b1 b2 c3", "c2", id="tic-tac-toe, O"),
    pytest.param(GOMOKU, "e8 d8 f8 a1 g8 c1 h8 e1", "i8", id="gomoku, X"),
    pytest.param(GOMOKU, "a1 e8 c1 f8 e1 g8 d8 h8 o15", "i8", id="gomoku, O"),
    pytest.param(CONNECT4, "121212", "1", id="connect4, X"),
    pytest.param(CONNECT4, "1212127", "2", id="connect4, O"),
]


@pytest.mark.parametrize(("game", "text", "winning"), WINS_IN_ONE)
def test_a_win_in_one_gets_nine_tenths_of_the_visits_from_both_seats(
    game: zf.games.Game, text: str, winning: str
) -> None:
    position = game.from_text(text)
    simulations = 25 * len(position.legal_actions())
    analysis = zf.search.analyse(position, num_simulations=simulations, prove=False)
    won = position.action_from_text(winning)
    assert analysis.best_action == won
    assert analysis.visits[won] > 0.9 * sum(analysis.visits.values())
    assert analysis.values_to_move[won] == 1


@pytest.mark.parametrize("evaluator", ["uniform", "hash", "playout"])
@pytest.mark.parametrize(("game", "text", "winning"), WINS_IN_ONE)
def test_a_win_in_one_gets_nine_tenths_of_the_gumbel_policy_from_both_seats(
    game: zf.games.Game, text: str, winning: str, evaluator: str
) -> None:
    position = game.from_text(text)
    simulations = 25 * len(position.legal_actions())
    analysis = zf.search.analyse(position, evaluator, simulations, root="gumbel", prove=False)
    won = position.action_from_text(winning)
    assert analysis.best_action == won
    assert analysis.policy[won] > 0.9


@pytest.mark.parametrize("prove", [True, False])
@pytest.mark.parametrize(("game", "text", "winning"), WINS_IN_ONE)
def test_plain_monte_carlo_search_takes_a_win_in_one_from_both_seats(
    game: zf.games.Game, text: str, winning: str, prove: bool
) -> None:
    position = game.from_text(text)
    simulations = 25 * len(position.legal_actions())
    analysis = zf.search.analyse(position, "playout", simulations, prove=prove)
    assert position.action_text(analysis.best_action) == winning


@pytest.mark.parametrize("root", ["puct", "gumbel"])
@pytest.mark.parametrize(
    ("game", "text", "saving", "num_simulations"),
    [
        pytest.param(TIC_TAC_TOE, "a1 a2 c3 b2", "c2", 500, id="tic-tac-toe, X"),
        pytest.param(TIC_TAC_TOE, "a1 b3 b1", "c1", 500, id="tic-tac-toe, O"),
        pytest.param(GOMOKU, "a1 e8 c1 f8 e1 g8 d8 h8", "i8", 200_000, id="gomoku, X"),
        pytest.param(GOMOKU, "e8 d8 f8 a1 g8 c1 h8", "i8", 200_000, id="gomoku, O"),
        pytest.param(CONNECT4, "727262", "2", 500, id="connect4, X"),
        pytest.param(CONNECT4, "27272", "2", 500, id="connect4, O"),
    ],
)
def test_a_loss_in_one_is_avoided_from_both_seats(
    game: zf.games.Game, text: str, saving: str, num_simulations: int, root: str
) -> None:
    position = game.from_text(text)
    analysis = zf.search.analyse(position, num_simulations=num_simulations, root=root, prove=False)
    assert position.action_text(analysis.best_action) == saving


@pytest.mark.parametrize("root", ["puct", "gumbel"])
@pytest.mark.parametrize("name", zf.games.names())
def test_the_tree_goes_deeper_than_one_ply(name: str, root: str) -> None:
    position = zf.games.get(name).new_position(seed=1)
    assert zf.search.analyse(position, "playout", 2000, root=root).depth > 1


# ---- known values


def test_tic_tac_toe_is_a_draw() -> None:
    analysis = zf.search.analyse(TIC_TAC_TOE.new_position(), num_simulations=1_000_000, c_puct=30)
    assert analysis.solved
    assert analysis.value_to_move == 0
    assert set(analysis.values_to_move.values()) == {0}


def scored_positions() -> list[dict]:
    return [
        json.loads(line) for line in (ORACLES / "connect4_scores.jsonl").read_text().splitlines()
    ]


def test_scored_positions_are_read_and_their_full_columns_are_not_legal() -> None:
    for scored in scored_positions():
        position = CONNECT4.from_text(scored["moves"])
        playable = [column for column, score in enumerate(scored["scores"]) if score is not None]
        assert position.legal_actions() == playable


@pytest.mark.parametrize("prove", [True, False])
@pytest.mark.parametrize("evaluator", ["uniform", "playout"])
def test_the_sign_of_the_value_is_the_true_one_in_late_connect_four(
    evaluator: str, prove: bool
) -> None:
    late = [scored for scored in scored_positions() if scored["cat"].startswith("End")]
    assert len(late) == 45
    for scored in late:
        position = CONNECT4.from_text(scored["moves"])
        scores = [score for score in scored["scores"] if score is not None]
        analysis = zf.search.analyse(position, evaluator, 20_000, prove=prove)
        value = analysis.value_to_move if abs(analysis.value_to_move) > 0.05 else 0
        assert sign(value) == sign(max(scores)), scored
        assert sign(scored["scores"][analysis.best_action]) == sign(max(scores)), scored


# ---- what an analysis reports


def test_visits_policy_and_priors_have_all_legal_actions() -> None:
    position = CONNECT4.from_text("444444")
    for root in ("puct", "gumbel"):
        analysis = zf.search.analyse(position, num_simulations=3, root=root)
        for told in (analysis.visits, analysis.policy, analysis.priors):
            assert list(told) == [0, 1, 2, 4, 5, 6]
        assert sum(analysis.visits.values()) == analysis.num_simulations == 3
        assert sum(analysis.policy.values()) == pytest.approx(1, abs=1e-6)
        visited = [action for action, visits in analysis.visits.items() if visits > 0]
        assert list(analysis.values_to_move) == visited


def test_values_are_in_the_games_own_units() -> None:
    # Player 0 bears off its last checker with any roll, and player 1, with all fifteen on its own
    # ace point, has borne off none: a gammon, worth 2.
    points = [1] + [0] * 22 + [-15]
    description = {"points": points, "bar": [0, 0], "off": [14, 0], "dice": [], "player": 0}
    position = zf.games.get("backgammon").from_describe(description)
    analysis = zf.search.analyse(position, num_simulations=100)
    assert analysis.value_to_move == pytest.approx(2)
    assert analysis.solved
    assert analysis.outcomes_to_move["win gammon"] > 0.5


def test_before_a_roll_there_is_a_value_but_no_choice() -> None:
    position = zf.games.get("backgammon").new_position()
    analysis = zf.search.analyse(position, "playout", num_simulations=300)
    assert list(analysis.visits) == [outcome for outcome, _ in position.chance_outcomes()]
    with pytest.raises(IllegalAction, match="chance is to move here"):
        _ = analysis.best_action
    assert "value_to_move" in str(analysis)


def test_the_principal_variation_can_be_played_and_begins_with_the_best_action() -> None:
    position = CONNECT4.from_text("44")
    analysis = zf.search.analyse(position, "playout", num_simulations=2000)
    assert analysis.principal_variation[0] == analysis.best_action
    for action in analysis.principal_variation:
        position.play(action)


def test_an_analysis_reads_as_a_table_with_the_best_action_first() -> None:
    text = str(zf.search.analyse(CONNECT4.from_text("121212"), num_simulations=200))
    summary, header, best, *_, line = text.splitlines()
    assert summary.startswith("value_to_move +1.000 (200 simulations, depth ")
    assert summary.endswith(", proven: wins in 1 ply)")
    assert header.split() == ["action", "visits", "policy", "value", "prior"]
    assert best.split()[0] == "1"
    assert line == "line: 1"


def test_the_same_seed_gives_the_same_result() -> None:
    position = CONNECT4.new_position()
    first, second, other = (
        zf.search.analyse(position, "playout", 500, seed=seed) for seed in (1, 1, 2)
    )
    assert first == second
    assert first.visits != other.visits


def test_the_position_given_is_left_alone_and_a_copy_is_kept() -> None:
    position = CONNECT4.from_text("44")
    analysis = zf.search.analyse(position, num_simulations=50)
    assert position.to_text() == "44"
    position.play(0)
    assert analysis.position.to_text() == "44"


def test_what_a_player_cannot_see_does_not_change_its_search() -> None:
    position = zf.games.get("beastybar").new_position(seed=3)
    drawn = position.copy()
    drawn.resample_hidden(position.to_move, seed=9)
    assert drawn != position
    for root in ("puct", "gumbel"):
        first, second = (
            zf.search.analyse(each, "playout", 300, root=root) for each in (position, drawn)
        )
        assert first.visits == second.visits
        assert str(first) == str(second)


def test_a_small_memory_ends_the_search_early_and_it_says_so() -> None:
    analysis = zf.search.analyse(GOMOKU.new_position(), num_simulations=10_000, max_bytes=200_000)
    assert analysis.memory_full
    assert 0 < analysis.num_simulations < 10_000
    assert analysis.num_bytes <= 200_000
    assert "memory full" in str(analysis)
    assert not zf.search.analyse(GOMOKU.new_position(), num_simulations=100).memory_full


# ---- by the clock


@pytest.mark.parametrize("name", zf.games.names())
@pytest.mark.parametrize("max_leaves", [1, 8])
def test_seconds_end_a_search_whose_visits_are_its_simulations(name: str, max_leaves: int) -> None:
    position = zf.games.get(name).new_position(seed=1)
    game = position.game

    def evaluate(observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        count = len(observations)
        outcomes = np.full((count, len(game.outcomes)), 1 / len(game.outcomes), np.float32)
        return np.zeros((count, game.num_actions), np.float32), outcomes

    for evaluator in (evaluate, "playout"):
        analysis = zf.search.analyse(position, evaluator, seconds=0.02, max_leaves=max_leaves)
        assert analysis.num_simulations > 0
        assert sum(analysis.visits.values()) == analysis.num_simulations


def test_a_moment_is_enough_for_one_simulation() -> None:
    assert zf.search.analyse(CONNECT4.new_position(), uniform, seconds=1e-9).num_simulations == 1


def test_many_searches_share_seconds_and_memory() -> None:
    positions = [GOMOKU.new_position()] * 3
    found = zf.search.search_many(positions, "playout", None, [1, 2, 3], seconds=0.02)
    assert all(result.num_simulations > 0 for result in found)


def test_a_proven_root_needs_no_further_seconds() -> None:
    analysis = zf.search.analyse(CONNECT4.from_text("121212"), uniform, seconds=1000)
    assert analysis.solved
    assert analysis.position.action_text(analysis.best_action) == "1"


def test_a_full_memory_ends_a_search_before_its_seconds() -> None:
    analysis = zf.search.analyse(GOMOKU.new_position(), seconds=1000, max_bytes=200_000)
    assert analysis.memory_full


# ---- settings


def test_every_setting_of_the_core_is_a_keyword() -> None:
    keywords = {"num_simulations", "root", *zf.search.SearchSettings.__annotations__}
    assert keywords == {setting.name for setting in zf._core.search_settings()}


@pytest.mark.parametrize("root", ["puct", "gumbel"])
def test_an_analysis_does_not_explore_by_default(root: zf.search.RootName) -> None:
    position = GOMOKU.new_position()
    quiet: zf.search.SearchSettings = {
        "dirichlet_epsilon": 0,
        "forced_playouts": 0,
        "gumbel_scale": 0,
    }
    plain = zf.search.analyse(position, "hash", 200, root=root)
    assert zf.search.analyse(position, "hash", 200, root=root, **quiet).visits == plain.visits
    exploring = {setting.name: setting.default for setting in zf._core.search_settings()}
    told = {name: exploring[name] for name in quiet}
    assert zf.search.analyse(position, "hash", 200, root=root, **told).visits != plain.visits


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"c_pct": 1}, Unsupported, "unknown search setting c_pct; did you mean c_puct?"),
        ({"c_puct": -1}, BadText, "c_puct must be a number from 0 to 1000000, got -1"),
        ({"c_puct": float("nan")}, BadText, "c_puct must be .* got nan"),
        ({"c_puct": "wide"}, BadText, "c_puct must be .* got 'wide'"),
        ({"num_simulations": 0}, BadText, "num_simulations must be a whole number from 1 to"),
        ({"num_simulations": 10.5}, BadText, "num_simulations must be a whole number .* got 10.5"),
        ({"seconds": 0}, BadText, "seconds must be a finite number above 0, got 0"),
        ({"seconds": float("inf")}, BadText, "seconds must be a finite number above 0, got inf"),
        ({"seconds": 1, "num_simulations": 5}, BadText, "give either num_simulations or seconds"),
        ({"seconds": 1, "root": "gumbel"}, Unsupported, "so it takes no seconds"),
        ({"prove": 3}, BadText, "prove must be False or True, got 3"),
        ({"root": "uct"}, BadText, "root must be puct or gumbel, got 'uct'"),
        ({"evaluator": "unifrm"}, Unsupported, "unknown evaluator unifrm; did you mean uniform?"),
    ],
)
def test_a_wrong_setting_is_refused_with_what_would_be_right(
    settings: dict, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        zf.search.analyse(CONNECT4.new_position(), **settings)


def test_settings_reach_the_search() -> None:
    position = GOMOKU.new_position()
    plain = zf.search.analyse(position, num_simulations=200)
    for settings in (
        {"dirichlet_epsilon": 0.5},
        {"root": "gumbel", "max_considered": 4},
        {"root": "gumbel", "gumbel_scale": 1},
    ):
        assert zf.search.analyse(position, num_simulations=200, **settings).visits != plain.visits
    considered = zf.search.analyse(position, num_simulations=200, root="gumbel", max_considered=4)
    assert sum(visits > 0 for visits in considered.visits.values()) == 4


def test_a_game_that_is_over_cannot_be_searched() -> None:
    with pytest.raises(IllegalAction, match="the game is over: there is nothing to search"):
        zf.search.analyse(CONNECT4.from_text("4141414"))


# ---- evaluators that are functions


def test_a_python_evaluator_gets_batches_and_gives_the_results_of_the_core() -> None:
    shapes = set()

    def evaluate(observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        assert observations.dtype == np.uint8
        shapes.add(observations.shape)
        return uniform(observations)

    position = CONNECT4.new_position()
    analysis = zf.search.analyse(position, evaluate, num_simulations=300)
    assert analysis.visits == zf.search.analyse(position, "uniform", num_simulations=300).visits
    assert shapes == {(1, 43)}


def test_max_leaves_bounds_the_batch() -> None:
    sizes = set()

    def evaluate(observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        sizes.add(len(observations))
        return uniform(observations)

    analysis = zf.search.analyse(CONNECT4.new_position(), evaluate, 300, max_leaves=8)
    assert max(sizes) == 8
    assert sum(analysis.visits.values()) == 300


def test_what_a_function_says_is_in_the_view_of_the_observer() -> None:
    def evaluate(observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """An observer without a stone in the bottom left corner has lost if the other has one."""
        logits, outcomes = uniform(observations)
        outcomes[observations[:, 35] == 2] = [0, 0, 1]
        return logits, outcomes

    for text in ("", "4"):
        analysis = zf.search.analyse(CONNECT4.from_text(text), evaluate, num_simulations=1)
        assert analysis.values_to_move == {0: 1}


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda o: None, r"must return \(policy_logits, outcomes\), got NoneType"),
        (lambda o: uniform(o)[0], r"must return \(policy_logits, outcomes\), got float32 \[1, 7\]"),
        (
            lambda o: (uniform(o)[0].astype(np.float64), uniform(o)[1]),
            r"policy_logits must be a numpy array float32 \[1, 7\], got float64 \[1, 7\]",
        ),
        (
            lambda o: (uniform(o)[0][:, :6], uniform(o)[1]),
            r"policy_logits must be .* \[1, 7\], got float32 \[1, 6\]",
        ),
        (
            lambda o: (uniform(o)[0], uniform(o)[1][0]),
            r"outcomes must be .* \[1, 3\], got float32 \[3\]",
        ),
        (
            lambda o: (uniform(o)[0].tolist(), uniform(o)[1]),
            r"policy_logits must be a numpy array float32 \[1, 7\], got list",
        ),
        (
            lambda o: (uniform(o)[0] * np.float32("nan"), uniform(o)[1]),
            "row 0 has a number that is not finite",
        ),
        (
            lambda o: (uniform(o)[0], uniform(o)[1] * np.float32("nan")),
            r"outcomes row 0 must be probabilities that sum to 1, got \[nan, nan, nan\]",
        ),
        (
            lambda o: (uniform(o)[0], uniform(o)[1] * 2),
            "outcomes row 0 must be probabilities that sum to 1",
        ),
        (
            lambda o: (uniform(o)[0], np.array([[2, 0, -1]], np.float32)),
            "outcomes row 0 must be probabilities that sum to 1",
        ),
    ],
)
def test_a_wrong_answer_is_refused_with_what_came_and_what_is_right(answer, message: str) -> None:
    with pytest.raises(BadText, match=message):
        zf.search.analyse(CONNECT4.new_position(), answer)


def test_logits_of_illegal_actions_may_be_anything() -> None:
    def evaluate(observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        logits, outcomes = uniform(observations)
        full = observations[:, :7] != 0
        logits[full] = -np.inf
        return logits, outcomes

    zf.search.analyse(CONNECT4.from_text("444444"), evaluate, num_simulations=200)


def test_an_exception_of_the_evaluator_comes_out_as_it_is() -> None:
    def evaluate(observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        raise OverflowError("from the evaluator")

    with pytest.raises(OverflowError, match="from the evaluator"):
        zf.search.analyse(CONNECT4.new_position(), evaluate)


def test_ctrl_c_gets_through_while_the_core_searches() -> None:
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        zf.search.analyse(CONNECT4.new_position(), num_simulations=4_000_000_000)
    timer.join()


def test_a_gumbel_root_plans_no_more_simulations_than_fit_into_memory() -> None:
    position = zf.games.get("connect4").new_position()
    with pytest.raises(BadText, match="at most 16777216 simulations, got 4000000000"):
        zf.search.analyse(position, "uniform", 4_000_000_000, root="gumbel")


@pytest.mark.parametrize(
    ("columns", "proof", "plies"),
    [
        ("121212", "wins in 1 ply", 1),  # three in column 1, and a free cell above them
        ("44444422", "wins in 3 plies", 3),  # three in a row with two open ends
        ("444444223", "loses in 2 plies", 2),  # the same after the middle one
    ],
)
def test_a_proof_says_who_wins_and_when(columns: str, proof: str, plies: int) -> None:
    found = zf.search.analyse(CONNECT4.from_text(columns), num_simulations=500)
    assert found.proof() == proof
    assert found.plies_to_end == plies
    assert found.to_json(top=1)["proof"] == proof


def test_without_a_proof_nothing_is_said_and_where_dice_decide_no_plies() -> None:
    opened = zf.search.analyse(CONNECT4.new_position(), num_simulations=20)
    assert (opened.proof(), opened.plies_to_end) == (None, None)
    game = zf.games.get("backgammon", checkers=1)
    rolled = zf.search.analyse(game.new_position(), num_simulations=50, use_endgame_solver=True)
    assert (rolled.proof(), rolled.plies_to_end) == ("exact value", None)


def test_a_solver_proves_what_the_search_cannot_reach() -> None:
    columns = "444442222113"  # twelve discs
    position = CONNECT4.from_text(columns)
    found = zf.search.analyse(position, num_simulations=50, use_endgame_solver=True)
    assert found.solved
    assert not zf.search.analyse(position, num_simulations=50).solved
    assert found.plies_to_end in (zf.solve.plies_to_end(position), None)
    assert found.best_action in (zf.solve.best_actions(position) or [])
