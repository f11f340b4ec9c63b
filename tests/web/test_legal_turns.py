"""Whole turns, which let a page accept checkers in any order."""

import zerofleet as zf
from zerofleet.web.seen import legal_turns


def test_the_turns_of_an_opening_roll_are_those_of_the_core_in_its_order() -> None:
    position = zf.games.get("backgammon").from_text("4HPwATDgc/ABMA 31")
    turns = legal_turns(position)
    assert turns is not None
    assert "8/5 6/5" in [turn.text for turn in turns]
    for turn in turns:
        played = position.copy()
        for action in turn.actions:
            assert action in played.legal_actions()
            played.play(action)
        assert played.to_move != position.to_move
    assert len({turn.text for turn in turns}) == len(turns)


def test_a_game_of_single_actions_has_none() -> None:
    assert legal_turns(zf.games.get("connect4").new_position(1)) is None
