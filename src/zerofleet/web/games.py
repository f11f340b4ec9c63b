"""Games and players that a page may choose.

Built-in games are always there. Code of a custom game runs only if the command line names its file:
neither a request nor a run folder chooses code. A player is a network that zerofleet ships or that
a run has trained, or a baseline; none reads a path or starts a program.
"""

import re
from collections.abc import Mapping, Sequence

from zerofleet import games
from zerofleet._core import OVER
from zerofleet.arena.heuristics import HEURISTICS
from zerofleet.arena.players import NUM_PLAYOUTS, NUM_SIMULATIONS, analysis_player
from zerofleet.config import unknown_name
from zerofleet.errors import BadText, Inconsistent, Unsupported, ZerofleetError
from zerofleet.games import Game, Position, fingerprint, is_source
from zerofleet.games.beastybar import NAME as BEASTYBAR
from zerofleet.games.beastybar import SPECIES
from zerofleet.games.rules import rules_text
from zerofleet.program import program_name
from zerofleet.runs.folder import BEST, Run, check_name, find, run_names
from zerofleet.web.episodes import outcomes_of
from zerofleet.web.notations import position_from
from zerofleet.web.play_schema import (
    GameLine,
    GameOption,
    PlayerLine,
    PositionAnswer,
    PositionRequest,
    Species,
)
from zerofleet.web.seen import legal_actions, seen
from zerofleet.weights import WeightsStore, find_best

RUN_PLAYER = re.compile(r"run:([^@,]{1,100})(?:@(\d{1,15}))?")
MAX_STEPS_LISTED = 200


