"""Players by text.

    random                    each legal action as likely
    heuristic                 simple rules, in each of zerofleet's own games; in Beasty Bar also
                              aggressive and defensive
    playout-N                 plain Monte Carlo tree search, N simulations
    best                      the weights that come with zerofleet for this variant of the game
    run:NAME                  the newest weights of a run; run:NAME@STEP those of a step
    file:PATH                 weights in a safetensors file, its manifest beside it
    gnubg-0, gnubg-1, gnubg-2 GNU Backgammon, looking so many plies ahead
    gomocup:PATH              a program that speaks the Gomocup protocol

Behind best, run: and file: may follow, after commas: sims=N (simulations; 200, and 0 is the
network's policy alone), root=puct or root=gumbel, or greedy (the resulting position of best value,
no tree).
"""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from zerofleet.arena.heuristics import HEURISTICS
from zerofleet.arena.player import Player
from zerofleet.arena.search_players import PolicyPlayer, SearchPlayer
from zerofleet.arena.simple_players import GreedyPlayer, RandomPlayer
from zerofleet.errors import BadText, Unsupported
from zerofleet.games import Game, get
from zerofleet.metrics import needed
from zerofleet.search import RootName
from zerofleet.weights import best_of

if TYPE_CHECKING:
    from zerofleet.infer import Evaluator

FORMS = (
    "random, heuristic, playout-N, best[,sims=N][,greedy][,root=puct|gumbel], "
    "run:NAME[@STEP][,…], file:PATH[,…], gnubg-0|1|2, gomocup:PATH"
)
NUM_SIMULATIONS = 200
"""Of a network's player, where nothing is said."""

Maker = Callable[[], Player]


def player(game: str | Game, text: str, **game_options: int | str) -> Player:
    """The player of a game that a text names; the module's docstring lists the texts."""
    return player_maker(game_of(game, game_options), text)()


def game_of(game: str | Game, game_options: dict[str, int | str]) -> Game:
    """A game, or the one of this name with these options."""
    if isinstance(game, str):
        return get(game, **game_options)
    if game_options:
        raise BadText(f"options ({', '.join(game_options)}) go with a game's name, not with a game")
    return game


def player_maker(game: Game, text: str, device: str = "auto") -> Maker:
    """Makes as many players of a text as there are threads; weights are loaded once, here.

    A network's player computes on that device.
    """
    kind, _, rest = text.partition(":")
    heuristics = HEURISTICS.get(game.name, {})
    if text == "random":
        return RandomPlayer
    if text in heuristics:
        return partial(heuristics[text], game)
    if found := re.fullmatch(r"playout-(\d+)", text):
        num_simulations = count_of(text, "playout-N", found[1], least=1)
        return lambda: SearchPlayer(text, "playout", num_simulations)
    if (kind in ("run", "file") and rest) or text.split(",")[0] == "best":
        return network_maker(game, text, device)
    if found := re.fullmatch(r"gnubg-([012])", text):
        return gnubg_maker(game, int(found[1]))
    if kind == "gomocup" and rest:
        return gomocup_maker(game, rest)
    known = FORMS.replace("heuristic", ", ".join(heuristics) or "heuristic (not in this game)")
    raise Unsupported(f"unknown player {text!r} of {game.name}; known: {known}")


# ---- networks


def network_maker(game: Game, text: str, device: str) -> Maker:
    source, *settings = text.split(",")
    num_simulations, greedy = NUM_SIMULATIONS, False
    root: RootName = "puct"
    for setting in settings:
        name, _, value = setting.partition("=")
        if setting == "greedy":
            greedy = True
        elif name == "sims":
            num_simulations = count_of(text, "sims=N", value, least=0)
        elif setting == "root=puct":
            root = "puct"
        elif setting == "root=gumbel":
            root = "gumbel"
        else:
            raise BadText(
                f"player {text!r}: unknown setting {setting!r}; known: sims=N, greedy, "
                "root=puct, root=gumbel"
            )
    if greedy and len(settings) > 1:
        raise BadText(f"player {text!r}: greedy has no tree, so no other setting goes with it")
    evaluator = load_evaluator(game, text, source, device)
    if greedy:
        return lambda: GreedyPlayer(text, partial(values_of, evaluator, game))
    if num_simulations == 0:
        return lambda: PolicyPlayer(text, evaluator)
    return lambda: SearchPlayer(text, evaluator, num_simulations, root)


def load_evaluator(game: Game, text: str, source: str, device: str) -> "Evaluator":
    """Shared by all players that are made of a text: it answers many threads, each on its own."""
    needed("torch", "zerofleet[train]")
    # Only now: it loads torch.
    from zerofleet.infer.load import load, load_file

    if source == "best":
        return load_file(best_of(game.name, game.options).path, game, device=device)
    kind, _, rest = source.partition(":")
    if kind == "file":
        return load_file(Path(rest), game, device=device)
    run, at, step = rest.partition("@")
    number = count_of(text, "@STEP", step, least=0) if at else None
    return load(run, number, game=game, device=device)


def values_of(
    evaluator: "Evaluator", game: Game, observations_BN: NDArray[np.uint8]
) -> NDArray[np.float32]:
    """The expected reward of each observer."""
    rewards_O = np.array([outcome.reward for outcome in game.outcomes], np.float32)
    _, outcomes_BO = evaluator(observations_BN)
    return outcomes_BO @ rewards_O


def count_of(text: str, form: str, value: str, least: int) -> int:
    if not value.isdecimal() or int(value) < least:
        raise BadText(f"player {text!r}: {form} needs a whole number from {least} on")
    return int(value)


# ---- programs of others


def gnubg_maker(game: Game, plies: int) -> Maker:
    if game.name != "backgammon" or game.options["checkers"] != "15":
        raise Unsupported(f"gnubg-{plies} plays backgammon with 15 checkers, not {game!r}")
    from zerofleet.arena.gnubg import GnubgPlayer

    return lambda: GnubgPlayer(plies=plies)


def gomocup_maker(game: Game, path: str) -> Maker:
    if game.name != "gomoku":
        raise Unsupported(f"gomocup:{path} plays gomoku, not {game.name}")
    from zerofleet.arena.gomocup import GomocupPlayer

    return lambda: GomocupPlayer(path, game)
