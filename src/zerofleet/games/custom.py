"""A custom game, written as one Python class whose instances are positions.

    class Nim:
        name = "nim"
        num_actions = 3            # ids 0, 1, 2: take one, two or three
        observation_bytes = 2
        max_plies = 10

        def __init__(self): self.left, self.to_move = 10, 0
        def legal_actions(self): return range(min(3, self.left))
        def play(self, id): ...    # changes the position
        def rewards(self): ...     # [1, -1]: per player, when to_move is zf.OVER
        def observe(self, player): return [self.left, self.to_move == player]
        def copy(self): ...

    zf.games.check(Nim)
    zf.search.analyse(Nim()).best_action

Names and meaning are those of Position and Game. What else a class may have:

    outcomes                          [(name, reward), …]; else win, draw and loss
    __init__(self, seed)              a deal: new games get a seed
    num_chance_outcomes, chance_outcomes()      [(id, probability), …] where to_move is zf.CHANCE;
                                      they may not depend on what is hidden from a player: a draw
                                      from hidden cards belongs to the deal
    roller()                          who is about to roll, whose view a value then has; else 0
    hidden = True, resample_hidden(player, seed)         draws anew what this player cannot see;
                                      such a game needs to_text and from_text
    hidden_groups(player)             [[slot, …], …]: items 0…255, all different in a group, that
                                      lie in its slots; lets check compare that draw with a fair one
    to_text(), from_text(text)        else the text is the ids played since the start
    action_text(id), action_from_text(text)              else an id is its own text
    __str__                           the picture
    picture_for(player)               the picture for a player: where something is hidden, only what
                                      that player may know (check holds it to that); without it play
                                      shows the observation of a hidden game
    rules                             a text that play shows for `rules`; else the docstring

It is slower than a game in C++, and otherwise the same: the same search and the same check.
"""

import inspect
from typing import Any, Protocol, TypeGuard

from zerofleet._core import (
    MAX_NAME_BYTES,
    MAX_OUTCOMES,
    MAX_PLIES,
    CustomGame,
    Game,
    Position,
)
from zerofleet.errors import BadText

COUNTS = {
    "num_actions": 65535,
    "observation_bytes": 65536,
    "max_plies": MAX_PLIES,
    "num_chance_outcomes": 65535,
}
"""The class attributes that are whole numbers, and the most that each can be."""
METHODS = ("legal_actions", "play", "rewards", "observe", "copy")
WIN_DRAW_LOSS = (("win", 1.0), ("draw", 0.0), ("loss", -1.0))


class CustomPosition(Protocol):
    """What a class must have to be a game; the module's docstring says what it may have."""

    name: str
    num_actions: int
    observation_bytes: int
    max_plies: int

    @property
    def to_move(self) -> int: ...
    def legal_actions(self) -> Any: ...
    def play(self, action: int, /) -> None: ...
    def rewards(self) -> Any: ...
    def observe(self, player: int, /) -> Any: ...
    def copy(self) -> Any: ...


def from_class(own: type[CustomPosition]) -> Game:
    """The game that a class is. An error names what the class lacks."""
    return declared(own).game()


def position_of(position: Position | CustomPosition) -> Position:
    """A position of a game of the core, or of a user's own class, as a Position."""
    if isinstance(position, Position):
        return position
    return declared(type(position)).position(position)


def declared(own: type[CustomPosition]) -> CustomGame:
    """What a class says of itself, checked."""

    def refuse(what: str) -> BadText:
        return BadText(f"{own.__name__} is no game: it {what}")

    if not isinstance(own, type):
        raise BadText(f"a game is a Game or a class, got {own!r}")
    name = getattr(own, "name", None)
    if not isinstance(name, str) or not 1 <= len(name.encode()) <= MAX_NAME_BYTES:
        raise refuse(f"needs name, a text of 1 to {MAX_NAME_BYTES} bytes, got {name!r}")
    counts = {"num_chance_outcomes": 0}
    for attribute, most in COUNTS.items():
        count = getattr(own, attribute, counts.get(attribute))
        least = 0 if attribute in counts else 1
        if not is_count(count) or not least <= count <= most:
            raise refuse(f"needs {attribute}, a whole number from {least} to {most}, got {count!r}")
        counts[attribute] = count

    hidden = getattr(own, "hidden", False)
    if not isinstance(hidden, bool):
        raise refuse(f"has hidden = {hidden!r}; it must be True or False")
    methods = list(METHODS)
    if hidden:
        methods += ["resample_hidden", "to_text", "from_text"]
    elif hasattr(own, "resample_hidden"):
        raise refuse("has resample_hidden but not hidden = True")
    if counts["num_chance_outcomes"]:
        methods.append("chance_outcomes")
    elif hasattr(own, "chance_outcomes"):
        raise refuse("has chance_outcomes but not num_chance_outcomes")
    if hasattr(own, "to_text") or hasattr(own, "from_text"):
        methods += ["to_text", "from_text"]
    for method in methods:
        if not callable(getattr(own, method, None)):
            raise refuse(f"lacks the method {method}")

    return CustomGame(
        own,
        name=name,
        hidden=hidden,
        outcomes=with_opposites(own.__name__, getattr(own, "outcomes", WIN_DRAW_LOSS)),
        takes_seed="seed" in inspect.signature(own).parameters,
        **counts,
    )


def is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def with_opposites(owner: str, outcomes: Any) -> list[tuple[str, float, int]]:
    """Outcomes with the index of what the other player then has: the one of opposite reward."""
    pairs = [(str(name), float(reward)) for name, reward in outcomes]
    rewards = [reward for _, reward in pairs]
    if not 2 <= len(pairs) <= MAX_OUTCOMES:
        raise BadText(f"{owner} has {len(pairs)} outcomes; it can have 2…{MAX_OUTCOMES}")
    for reward in rewards:
        if rewards.count(reward) > 1:
            raise BadText(
                f"{owner} has two outcomes of reward {reward}; rewards() must tell them apart"
            )
        if -reward not in rewards:
            raise BadText(f"{owner} has an outcome of reward {reward} but none of {-reward}")
    return [(name, reward, rewards.index(-reward)) for name, reward in pairs]
