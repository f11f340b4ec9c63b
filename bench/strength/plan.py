"""The measurements of a run per game, and the marks that it should pass.

A measurement is of the weights of one step with one way to play: `sims=200` searches, `sims=0` is
the policy alone, `greedy` the best afterstate by value.

The marks are the project's own, except: 93.4 % and 76.8 % in Beasty Bar are the figures of a public
project after 10 hours on an A100. Error rates for comparison in backgammon: pubeval about 14,
wildbg about 4, GnuBG 0-ply about 1.
"""

from dataclasses import dataclass, replace
from typing import Literal

SELF = "self"
"""As an opponent: the run's own weights, self@STEP,HOW."""


def self_step(opponent: str) -> int | None:
    """The step of the run's own weights; None for other opponents."""
    whose, _, which = opponent.partition("@")
    return int(which.partition(",")[0]) if whose == SELF else None


@dataclass(frozen=True)
class Measurement:
    """One measurement to make."""

    kind: Literal["match", "judge", "perfect"]
    step: int
    how: str
    """How the player plays: sims=N, sims=0 or greedy."""
    opponent: str = ""
    """Of a match: a player's text, or self@STEP,HOW."""
    count: int = 0
    """Games of a match, decisions to judge."""

    @property
    def title(self) -> str:
        """A title: step 900, sims=200 against random."""
        what = {"match": f"against {self.opponent}", "judge": "judged", "perfect": "perfect moves"}
        return f"step {self.step:,}, {self.how} {what[self.kind]}"


@dataclass(frozen=True)
class Mark:
    """A value that a series should reach."""

    series: str
    """An opponent, a category of positions, or `error` of a judgement."""
    value: float
    text: str
    kind: Literal["mark", "goal", "comparison"] = "mark"
    """A goal is more ambitious than the mark; a comparison is only drawn."""


@dataclass(frozen=True)
class Plan:
    """The measurements of runs of one variant."""

    simulations: int
    opponents: dict[str, int]
    """Games of the newest weights against each fixed opponent."""
    self_games: int
    """Against the run's own policy, greedy play and start."""
    half_games: int
    """Against the half-time weights, which are nearly as strong."""
    policy_games: int
    """Of the policy alone against that of half time: it compares the weights without a search that
    levels them."""
    curve: dict[str, int]
    """Games against the opponents of the curve, at each kept step."""
    marks: tuple[Mark, ...]
    greedy_games: int = 0
    """Of greedy play against that of half time; only backgammon, where it is close to a search."""
    judged: int = 0
    """Decisions that GnuBG judges, for each way to play; only backgammon."""
    curve_judged: int = 0
    """The same at each kept step, with search."""
    perfect_moves: bool = False
    """Whether to measure perfect moves on solved positions; only Connect Four."""


GNUBG_0_ERROR = 1.38
"""From `zerofleet judge gnubg-0 --decisions 3000 --seed 1`: 1.21 to 1.55 (95 %), 150 games."""

PLANS = {
    "connect4": Plan(
        simulations=200,
        opponents={"random": 400, "heuristic": 400},
        self_games=400,
        half_games=400,
        policy_games=4000,
        curve={},
        marks=(
            Mark("Middle-Medium", 0.97, "mark for Middle-Medium"),
            Mark("Begin-Hard", 0.92, "mark for Begin-Hard"),
        ),
        perfect_moves=True,
    ),
    "beastybar": Plan(
        simulations=200,
        opponents={"random": 1000, "heuristic": 1000, "playout-5000": 400},
        self_games=400,
        half_games=3000,
        policy_games=4000,
        curve={"random": 200, "heuristic": 200, "playout-5000": 40},
        marks=(
            Mark("random", 0.934, "mark against random"),
            Mark("heuristic", 0.768, "mark against heuristic"),
            Mark("playout-5000", 0.55, "mark against playout-5000"),
        ),
    ),
    "backgammon": Plan(
        simulations=100,
        opponents={"random": 400, "heuristic": 400, "gnubg-0": 2000},
        self_games=1000,
        half_games=2000,
        policy_games=4000,
        curve={},
        marks=(
            Mark("error", 10.0, "mark"),
            Mark("error", 4.0, "goal", "goal"),
            Mark("error", GNUBG_0_ERROR, "GnuBG, 0 plies", "comparison"),
        ),
        greedy_games=10_000,
        judged=1000,
        curve_judged=300,
    ),
    "gomoku-9": Plan(
        simulations=400,
        opponents={"random": 400, "heuristic": 400, "playout-10000": 200},
        self_games=400,
        half_games=400,
        policy_games=4000,
        curve={"heuristic": 100, "playout-10000": 20},
        marks=(Mark("playout-10000", 0.5, "as strong as the opponent"),),
    ),
    "gomoku-15": Plan(
        simulations=400,
        opponents={"random": 200, "heuristic": 200, "playout-10000": 100},
        self_games=200,
        half_games=200,
        policy_games=4000,
        curve={"heuristic": 60, "playout-10000": 10},
        marks=(Mark("playout-10000", 0.5, "as strong as the opponent"),),
    ),
}


def last_measurements(
    plan: Plan, newest: int, half: int | None, simulations: int
) -> list[Measurement]:
    """Of the newest weights."""
    search = f"sims={simulations}"
    ways = (search, "greedy", "sims=0")
    wanted = []
    if plan.perfect_moves:
        wanted += [Measurement("perfect", newest, how) for how in ways]
    match = Measurement("match", newest, search, count=plan.self_games)
    rivals = [f"{SELF}@{newest},sims=0", f"{SELF}@{newest},greedy", f"{SELF}@0,{search}"]
    wanted += [replace(match, opponent=rival) for rival in rivals]
    if half is not None:
        wanted += [
            Measurement("match", newest, search, f"{SELF}@{half},{search}", plan.half_games),
            Measurement("match", newest, "sims=0", f"{SELF}@{half},sims=0", plan.policy_games),
        ]
    if half is not None and plan.greedy_games:
        rival = f"{SELF}@{half},greedy"
        wanted.append(Measurement("match", newest, "greedy", rival, plan.greedy_games))
    wanted += [replace(match, opponent=name, count=n) for name, n in plan.opponents.items()]
    if plan.judged:
        wanted += [Measurement("judge", newest, how, count=plan.judged) for how in ways]
    return wanted


def curve_measurements(plan: Plan, steps: list[int], simulations: int) -> list[Measurement]:
    """Of each of these steps."""
    search = f"sims={simulations}"
    wanted = []
    for step in steps:
        if plan.perfect_moves:
            wanted.append(Measurement("perfect", step, search))
        if plan.curve_judged:
            wanted.append(Measurement("judge", step, search, count=plan.curve_judged))
        for opponent, num_games in plan.curve.items():
            wanted.append(Measurement("match", step, search, opponent, num_games))
    return wanted
