"""A person and a player at one board: draws, asks, answers, until the game or the patience ends."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from zerofleet._core import CHANCE, OVER
from zerofleet.arena import Player
from zerofleet.cli import play_backgammon, play_beastybar
from zerofleet.cli.play_pictures import (
    TURNS_LISTED,
    hint_text,
    legal_text,
    move_text,
    picture,
    thoughts_text,
    turn_lines,
)
from zerofleet.cli.play_record import GameRecord
from zerofleet.cli.play_rules import rules_text
from zerofleet.errors import ZerofleetError
from zerofleet.games import Position, is_source, write_games
from zerofleet.games.formats import format_of
from zerofleet.program import program_name
from zerofleet.search import analyse

MOST_TURNS_LISTED = 1000
HINT_SIMULATIONS = 1000
"""Of plain Monte Carlo, where the opponent does not search."""

HELP = """\
a move as people write it, such as {example}; or
  rules       how the game is played
  moves       what is legal
  hint        what a search would play for you
  thoughts    what the opponent thought at its last move
  undo        take back your last move
  save FILE   write the game down, such as game.txt; zerofleet play … --load FILE resumes it,
              zerofleet review FILE marks mistakes. FILE.sgf (Gomoku), FILE.mat (backgammon)
              and FILE.moves (Connect Four) are for other programs too
  resign      give the game up
  quit        leave; Ctrl-D and Ctrl-C do too"""


@dataclass(frozen=True)
class Habits:
    """What is shown without being asked for."""

    hints: bool
    thoughts: bool


class Board:
    """Plays one game on a terminal, or with lines from a pipe."""

    def __init__(
        self,
        record: GameRecord,
        opponent: Player,
        seed: int,
        habits: Habits,
        console: Console,
        ask: Callable[[str], str] = input,
    ) -> None:
        self.record = record
        self.opponent = opponent
        self.seed = seed
        self.habits = habits
        self.console = console
        self.ask = ask
        self.rng = random.Random(seed)
        self.is_left = self.is_resigned = False
        self.turn_starts: list[int] = []
        """Moves that had been played before each turn of the person."""
        self.last_thought: tuple[Position, int] | None = None
        """Where the opponent decided last, and the seed with which."""

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
        if self.habits.thoughts:
            self.show_thoughts()

    @property
    def move_seed(self) -> int:
        """Of a search now: another at each move, the same when the move is thought over again."""
        return self.seed + len(self.record.moves)

    def say_steps(self, positions: list[Position], actions: list[int]) -> None:
        for line in turn_lines(positions, actions, self.record.person):
            self.say(f"  {line}")

    def take_turn_of_person(self) -> None:
        position = self.record.position
        self.say(f"\n{picture(self.record.positions, self.record.person)}")
        if len(position.legal_actions()) <= TURNS_LISTED:
            self.say(legal_text(position, TURNS_LISTED), style="dim")
        if self.habits.hints:
            self.show_hint()
        while self.record.position == position and not self.is_left:
            self.obey(self.ask("your move (? for help): ").strip())

    def obey(self, text: str) -> None:
        """Does what a line asks for; what makes no sense is said."""
        word, _, rest = text.partition(" ")
        position = self.record.position
        if text in ("?", "help"):
            self.say(HELP.format(example=position.action_text(position.legal_actions()[0])))
        elif text == "rules":
            self.say(rules_text(self.record.name, self.record.game))
        elif text == "moves":
            self.say(legal_text(position, MOST_TURNS_LISTED))
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
        if self.record.game.name == play_beastybar.NAME:
            self.say_steps([position], [position.action_from_text(self.record.moves[-1])])
            drawn = play_beastybar.drawn_card(position, self.record.position, self.record.person)
            self.say(f"  you draw {drawn}" if drawn else "  no card is left to draw")

    def undo(self) -> None:
        if not self.turn_starts:
            self.say("there is no move of yours to take back")
            return
        self.record.cut(self.turn_starts.pop())
        self.last_thought = None
        self.say("taken back")

    def save(self, name: str) -> None:
        if not name:
            self.say("save needs the name of a file: save FILE")
            return
        path = Path(name)
        try:
            if format_of(path) == "text":
                path.write_text(self.record.text(), encoding="utf-8")
            else:
                write_games(path, [self.record.as_played()])
        except OSError as error:
            self.say(f"{name} cannot be written: {error.strerror}")
            return
        except ZerofleetError as error:
            self.say(f"{name} cannot be written: {error}")
            return
        self.say(f"saved; go on with: {program_name()} play {self.record.name} --load {name}")

    # ---- thoughts

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
            self.say(f"{self.opponent.name} does not search: it has no thoughts to show")
            return
        self.say(thoughts_text(analysis, self.opponent.name))

    # ---- the end

    def say_result(self) -> None:
        position, person = self.record.position, self.record.person
        self.say(f"\n{picture(self.record.positions, person)}")
        if self.record.game.name == play_beastybar.NAME:
            self.say(play_beastybar.final_score(position, person))
        reward = position.rewards()[person]
        (outcome,) = (each.name for each in self.record.game.outcomes if each.reward == reward)
        self.say(f"the game is over; for you: {outcome} ({reward:+g})", style="bold")

    def say_record(self) -> None:
        """The game as text; one that can go on keeps its hidden cards."""
        if self.record.position.to_move == OVER or self.is_resigned or not self.record.game.hidden:
            self.console.print(f"\n{self.record.text()}", end="", soft_wrap=True)
