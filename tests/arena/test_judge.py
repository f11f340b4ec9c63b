"""The judge of backgammon decisions, on losses that are known by hand."""

from contextlib import closing

import pytest
from outside_tools import needs_gnubg

import zerofleet as zf
from zerofleet.arena.gnubg import Gnubg, GnubgPlayer
from zerofleet.arena.judge import (
    Decision,
    JudgedDecision,
    Judgement,
    decisions_of,
    has_choice,
    judge,
    judge_decision,
)
from zerofleet.arena.players import player
from zerofleet.arena.turns import turns


@pytest.fixture(scope="module")
def game() -> zf.games.Game:
    return zf.games.get("backgammon")


def last_roll(game: zf.games.Game, player: int) -> zf.games.Position:
    """The mover has checkers on its 2 and 1 points, the other one on its 1 point, and rolls 2-1."""
    points = [1, 1, *[0] * 21, -1]
    if player == 1:
        points = [-number for number in reversed(points)]
    return game.from_describe({"points": points, "dice": [2, 1], "player": player})


@needs_gnubg
@pytest.mark.parametrize("plies", [0, 2])
@pytest.mark.parametrize("mover", [0, 1])
def test_missing_a_certain_win_loses_two_points(
    game: zf.games.Game, mover: int, plies: int
) -> None:
    position = last_roll(game, mover)
    ends = turns(position)
    (wins,) = (turn for turn in ends if turn.after.to_move == zf.OVER)
    (misses,) = (turn for turn in ends if turn.after.to_move != zf.OVER)
    with closing(Gnubg(plies)) as gnubg:
        good = judge_decision(gnubg, Decision(0, position, wins))
        bad = judge_decision(gnubg, Decision(0, position, misses))
    assert good.equity_lost == 0
    assert bad.equity_lost == pytest.approx(2, abs=1e-3)
    assert (bad.chosen, bad.best) == ("2/1 1/off", "2/off 1/off")


def judgement(losses: list[tuple[int, float]]) -> Judgement:
    decisions = [JudgedDecision(number, "", "", "", lost) for number, lost in losses]
    return Judgement("somebody", 2, 1, decisions)


def test_the_error_is_500_times_the_mean_equity_lost() -> None:
    assert judgement([(0, 0.0), (0, 0.02), (1, 0.0), (1, 0.0)]).error.mean == pytest.approx(2.5)


def test_the_interval_takes_games_as_units() -> None:
    # Sums 0.4 and 0 of two decisions each: both are 0.2 from what the mean of 0.1 would give, so
    # the standard error is sqrt(2 * (0.2² + 0.2²)) / 4 = 0.1.
    error = judgement([(0, 0.1), (0, 0.3), (1, 0.0), (1, 0.0)]).error
    assert error.mean == pytest.approx(50)
    assert error.low == 0
    assert error.high == pytest.approx(500 * (0.1 + 0.196), abs=0.01)


def test_the_worst_come_first_and_what_lost_nothing_is_not_among_them() -> None:
    judged = judgement([(0, 0.1), (0, 0.0), (0, 0.3), (1, 0.2)])
    assert [decision.equity_lost for decision in judged.worst(2)] == [0.3, 0.2]
    assert len(judged.worst(9)) == 3


def test_forced_turns_are_no_decisions(game: zf.games.Game) -> None:
    assert has_choice(last_roll(game, 0))
    both_go_off = {"points": [2, *[0] * 22, -1], "dice": [2, 1], "player": 0}
    assert not has_choice(game.from_describe(both_go_off))


def test_a_turn_of_several_actions_is_one_decision(game: zf.games.Game) -> None:
    position = game.new_position()
    ids = []
    for text in ["31", "8/5", "6/5", "42", "8/4", "6/4", "66", "24/18"]:
        ids.append(position.action_from_text(text))
        position.play(ids[-1])
    decisions = decisions_of(game, 7, ids)  # the last turn is not over
    assert [decision.position.to_text().split()[1] for decision in decisions] == ["31", "42"]
    assert [decision.chosen.actions for decision in decisions] == [tuple(ids[1:3]), tuple(ids[4:6])]
    assert [decision.game_number for decision in decisions] == [7, 7]


@needs_gnubg
def test_gnubg_loses_nothing_by_its_own_judgement() -> None:
    with GnubgPlayer(plies=0) as gnubg:
        judged = judge(gnubg, num_decisions=300, plies=0)
    assert len(judged.decisions) == 300
    assert judged.error.mean == 0


@needs_gnubg
def test_the_same_seed_gives_the_same_judgement() -> None:
    with player("backgammon", "random") as somebody:
        first, again, other = (
            judge(somebody, num_decisions=40, plies=0, seed=seed, num_processes=processes)
            for seed, processes in [(3, 1), (3, 2), (4, 2)]
        )
    assert first.decisions == again.decisions != other.decisions


@needs_gnubg
@pytest.mark.long
@pytest.mark.parametrize(("text", "low", "high"), [("gnubg-0", 0.4, 2.5), ("random", 60, 250)])
def test_the_errors_of_known_players_are_as_known(text: str, low: float, high: float) -> None:
    with player("backgammon", text) as somebody:
        assert low < judge(somebody, num_decisions=1000).error.mean < high
