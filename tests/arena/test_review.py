"""Reviews of games: what a turn cost, against answers known by hand and from a solver."""

import json
from pathlib import Path

import numpy as np
import pytest

import zerofleet as zf
from zerofleet.arena.players import search_player
from zerofleet.arena.review import Review, plain_win, review, turns_of
from zerofleet.arena.search_players import SearchPlayer
from zerofleet.games import GameRecord, Position, games_from_text

ORACLES = Path(__file__).parent.parent / "oracles"
CONNECT4 = zf.games.get("connect4")
BACKGAMMON = zf.games.get("backgammon")


def review_of(start: Position, *moves: str, player: str = "playout-500") -> Review:
    """The record of a game that continues from a position by moves in the usual notation."""
    actions: list[int] = []
    position = start.copy()
    for move in moves:
        actions.append(position.action_from_text(move))
        position.play(actions[-1])
    return review(GameRecord(start, tuple(actions)), search_player(start.game, player))


def test_a_missed_win_and_a_missed_defence_are_blunders_from_both_seats() -> None:
    # X leaves out 1 and O leaves out 2, each a win in one; then X wins, though O could have.
    found = review_of(CONNECT4.from_text("121212"), "7", "7", "1")
    missed, missed_too, won = found.verdicts
    assert [missed.mark, missed_too.mark, won.mark] == ["??", "??", ""]
    assert (missed.lost, missed_too.lost, won.lost) == (2, 2, 0)
    assert [missed.turn.player, missed_too.turn.player] == [0, 1]
    assert missed.value_to_move == missed_too.value_to_move == won.value_to_move == 1
    assert CONNECT4.from_text("121212").action_from_text("1") == missed.better[0]
    assert found.of(1) == [missed_too]


def test_moves_that_a_solver_calls_lost_where_others_win_are_blunders() -> None:
    lines = (ORACLES / "connect4_scores.jsonl").read_text().splitlines()
    late = [each for each in map(json.loads, lines) if each["cat"] == "End-Easy"]
    num_tried = 0
    for each in late:
        playable = {at: score for at, score in enumerate(each["scores"]) if score is not None}
        worst = min(playable, key=lambda at: playable[at])
        if max(playable.values()) <= 0 or playable[worst] >= 0:
            continue
        num_tried += 1
        start = CONNECT4.from_text(each["moves"])
        (verdict,) = review_of(start, str(worst + 1), player="playout-3000").verdicts
        assert verdict.mark == "??", each
        assert playable[verdict.better[0]] > 0, each
    assert num_tried >= 10


@pytest.mark.parametrize("player", [0, 1])
def test_a_turn_of_several_actions_is_judged_whole_and_the_dice_after_it_are_weighed(
    player: int,
) -> None:
    # A 2 and a 1 bear off both checkers; to move one of them up leaves it, and then the other
    # player, who has one left, wins with any roll.
    points = [0] * 24
    points[0 if player == 0 else 23] = 1 if player == 0 else -1
    points[1 if player == 0 else 22] = 1 if player == 0 else -1
    points[23 if player == 0 else 0] = -1 if player == 0 else 1
    off = [13, 14] if player == 0 else [14, 13]
    start = BACKGAMMON.from_describe(
        {"points": points, "bar": [0, 0], "off": off, "dice": [2, 1], "player": player}
    )
    (verdict,) = review_of(start, "2/1", "1/off").verdicts
    assert verdict.turn.player == player
    assert verdict.lost == pytest.approx(2)
    assert verdict.mark == "??"
    assert len(verdict.better) == 2
    (verdict,) = review_of(start, "2/off", "1/off").verdicts
    assert verdict.lost == 0


def test_turns_end_at_rolls_and_know_the_roll_before_them() -> None:
    text = "game: backgammon\noptions:\nstart: 4HPwATDgc/ABMA\nmoves: 31; 8/5 6/5; 64; 24/14; 61"
    (record,) = games_from_text(text, "text")
    first, second = turns_of(record)
    assert (first.ply, first.player, len(first.actions), first.roll) == (1, 0, 2, "31")
    assert (second.ply, second.player, len(second.actions), second.roll) == (4, 1, 2, "64")
    assert first.after.to_move == zf.CHANCE
    assert first.after.roller == 1
    assert first.start.roller is None


def test_what_the_mover_could_not_see_does_not_change_what_a_move_cost() -> None:
    start = zf.games.get("beastybar").new_position(seed=3)
    losses = []
    for redraw in range(3):
        drawn = start.copy()
        drawn.resample_hidden(start.to_move, redraw)
        record = GameRecord(drawn, (drawn.legal_actions()[-1],))
        (verdict,) = review(record, search_player(start.game, "playout-300")).verdicts
        losses.append(verdict.lost)
        assert verdict.line == ()
    assert losses[0] is not None
    assert losses == [losses[0]] * 3


def test_an_action_with_a_prior_near_zero_is_judged_too() -> None:
    game = zf.games.get("beastybar")
    start = game.new_position(seed=3)
    *others, liked = start.legal_actions()

    def evaluate(observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        count, num_outcomes = len(observations), len(game.outcomes)
        logits = np.zeros((count, game.num_actions), np.float32)
        logits[:, liked] = 20
        return logits, np.full((count, num_outcomes), 1 / num_outcomes, np.float32)

    for action in others:
        found = review(GameRecord(start, (action,)), SearchPlayer("fake", evaluate, 50))
        assert found.verdicts[0].lost is not None


def test_an_action_that_the_search_has_not_looked_at_is_not_judged() -> None:
    start = zf.games.get("beastybar").new_position(seed=3)
    losses = [
        review(GameRecord(start, (action,)), search_player(start.game, "playout-1"))
        .verdicts[0]
        .lost
        for action in start.legal_actions()
    ]
    assert None in losses


def test_forced_turns_are_left_out() -> None:
    tictactoe = zf.games.get("gomoku", size=3, line=3)
    found = review_of(tictactoe.from_text("a1 b1 c1 b2 a2 a3 b3"), "c2", "c3")
    assert [verdict.turn.ply for verdict in found.verdicts] == [0]


def test_seconds_can_be_the_budget() -> None:
    found = review_of(CONNECT4.from_text("44"), "4", "4", player="playout,seconds=0.01")
    assert len(found.verdicts) == 2


def test_every_game_of_zerofleet_calls_a_plain_win_one() -> None:
    assert {plain_win(zf.games.get(name)) for name in zf.games.names()} == {1}
