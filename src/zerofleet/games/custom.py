"""A custom game as one Python class whose instances are positions.

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

Names have the meaning that they have in Position and Game. Optional members:

    outcomes                          [(name, reward), …]; default: win, draw and loss
    __init__(self, seed)              a deal: new games get a seed
    num_chance_outcomes, chance_outcomes()      [(id, probability), …] where to_move is zf.CHANCE;
                                      they must not depend on hidden information: drawing hidden
                                      cards belongs to the deal
    roller()                          the player about to roll, whose view a value then has;
                                      default: 0
    hidden = True, resample_hidden(player, seed)         resamples what this player cannot see; such
                                      a game needs to_text and from_text
    hidden_groups(player)             [[slot, …], …]: distinct items 0…255 that lie in the slots of
                                      a group; lets check test that the resampling is uniform
    to_text(), from_text(text)        default: the ids played since the start
    action_text(id), action_from_text(text)              default: the id
    __str__                           the board as text
    picture_for(player)               the board as a player sees it: with hidden information, only
                                      what that player may know (check tests this); without it play
                                      shows the observation of a hidden game
    rules                             the text that play shows for `rules`; default: the docstring

Search and check treat it like a game in C++, but it runs slower.
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
"""The integer attributes of the class, and their maxima."""
METHODS = ("legal_actions", "play", "rewards", "observe", "copy")
WIN_DRAW_LOSS = (("win", 1.0), ("draw", 0.0), ("loss", -1.0))


class CustomPosition(Protocol):
    """The required members of a custom game; the module's docstring lists the optional ones."""

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


def from_class(custom: type[CustomPosition]) -> Game:
    """The game that a class defines. An error names what the class lacks."""
    return declared(custom).game()


def position_of(position: Position | CustomPosition) -> Position:
    """A position of the core or of a custom class, as a Position."""
    if isinstance(position, Position):
        return position
    return declared(type(position)).position(position)


def declared(custom: type[CustomPosition]) -> CustomGame:
    """The validated declaration of a class."""

    def refuse(what: str) -> BadText:
        return BadText(f"{custom.__name__} is not a game: it {what}")

    if not isinstance(custom, type):
        raise BadText(f"a game is a Game or a class, got {custom!r}")
    name = getattr(custom, "name", None)
    if not isinstance(name, str) or not 1 <= len(name.encode()) <= MAX_NAME_BYTES:
        raise refuse(f"needs name, a string of 1 to {MAX_NAME_BYTES} bytes, got {name!r}")
    counts = {"num_chance_outcomes": 0}
    for attribute, most in COUNTS.items():
        count = getattr(custom, attribute, counts.get(attribute))
        least = 0 if attribute in counts else 1
        if not is_count(count) or not least <= count <= most:
            raise refuse(f"needs {attribute}, an integer from {least} to {most}, got {count!r}")
        counts[attribute] = count

    hidden = getattr(custom, "hidden", False)
    if not isinstance(hidden, bool):
        raise refuse(f"has hidden = {hidden!r}; it must be True or False")
    methods = list(METHODS)
    if hidden:
        methods += ["resample_hidden", "to_text", "from_text"]
    elif hasattr(custom, "resample_hidden"):
        raise refuse("has resample_hidden but not hidden = True")
    if counts["num_chance_outcomes"]:
        methods.append("chance_outcomes")
    elif hasattr(custom, "chance_outcomes"):
        raise refuse("has chance_outcomes but not num_chance_outcomes")
    if hasattr(custom, "to_text") or hasattr(custom, "from_text"):
        methods += ["to_text", "from_text"]
    for method in methods:
        if not callable(getattr(custom, method, None)):
            raise refuse(f"lacks the method {method}")

    return CustomGame(
        custom,
        name=name,
        hidden=hidden,
        outcomes=with_opposites(custom.__name__, getattr(custom, "outcomes", WIN_DRAW_LOSS)),
        takes_seed="seed" in inspect.signature(custom).parameters,
        **counts,
    )


def is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def with_opposites(owner: str, outcomes: Any) -> list[tuple[str, float, int]]:
    """Outcomes, each with the index of the opponent's outcome, which has the opposite reward."""
    pairs = [(str(name), float(reward)) for name, reward in outcomes]
    rewards = [reward for _, reward in pairs]
    if not 2 <= len(pairs) <= MAX_OUTCOMES:
        raise BadText(f"{owner} has {len(pairs)} outcomes; it must have 2 to {MAX_OUTCOMES}")
    for reward in rewards:
        if rewards.count(reward) > 1:
            raise BadText(
                f"{owner} has two outcomes of reward {reward}; each needs its own, since rewards() "
                "identifies the outcome"
            )
        if -reward not in rewards:
            raise BadText(f"{owner} has an outcome of reward {reward} but none of {-reward}")
    return [(name, reward, rewards.index(-reward)) for name, reward in pairs]
