"""The interactive loop of `zerofleet play`: shows the board, reads moves and commands."""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from zerofleet._core import CHANCE, OVER, Outcome
from zerofleet.arena import Player
from zerofleet.cli import play_backgammon
from zerofleet.cli.play_pictures import (
    TURNS_LISTED,
    hint_text,
    legal_text,
    move_text,
    picture,
    thoughts_text,
    turn_lines,
)
from zerofleet.cli.play_record import OngoingGame
from zerofleet.errors import ZerofleetError
from zerofleet.games import Position, beastybar, is_source, write_games
from zerofleet.games.formats import format_of
from zerofleet.games.rules import rules_text
from zerofleet.program import program_name
from zerofleet.search import analyse

MAX_TURNS_LISTED = 1000
HINT_SIMULATIONS = 1000
"""For a hint by playouts, if the opponent does not search."""

HELP = """\
a move, such as {example}; or
  rules       the rules of the game
  moves       the legal moves
  hint        what a search would play for you
  thoughts    the opponent's analysis of its last move
  undo        take back your last move
  save FILE   save the game, such as game.txt; zerofleet play … --load FILE resumes it,
              zerofleet review FILE marks mistakes. Other programs read FILE.sgf (Gomoku),
              FILE.mat (backgammon) and FILE.moves (Connect Four)
  resign      resign the game
  quit        leave, as do Ctrl-D and Ctrl-C"""


@dataclass(frozen=True)
class AlwaysShow:
    """What to show at each move without a command."""

    hints: bool
    thoughts: bool


