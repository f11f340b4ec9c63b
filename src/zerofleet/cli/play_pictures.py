"""What a person sees of a game: only what they may know."""

from typing import Any

from zerofleet.arena.turns import turns
from zerofleet.games import Position
from zerofleet.search import Analysis

TURNS_LISTED = 24
"""Where more are legal, they are listed when asked for."""
MOVES_SHOWN = 5
LINE_SHOWN = 8
LEAST_CHANCE_SHOWN = 0.005


def picture(position: Position, person: int) -> str:
    """The board; where something is hidden, what this player may see of it."""
    if not position.game.hidden:
        return str(position).rstrip("\n")
    seen = position.describe(person)
    if position.game.name == "beastybar":
        return beastybar_picture(seen, person)
    return "\n".join(f"{name}: {value}" for name, value in seen.items())


def beastybar_picture(seen: dict[str, Any], person: int) -> str:
    """The person's own animals are in capitals, the opponent's in small letters."""

    def animals(cards: list[str]) -> str:
        return " ".join(
            card[:-1].upper() if int(card[-1]) == person else card[:-1] for card in cards
        )

    hands, piles, points = seen["hands"], seen["piles"], seen["points"]
    opponent = 1 - person
    return "\n".join(
        [
            f"queue      front | {animals(seen['queue'])} | back",
            f"bar        {animals(seen['bar'])}",
            f"That's It  {animals(seen['thats_it'])}",
            f"opponent   {points[opponent]} points, {count_of(hands[opponent])} cards in hand, "
            f"{count_of(piles[opponent])} in the pile",
            f"YOU        {points[person]} points, {count_of(piles[person])} cards in the pile",
            f"your hand  {animals(hands[person])}",
        ]
    )


def count_of(cards: int | list[str]) -> int:
    """Cards that cannot be seen are a number."""
    return cards if isinstance(cards, int) else len(cards)


def legal_text(position: Position, most: int) -> str:
    """What can be played, in backgammon whole turns; of more than `most`, some."""
    if position.game.name == "backgammon":
        texts = [turn_text(position, turn.actions) for turn in turns(position)]
    else:
        texts = [position.action_text(action) for action in position.legal_actions()]
    if len(texts) <= most:
        return f"legal: {', '.join(texts)}"
    return f"legal: {', '.join(texts[:MOVES_SHOWN])} and more ({len(texts)}); moves lists them"


def turn_text(position: Position, actions: tuple[int, ...]) -> str:
    """As people write it: 8/5 6/5."""
    texts = []
    position = position.copy()
    for action in actions:
        texts.append(position.action_text(action))
        position.play(action)
    return " ".join(texts)


# ---- thoughts


def hint_text(analysis: Analysis) -> str:
    """What a search in the person's own view would play."""
    return f"hint: {standing_text(analysis, 'you')}\n{moves_text(analysis)}{line_text(analysis)}"


def thoughts_text(analysis: Analysis, name: str) -> str:
    """What a player thought before its move. Where hands are hidden its other moves would show
    its hand, so they are left out."""
    standing = f"{name} thought: {standing_text(analysis, 'it')}"
    if analysis.position.game.hidden:
        return standing
    return f"{standing}\n{moves_text(analysis)}{line_text(analysis)}"


def standing_text(analysis: Analysis, who: str) -> str:
    chances = ", ".join(
        f"{name} {chance:.0%}"
        for name, chance in analysis.outcomes_to_move.items()
        if chance >= LEAST_CHANCE_SHOWN
    )
    proven = ", proven" if analysis.solved else ""
    return (
        f"value for {who} {analysis.value_to_move:+.2f}{proven} ({chances}; "
        f"{analysis.num_simulations:,} simulations)"
    )


def moves_text(analysis: Analysis) -> str:
    """The best moves, each with its share of the policy and its value."""
    lines = []
    for text, _, policy, value, _ in analysis.rows()[:MOVES_SHOWN]:
        lines.append(f"  {text:<16} {policy:>6}  value {value or 'not looked at'}")
    return "\n".join(lines)


def line_text(analysis: Analysis) -> str:
    """How it may go on; where hands are hidden nobody knows."""
    if analysis.position.game.hidden:
        return ""
    return f"\n  line {' '.join(analysis.line_text().split()[:LINE_SHOWN])}"
