"""Positions, actions and turns as the pages get them: in the view of one player or of all.

Nothing here shows more than `Position.describe(player)` gives, so what is hidden from a player is
never in its data.
"""

from collections.abc import Sequence
from typing import Any, Literal

from zerofleet._core import CHANCE, OVER
from zerofleet.arena.turns import turns as turns_from
from zerofleet.errors import ZerofleetError
from zerofleet.games import Position, beastybar
from zerofleet.games.record import turn_text
from zerofleet.web.play_schema import (
    BackgammonSeen,
    BeastyBarSeen,
    GridSeen,
    LegalAction,
    LegalTurn,
    Seen,
    TextSeen,
    Turn,
)
from zerofleet.web.schema import Mover, Step

View = Literal["all", "0", "1"]
GRIDS = ("connect4", "gomoku")
BACKGAMMON = "backgammon"


def player_of(view: View) -> int | None:
    """None: sees everything."""
    return None if view == "all" else int(view)


def mover_of(position: Position) -> Mover:
    movers: dict[int, Mover] = {0: 0, 1: 1, CHANCE: "chance", OVER: "over"}
    return movers[position.to_move]


def player_or_chance(position: Position) -> Literal[0, 1, "chance"]:
    """Precondition: the game is not over."""
    return "chance" if position.to_move == CHANCE else (1 if position.to_move else 0)


def seen(position: Position, player: int | None) -> Seen:
    """What a player sees of a position; None sees everything."""
    found: dict[str, Any] = dict(position.describe(player))
    name = position.game.name
    roller = position.roller
    who: dict[str, Any] = {"to_move": mover_of(position), "roller": roller}
    if name in GRIDS:
        return GridSeen(kind="grid", board=found["board"], **who)
    if name == BACKGAMMON:
        return BackgammonSeen(
            kind="backgammon",
            points=found["points"],
            bar=found["bar"],
            off=found["off"],
            dice=found["dice"],
            from_point=found.get("from"),
            **who,
        )
    if name == beastybar.NAME:
        cards = {key: found[key] for key in ("queue", "bar", "thats_it", "hands", "piles")}
        return BeastyBarSeen(kind="beastybar", points=found["points"], **cards, **who)
    return TextSeen(kind="text", picture=picture(position, found), values=plain(found), **who)


def picture(position: Position, described: dict[str, Any]) -> str:
    """A custom game as its class draws it for this view, else as text."""
    if "picture" in described:
        return str(described["picture"]).rstrip("\n")
    if position.game.hidden:
        return "\n".join(f"{name}: {value}" for name, value in described.items())
    return str(position).rstrip("\n")


def plain(value: Any) -> Any:
    """A description as JSON can hold it."""
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items() if name != "picture"}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def meaning(position: Position, action: int) -> str:
    """What the numbers of an action mean (Beasty Bar): over lion and seal; else empty."""
    if position.game.name != beastybar.NAME:
        return ""
    text = beastybar.move_text(position, action, position.to_move)
    return text.partition(" → ")[2].lower()


def legal_actions(position: Position) -> list[LegalAction]:
    return [
        LegalAction(
            action=action, text=position.action_text(action), meaning=meaning(position, action)
        )
        for action in position.legal_actions()
    ]


def legal_turns(position: Position) -> list[LegalTurn] | None:
    """All turns of a player who moves several times in a row (backgammon); None elsewhere."""
    if position.game.name != BACKGAMMON:
        return None
    return [
        LegalTurn(actions=list(turn.actions), text=turn_text(position, turn.actions))
        for turn in turns_from(position)
    ]


def steps(position: Position, action: int) -> list[Step]:
    """What an action does, step by step; empty where the game does not tell."""
    if position.to_move == CHANCE:
        return []
    return [
        Step(
            step=each["step"],
            animal=each.get("animal"),
            acts_as=each.get("as"),
            queue=each["queue"],
            bar=each["bar"],
            thats_it=each["thats_it"],
        )
        for each in raw_steps(position, action)
    ]


def raw_steps(position: Position, action: int) -> list[dict[str, Any]]:
    return position.steps(action)


def turns(positions: Sequence[Position], actions: Sequence[int]) -> list[Turn]:
    """The turns of a game; `positions` are those before each action, then the last."""
    found: list[Turn] = []
    for ply, (position, action) in enumerate(zip(positions, actions, strict=False)):
        player = player_or_chance(position)
        text = position.action_text(action)
        if found and player != "chance" and found[-1].player == player:
            turn = found[-1]
            turn.actions.append(action)
            turn.texts.append(text)
            turn.steps.extend(steps(position, action))
            turn.text = f"{turn.text} {text}"
        else:
            found.append(
                Turn(
                    player=player,
                    text=text,
                    actions=[action],
                    texts=[text],
                    steps=steps(position, action),
                    ply=ply,
                )
            )
    return found


def position_text(position: Position, player: int | None) -> str | None:
    """Names the position; None where the text would reveal what the player may not see."""
    if position.game.hidden and player is not None:
        return None
    try:
        return position.to_text()
    except ZerofleetError:  # a custom game without a text
        return None


def mean_reward(outcomes_to_move: dict[str, float], position: Position) -> float:
    """The expected reward of the mover."""
    rewards = {outcome.name: outcome.reward for outcome in position.game.outcomes}
    return sum(chance * rewards[name] for name, chance in outcomes_to_move.items())


def end_text(position: Position, names: Sequence[str]) -> str:
    """How a game ended, in a sentence; empty while it is played. `names` are those of the seats."""
    if position.to_move != OVER:
        return ""
    rewards = position.rewards()
    if rewards[0] == rewards[1]:
        return "a draw"
    winner = 0 if rewards[0] > rewards[1] else 1
    how = next(
        (each.name for each in position.game.outcomes if each.reward == rewards[winner]), "win"
    )
    by = how.removeprefix("win").strip()
    verb = "win" if names[winner] == "you" else "wins"
    return f"{names[winner]} {verb}{f' a {by}' if by and by != 'single' else ''}"
