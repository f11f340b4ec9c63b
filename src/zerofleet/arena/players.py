"""Players by text.

    random                    uniform over the legal actions
    heuristic                 simple rules, for each built-in game; Beasty Bar also has aggressive
                              and defensive
    playout                   plain Monte Carlo tree search with random playouts; playout-N is short
                              for playout,sims=N; mcts-N is an alias
    best                      the weights shipped with zerofleet for this variant of the game
    run:NAME                  the newest weights of a run; run:NAME@STEP those of a step
    file:PATH                 weights in a safetensors file with its manifest beside it
    gnubg-0, gnubg-1, gnubg-2 GNU Backgammon at that many plies
    gomocup:PATH              an engine that speaks the Gomocup protocol
    solver                    plays perfectly; Connect Four and hypergammon

playout, best, run: and file: take options after commas: sims=N (simulations per move) or seconds=S
(time per move, one game at a time), root=puct or root=gumbel, and difficulty=easy, medium or hard:
easy is the search alone (the default), medium also asks the game's solver where it has one, and
hard does so with four times the budget. Players with weights also take sims=0 (the network's
policy, no search) or greedy (the best afterstate by value, no tree).
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from zerofleet.arena.heuristics import HEURISTICS
from zerofleet.arena.player import Player
from zerofleet.arena.search_players import PolicyPlayer, SearchPlayer
from zerofleet.arena.simple_players import GreedyPlayer, RandomPlayer, SolverPlayer
from zerofleet.errors import BadText, Unsupported
from zerofleet.games import Game, get
from zerofleet.infer.load import MAX_DIGITS, MAX_SHOWN, load_named, weights_named
from zerofleet.runs.folder import BEST
from zerofleet.search import CoreEvaluatorName, RootName
from zerofleet.solve import refuse_unsolved
from zerofleet.weights import find_best
from zerofleet.weights.spec import NetworkSpec, refuse_mismatch

if TYPE_CHECKING:
    from zerofleet.infer import Evaluator

FORMS = (
    "random, heuristic, playout-N (or mcts-N), playout[,seconds=S], "
    "best[,sims=N][,seconds=S][,greedy][,root=puct|gumbel][,difficulty=easy|medium|hard], "
    "run:NAME[@STEP][,…], file:PATH[,…], gnubg-0|1|2, gomocup:PATH, "
    "solver"
)
NUM_SIMULATIONS = 200
"""Default simulations per move of a player with a network."""
NUM_PLAYOUTS = 1000
"""Default simulations per move of playout."""

Difficulty = Literal["easy", "medium", "hard"]
"""easy: search alone. medium: it also asks the game's solver. hard: and with a larger budget."""
DIFFICULTIES: tuple[Difficulty, ...] = get_args(Difficulty)
HARD_BUDGET = 4
"""Times the budget of medium."""

SETTINGS = (
    "root=puct",
    "root=gumbel",
    "greedy",
    *(f"difficulty={each}" for each in DIFFICULTIES),
)
"""Options of a search besides its budget."""

Maker = Callable[[], Player]


def player(game: str | Game, text: str, **game_options: int | str) -> Player:
    """The player that a text names; the module's docstring lists the texts."""
    return player_maker(game_of(game, game_options), text)()


def game_of(game: str | Game, game_options: dict[str, int | str]) -> Game:
    """The game itself, or the game with this name and these options."""
    if isinstance(game, str):
        return get(game, **game_options)
    if game_options:
        raise BadText(f"options ({', '.join(game_options)}) go with a game's name, not with a game")
    return game


def player_maker(game: Game, text: str, device: str = "auto") -> Maker:
    """A factory of players, called once per thread. Weights are loaded once, here.

    Networks run on `device`.
    """
    kind, _, rest = text.partition(":")
    heuristics = HEURISTICS.get(game.name, {})
    if text == "random":
        return RandomPlayer
    if text in heuristics:
        return partial(heuristics[text], game)
    if text == "solver":
        return solver_maker(game)
    if searching := SearchText.of(text):
        return search_maker(game, searching, device)
    if found := re.fullmatch(r"gnubg-([012])", text):
        return gnubg_maker(game, int(found[1]))
    if kind == "gomocup" and rest:
        return gomocup_maker(game, rest)
    known = FORMS.replace("heuristic", ", ".join(heuristics) or "heuristic (not in this game)")
    raise Unsupported(f"unknown player {text!r} of {game.name}; known: {known}")