class Games:
    """The built-in games, and the custom ones that the command line names; those that cannot be
    loaded are refused at once."""

    def __init__(self, custom: Sequence[str] = ()) -> None:
        for source in custom:
            if not is_source(source):
                raise BadText(f"--game {source} is no file; built-in games are always there")
        self._custom = {games.short_name(source): source for source in custom}
        self._loaded = {name: games.get(source) for name, source in self._custom.items()}

    # ---- games

    def lines(self) -> list[GameLine]:
        return [self._line(name) for name in (*self._custom, *games.names())]

    def get(self, name: str, options: Mapping[str, int | str]) -> Game:
        """A game that a request names."""
        if name in self._custom:
            if options:
                raise Unsupported(f"{name} is a custom game; its options are set where it is named")
            return self._loaded[name]
        if name not in games.names():
            raise Unsupported(unknown_name("game", name, [*self._custom, *games.names()]))
        return games.get(name, **options)

    def of_run(self, run: Run) -> Game:
        """The game of a run. A custom game must be one that the command line names."""
        facts = run.facts
        if not is_source(facts.game):
            return run.game()
        for game in self._loaded.values():
            if fingerprint(game) == facts.rules:
                return run.game(game)
        raise Inconsistent(
            f"run {run.name} is of a custom game, {facts.game}, whose code runs only if you name "
            f"it: {program_name()} dash --game {facts.game}"
        )

    def read(self, name: str, options: Mapping[str, int | str], text: str) -> tuple[Position, str]:
        """A position that a person pasted, and what it was read as."""
        return position_from(self.get(name, options), text)

    def position(self, asked: PositionRequest) -> PositionAnswer:
        position, notation = self.read(asked.game, asked.options, asked.text)
        return PositionAnswer(
            game=asked.game,
            options=position.game.options,
            position_text=position.to_text(),
            notation=notation,
            seen=seen(position, None),
            legal=legal_actions(position),
            is_over=position.to_move == OVER,
        )

    def _line(self, name: str) -> GameLine:
        source = self._custom.get(name)
        game = self.get(name, {})
        specs = [] if source else games.option_specs(name)
        is_beastybar = game.name == BEASTYBAR
        return GameLine(
            name=name,
            options=[
                GameOption(
                    name=each.name,
                    default=each.value,
                    allowed=each.allowed,
                    allowed_text=each.allowed_text,
                )
                for each in specs
            ],
            is_hidden=game.hidden,
            has_chance=game.num_chance_outcomes > 0,
            outcomes=outcomes_of(game),
            rules=paragraphs(rules_text(source or name, game)),
            species=[
                Species(
                    name=species,
                    strength=each.strength,
                    points=each.points,
                    ability=each.ability,
                )
                for species, each in (SPECIES if is_beastybar else {}).items()
            ],
        )

    # ---- players

    def players(self, name: str, options: Sequence[str]) -> list[PlayerLine]:
        """Those of a game with these options: shipped weights, runs, baselines."""
        game = self.get(name, options_of(options))
        found = []
        if find_best(game.name, game.options):
            found.append(player_line(BEST, "weights", NUM_SIMULATIONS))
        found += self._run_players(game)
        found.append(player_line("playout", "baseline", NUM_PLAYOUTS))
        for heuristic in HEURISTICS.get(game.name, {}):
            found.append(player_line(heuristic, "baseline", None))
        found.append(player_line("random", "baseline", None))
        return found

    def _run_players(self, game: Game) -> list[PlayerLine]:
        found = []
        for name in run_names():
            try:
                run = find(name)
                steps = WeightsStore(run.weights).versions()
                if steps and self.of_run(run) == game:
                    created = run.facts.created.timestamp()
                    line = player_line(f"run:{name}", "run", NUM_SIMULATIONS, steps[::-1])
                    found.append((created, line))
            except ZerofleetError:  # a damaged run, or one whose code may not run
                continue
        return [line for _, line in sorted(found, key=lambda each: -each[0])]

    def pinned(self, game: Game, text: str) -> str:
        """The text of a player that a page may choose; a run's newest weights by their step."""
        if text in ("playout", "random", *HEURISTICS.get(game.name, {})):
            return text
        if text == BEST and find_best(game.name, game.options):
            return text
        if (named := RUN_PLAYER.fullmatch(text)) is not None:
            run = find(check_name(named[1]))
            if self.of_run(run) != game:
                raise Inconsistent(f"run {run.name} is of {self.of_run(run)!r}, not of {game!r}")
            steps = WeightsStore(run.weights).versions()
            if not steps:
                raise Inconsistent(
                    f"run {run.name} has no weights: it has not come to its first checkpoint"
                )
            step = int(named[2]) if named[2] else steps[-1]
            if step not in steps:
                raise Unsupported(
                    f"run {run.name} has no weights of step {step}; it has: "
                    f"{', '.join(map(str, steps[-MAX_STEPS_LISTED:]))}"
                )
            return f"run:{run.name}@{step}"
        known = [*(["best"] if find_best(game.name, game.options) else []), "playout"]
        known += [*HEURISTICS.get(game.name, {}), "random", "run:NAME", "run:NAME@STEP"]
        raise Unsupported(
            f"unknown player {text[:100]!r} of {game.name}; known: {', '.join(known)}"
        )

    def analyst(self, game: Game) -> str:
        """Who searches where no player is named."""
        return analysis_player(game)


def player_line(
    text: str, kind: str, simulations: int | None, steps: Sequence[int] = ()
) -> PlayerLine:
    return PlayerLine.model_validate(
        {
            "text": text,
            "title": player_title(text),
            "kind": kind,
            "searches": simulations is not None,
            "default_simulations": simulations,
            "steps": list(steps)[:MAX_STEPS_LISTED],
        }
    )


def player_title(text: str) -> str:
    """A player's text as people read it."""
    if (named := RUN_PLAYER.fullmatch(text)) is not None:
        return f"{named[1]}, step {int(named[2]):,}" if named[2] else named[1]
    return {BEST: "zerofleet", "playout": "Plain MCTS"}.get(text, text.capitalize())


def options_of(texts: Sequence[str]) -> dict[str, str]:
    """size=9 as a dict."""
    values: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise BadText(f"option must be NAME=VALUE, such as size=9; got {text[:100]!r}")
        values[name] = value
    return values


def paragraphs(text: str) -> list[str]:
    return [each.strip("\n") for each in re.split(r"\n\s*\n", text) if each.strip()]
