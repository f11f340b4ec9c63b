"""Boards, moves and analysis as text, showing only what the person may know."""

from collections.abc import Sequence

from zerofleet._core import CHANCE, OVER
from zerofleet.arena.turns import turns
from zerofleet.cli import play_backgammon
from zerofleet.games import Position, beastybar
from zerofleet.games.record import turn_text
from zerofleet.search import Analysis

TURNS_LISTED = 24
"""More legal turns than this are listed only on request."""
MOVES_SHOWN = 5
LINE_SHOWN = 8
MIN_CHANCE_SHOWN = 0.005


BOARDS = ("gomoku", "connect4")
"""Games in which a move places a stone on a board."""


def picture(positions: Sequence[Position], person: int) -> str:
    """The board at the last of these positions, with the last turn marked; in a game with hidden
    information, what this player may see."""
    position = positions[-1]
    game = position.game
    seen = position.describe(person)
    if game.name == beastybar.NAME:
        return beastybar.table(position, person)
    if "picture" in seen:
        return str(seen["picture"]).rstrip("\n")
    if game.hidden:
        return "\n".join(f"{name}: {seen_text(value)}" for name, value in seen.items())
    drawn = str(position).rstrip("\n")
    start, mover = last_turn(positions)
    if start is None:
        return drawn
    if game.name in BOARDS:
        return with_brackets(str(start), drawn)
    if game.name == play_backgammon.NAME:
        return play_backgammon.marked(drawn, start, position, mover)
    return drawn


def seen_text(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def last_turn(positions: Sequence[Position]) -> tuple[Position | None, int]:
    """The start of the last complete turn, and its player."""
    start, mover = None, OVER
    for position in reversed(positions[:-1]):
        if start is not None and position.to_move != mover:
            break
        if position.to_move != CHANCE:
            start, mover = position, position.to_move
    return start, mover


def with_brackets(before: str, now: str) -> str:
    """A board with brackets around the new stones."""
    lines = []
    for old, new in zip(before.splitlines(), now.splitlines(), strict=False):
        line = f"{new} "
        for at, (was, stone) in enumerate(zip(old, new, strict=False)):
            if was == "." and stone != ".":
                line = f"{line[: at - 1]}({stone}){line[at + 2 :]}"
        lines.append(line.rstrip())
    return "\n".join(lines)


def turn_lines(positions: Sequence[Position], actions: Sequence[int], person: int) -> list[str]:
    """What a turn did, step by step, in games whose notation does not show it. Positions are those
    before each action, then the one after the last."""
    game = positions[0].game
    if game.name == beastybar.NAME:
        return beastybar.turn_lines(positions[0], actions[0], person)
    if game.name == play_backgammon.NAME:
        return play_backgammon.checker_lines(positions, actions)
    return []


def move_text(position: Position, action: int, person: int) -> str:
    """A move in its usual notation, with its meaning in Beasty Bar."""
    if position.game.name == beastybar.NAME:
        return beastybar.move_text(position, action, person)
    return position.action_text(action)


def legal_text(position: Position, most: int) -> str:
    """The legal moves, whole turns in backgammon; only some if there are more than `most`."""
    if position.game.name == play_backgammon.NAME:
        texts = [turn_text(position, turn.actions) for turn in turns(position)]
    else:
        texts = [
            move_text(position, action, position.to_move) for action in position.legal_actions()
        ]
    if len(texts) <= most:
        return f"legal: {', '.join(texts)}"
    return f"legal: {', '.join(texts[:MOVES_SHOWN])} and more ({len(texts)}); moves lists them"


# ---- analysis


def hint_text(analysis: Analysis) -> str:
    """What a search from the person's view would play."""
    return f"hint: {standing_text(analysis, 'you')}\n{moves_text(analysis)}{line_text(analysis)}"


def thoughts_text(analysis: Analysis, name: str) -> str:
    """A player's analysis before its move. With hidden hands the alternatives are omitted: they
    would reveal the hand."""
    standing = f"{name} thought: {standing_text(analysis, 'it')}"
    if analysis.position.game.hidden:
        return standing
    return f"{standing}\n{moves_text(analysis)}{line_text(analysis)}"


def standing_text(analysis: Analysis, who: str) -> str:
    chances = ", ".join(
        f"{name} {chance:.0%}"
        for name, chance in analysis.outcomes_to_move.items()
        if chance >= MIN_CHANCE_SHOWN
    )
    proven = f", proven: {analysis.proof()}" if analysis.solved else ""
    return (
        f"value for {who} {analysis.value_to_move:+.2f}{proven} ({chances}; "
        f"{analysis.num_simulations:,} simulations)"
    )


def moves_text(analysis: Analysis) -> str:
    """The best moves, each with its policy probability and value."""
    lines = []
    position = analysis.position
    for action in analysis.ranked_actions()[:MOVES_SHOWN]:
        text = move_text(position, action, position.to_move)
        value = analysis.values_to_move.get(action)
        shown = "not visited" if value is None else f"{value:+.3f}"
        lines.append(f"  {text:<16} {analysis.policy[action]:>6.1%}  value {shown}")
    return "\n".join(lines)


def line_text(analysis: Analysis) -> str:
    """The principal variation; empty with hidden hands."""
    if analysis.position.game.hidden:
        return ""
    return f"\n  line {' '.join(analysis.line_text().split()[:LINE_SHOWN])}"