def refuse_unknown(game: Game, text: str) -> None:
    """Raises if the game has no such player; loads no network."""
    named = SearchText.of(text)
    if named is None or named.source == "playout":
        player_maker(game, text)
    else:
        weights = weights_named(named.source, game)
        refuse_mismatch(NetworkSpec.from_dict(weights.spec), game)


# ---- players that search


@dataclass(frozen=True)
class SearchText:
    """The parsed text of a player with a search or a network."""

    text: str
    source: str
    """playout, best, run:NAME[@STEP] or file:PATH."""
    num_simulations: int | None
    """None if the budget is in seconds. Without what the difficulty adds."""
    seconds: float | None
    root: RootName
    greedy: bool
    difficulty: Difficulty | None
    """None: not given, which is easy."""

    @staticmethod
    def of(text: str) -> "SearchText | None":
        """None if the text names another kind of player."""
        source, *settings = text.split(",")
        if found := re.fullmatch(r"(playout|mcts)-(\d+)", source):
            count_of(text, f"{found[1]}-N", found[2], least=1)
            source, settings = "playout", [f"sims={found[2]}", *settings]
        kind, _, rest = source.partition(":")
        if source not in ("playout", BEST) and not (kind in ("run", "file") and rest):
            return None
        values = {}
        for setting in settings:
            name, _, value = setting.partition("=")
            if name not in ("sims", "seconds") and setting not in SETTINGS:
                raise BadText(
                    f"player {text!r}: unknown setting {setting!r}; known: sims=N, seconds=S, "
                    f"{', '.join(SETTINGS)}"
                )
            if name in values:
                raise BadText(f"player {text!r}: {name} is given twice")
            values[name] = value
        if "greedy" in values and source == "playout":
            raise BadText(f"player {text!r}: greedy needs a network's values; playout has none")
        if "greedy" in values and len(values) > 1:
            raise BadText(f"player {text!r}: greedy has no tree, so it takes no other setting")
        if "sims" in values and "seconds" in values:
            raise BadText(f"player {text!r}: give sims=N or seconds=S, not both")
        seconds = seconds_of(text, values["seconds"]) if "seconds" in values else None
        root: RootName = "gumbel" if values.get("root") == "gumbel" else "puct"
        if seconds is not None and root == "gumbel":
            raise Unsupported(
                f"player {text!r}: root=gumbel needs a fixed number of simulations for sequential "
                "halving, so it takes no seconds=S; use sims=N, or root=puct"
            )
        num_simulations = None
        if seconds is None:
            num_simulations = NUM_PLAYOUTS if source == "playout" else NUM_SIMULATIONS
        if "sims" in values:
            least = 1 if source == "playout" else 0
            num_simulations = count_of(text, "sims=N", values["sims"], least)
        given = values.get("difficulty")
        difficulty = next((each for each in DIFFICULTIES if each == given), None)
        if difficulty and num_simulations == 0:
            raise BadText(f"player {text!r}: sims=0 does not search, so it takes no difficulty")
        return SearchText(
            text, source, num_simulations, seconds, root, "greedy" in values, difficulty
        )

    @property
    def budget(self) -> tuple[int | None, float | None]:
        """Simulations or seconds of a search, with what the difficulty adds."""
        factor = HARD_BUDGET if self.difficulty == "hard" else 1
        simulations, seconds = self.num_simulations, self.seconds
        return simulations and simulations * factor, seconds and seconds * factor

    def asks_solver(self, game: Game) -> bool:
        return self.difficulty in ("medium", "hard") and game.has_solver

    def player(self, game: Game, evaluator: "CoreEvaluatorName | Evaluator") -> SearchPlayer:
        """The player of this text with this evaluator."""
        num_simulations, seconds = self.budget
        asks = self.asks_solver(game)
        return SearchPlayer(self.text, evaluator, num_simulations, self.root, seconds, asks)