class Board:
    """Plays one game on a terminal or from a pipe."""

    def __init__(
        self,
        record: OngoingGame,
        opponent: Player,
        seed: int,
        always_show: AlwaysShow,
        console: Console,
        ask: Callable[[str], str] = input,
    ) -> None:
        self.record = record
        self.opponent = opponent
        self.seed = seed
        self.always_show = always_show
        self.console = console
        self.ask = ask
        self.rng = random.Random(seed)
        self.is_left = self.is_resigned = False
        self.turn_starts: list[int] = []
        """Number of moves before each turn of the person."""
        self.last_thought: tuple[Position, int] | None = None
        """The position and seed of the opponent's last decision."""

    def play(self) -> None:
        """Plays until the game is over or the person leaves."""
        try:
            while self.record.position.to_move != OVER and not self.is_left:
                if self.record.position.to_move == CHANCE:
                    self.roll()
                elif self.record.position.to_move == self.record.person:
                    self.take_turn_of_person()
                else:
                    self.take_turn_of_opponent()
        except (EOFError, KeyboardInterrupt):
            self.say("\nyou left the game")
            self.is_left = True
        if self.record.position.to_move == OVER:
            self.say_result()
        self.say_record()

    def say(self, text: str, style: str | None = None) -> None:
        self.console.print(text, style=style, soft_wrap=not self.console.is_terminal)

    # ---- moves

    def roll(self) -> None:
        outcomes, probabilities = zip(*self.record.position.chance_outcomes(), strict=True)
        before = self.record.position
        rolled = self.record.play(self.rng.choices(outcomes, probabilities)[0])
        said = f"chance: {rolled}"
        if self.record.game.name == play_backgammon.NAME:
            after, person = self.record.position, self.record.person
            said = play_backgammon.roll_text(before, rolled, after, person, self.opponent.name)
        self.say(said)

    def take_turn_of_opponent(self) -> None:
        texts, actions = [], []
        player, num_moves = self.record.position.to_move, len(self.record.moves)
        while self.record.position.to_move == player:
            position = self.record.position
            self.last_thought = position, self.move_seed
            actions.append(self.opponent.choose(*self.last_thought))
            texts.append(move_text(position, actions[-1], self.record.person))
            self.record.play(actions[-1])
        self.say(f"{self.opponent.name} plays {' '.join(texts)}", style="bold")
        self.say_steps(self.record.positions[num_moves:], actions)
        if self.always_show.thoughts:
            self.show_thoughts()

    @property
    def move_seed(self) -> int:
        """The seed of a search now: it differs per move, and repeats for the same move."""
        return self.seed + len(self.record.moves)

    def say_steps(self, positions: list[Position], actions: list[int]) -> None:
        for line in turn_lines(positions, actions, self.record.person):
            self.say(f"  {line}")

    def take_turn_of_person(self) -> None:
        position = self.record.position
        self.say(f"\n{picture(self.record.positions, self.record.person)}")
        if len(position.legal_actions()) <= TURNS_LISTED:
            self.say(legal_text(position, TURNS_LISTED), style="dim")
        if self.always_show.hints:
            self.show_hint()
        while self.record.position == position and not self.is_left:
            self.handle(self.ask("your move (? for help): ").strip())

    def handle(self, text: str) -> None:
        """Runs a command or plays a move; reports an invalid one."""
        word, _, rest = text.partition(" ")
        position = self.record.position
        if text in ("?", "help"):
            self.say(HELP.format(example=position.action_text(position.legal_actions()[0])))
        elif text == "rules":
            self.say(rules_text(self.record.name, self.record.game))
        elif text == "moves":
            self.say(legal_text(position, MAX_TURNS_LISTED))
        elif text == "hint":
            self.show_hint()
        elif text == "thoughts":
            self.show_thoughts()
        elif text == "undo":
            self.undo()
        elif word == "save":
            self.save(rest.strip())
        elif text == "resign":
            self.say(f"you resign: {self.opponent.name} wins")
            self.is_left = self.is_resigned = True
        elif text in ("quit", "exit"):
            self.say("you left the game")
            self.is_left = True
        elif text:
            self.play_text(text)

    def play_text(self, text: str) -> None:
        num_moves, position = len(self.record.moves), self.record.position
        try:
            self.record.play_text(text if is_source(self.record.name) else text.lower())
        except ZerofleetError as error:
            self.say(str(error).partition("; legal: ")[0])
            self.say(legal_text(position, TURNS_LISTED))
            return
        self.turn_starts.append(num_moves)
        if self.record.game.name == beastybar.NAME:
            self.say_steps([position], [position.action_from_text(self.record.moves[-1])])
            drawn = beastybar.drawn_card(position, self.record.position, self.record.person)
            self.say(f"  you draw {drawn}" if drawn else "  no card is left to draw")

    def undo(self) -> None:
        if not self.turn_starts:
            self.say("you have no move to take back")
            return
        self.record.truncate(self.turn_starts.pop())
        self.last_thought = None
        self.say("took back your last move")

    def save(self, name: str) -> None:
        if not name:
            self.say("save needs a file name: save FILE")
            return
        path = Path(name)
        try:
            if format_of(path) == "text":
                path.write_text(self.record.text(), encoding="utf-8")
            else:
                write_games(path, [self.record.as_record()])
        except OSError as error:
            self.say(f"{name} cannot be written: {error.strerror}")
            return
        except ZerofleetError as error:
            self.say(f"{name} cannot be written: {error}")
            return
        self.say(f"saved; resume with: {program_name()} play {self.record.name} --load {name}")

    # ---- analysis

    def show_hint(self) -> None:
        position = self.record.position
        found = self.opponent.analyse(position, self.move_seed)
        self.say(hint_text(found or analyse(position, "playout", HINT_SIMULATIONS, self.move_seed)))

    def show_thoughts(self) -> None:
        if self.last_thought is None:
            self.say("the opponent has not moved yet")
            return
        analysis = self.opponent.analyse(*self.last_thought)
        if analysis is None:
            self.say(f"{self.opponent.name} does not search, so it has no analysis to show")
            return
        self.say(thoughts_text(analysis, self.opponent.name))

    # ---- the end

    def say_result(self) -> None:
        position, person = self.record.position, self.record.person
        self.say(f"\n{picture(self.record.positions, person)}")
        if self.record.game.name == beastybar.NAME:
            self.say(beastybar.final_score(position, person))
        reward = position.rewards()[person]
        outcome = outcome_text(self.record.game.outcomes, reward)
        self.say(f"the game is over; for you: {outcome} ({reward:+g})", style="bold")

    def say_record(self) -> None:
        """Prints the game as text, unless it can be resumed and would reveal hidden cards."""
        if self.record.position.to_move == OVER or self.is_resigned or not self.record.game.hidden:
            self.console.print(f"\n{self.record.text()}", end="", soft_wrap=True)


def outcome_text(outcomes: Iterable[Outcome], reward: float) -> str:
    """The outcome with this reward; a custom game in C++ may have several."""
    return " or ".join(outcome.name for outcome in outcomes if outcome.reward == reward)