def search_maker(game: Game, named: SearchText, device: str) -> Maker:
    evaluator = load_evaluator(game, named, device)
    if not isinstance(evaluator, str):
        if named.greedy:
            return lambda: GreedyPlayer(named.text, partial(values_of, evaluator, game))
        if named.num_simulations == 0:
            return lambda: PolicyPlayer(named.text, evaluator)
    return lambda: named.player(game, evaluator)


def search_player(game: Game, text: str, device: str = "auto") -> SearchPlayer:
    """The player that a text names, for analysis; it must be one that searches."""
    named = searching(text)
    return named.player(game, load_evaluator(game, named, device))


def searching(text: str) -> SearchText:
    """The parsed text of a player; it must be one that searches."""
    named = SearchText.of(text)
    if named is None or named.greedy or named.num_simulations == 0:
        raise Unsupported(
            f"player {text!r} does not search, so it cannot analyse; players that search: "
            "playout-N, best, run:NAME, file:PATH"
        )
    return named


def analysis_player(game: Game) -> str:
    """The default analyst: the shipped weights, else playouts."""
    return BEST if find_best(game.name, game.options) else "playout"


def with_budget(text: str, num_simulations: int | None, seconds: float | None) -> str:
    """A player's text with a budget appended."""
    if num_simulations is not None:
        text += f",sims={num_simulations}"
    if seconds is not None:
        text += f",seconds={seconds:g}"
    return text


def with_difficulty(texts: Sequence[str], difficulty: str | None) -> list[str]:
    """The texts of players with this difficulty, where they search and name none themselves."""
    if difficulty is None:
        return list(texts)
    if difficulty not in DIFFICULTIES:
        raise BadText(f"difficulty is {', '.join(DIFFICULTIES)}, not {difficulty!r}")
    takers = [
        (named := SearchText.of(text)) is not None
        and not named.greedy
        and named.num_simulations != 0
        and named.difficulty is None
        for text in texts
    ]
    if not any(takers):
        raise Unsupported(
            f"--difficulty {difficulty} is for players that search and do not name a difficulty: "
            f"playout, best, run: or file:; got {', '.join(texts)}"
        )
    return [
        f"{text},difficulty={difficulty}" if takes else text
        for text, takes in zip(texts, takers, strict=True)
    ]


def is_timed(text: str) -> bool:
    """Whether a player's budget is in seconds."""
    named = SearchText.of(text)
    return named is not None and named.seconds is not None


def load_evaluator(
    game: Game, named: SearchText, device: str = "auto"
) -> "CoreEvaluatorName | Evaluator":
    """The evaluator of a text, shared by its players in all threads."""
    if named.source == "playout":
        return "playout"
    return load_named(named.source, game, device, called=f"player {named.text!r}")


def values_of(
    evaluator: "Evaluator", game: Game, observations_BN: NDArray[np.uint8]
) -> NDArray[np.float32]:
    """The expected reward of each observer."""
    rewards_O = np.array([outcome.reward for outcome in game.outcomes], np.float32)
    _, outcomes_BO = evaluator(observations_BN)
    return outcomes_BO @ rewards_O


def count_of(text: str, form: str, value: str, least: int) -> int:
    if not re.fullmatch(rf"\d{{1,{MAX_DIGITS}}}", value) or int(value) < least:
        raise BadText(
            f"player {text[:MAX_SHOWN]!r}: {form} must be an integer of at least {least} with at "
            f"most {MAX_DIGITS} digits"
        )
    return int(value)


def seconds_of(text: str, value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0
    if not 0 < seconds < math.inf:
        raise BadText(f"player {text!r}: seconds=S must be a finite number above 0")
    return seconds


# ---- perfect players and external engines


def solver_maker(game: Game) -> Maker:
    refuse_unsolved(game)
    return SolverPlayer


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
