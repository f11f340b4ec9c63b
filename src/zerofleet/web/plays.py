"""Games in play: who sits where, what was played, and what each page may see of it.

Games live in memory, so many at most, and are forgotten when nobody has touched them for hours.
Dice are rolled here, from the game's seed and the number of the ply: taking a move back does not
change them.
"""

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random, SystemRandom

from zerofleet._core import CHANCE, OVER
from zerofleet.config import MAX_SEED
from zerofleet.errors import IllegalAction, Inconsistent, Unsupported
from zerofleet.games import Game, Position
from zerofleet.games.record import actions_of_turn
from zerofleet.web.errors import Refused, unknown
from zerofleet.web.games import Games, player_title
from zerofleet.web.play_schema import (
    ActionRequest,
    PlayAnswer,
    PlayRequest,
    SavedGame,
    Seat,
    SeatAnswer,
)
from zerofleet.web.saved import SavedGames
from zerofleet.web.searches import Searches, Strength
from zerofleet.web.seen import (
    View,
    end_text,
    legal_actions,
    legal_turns,
    mover_of,
    player_of,
    position_text,
    seen,
    turns,
)

HUMAN = "human"
MAX_PLAYS = 500
MAX_IDLE_S = 6 * 3600.0


@dataclass
class Play:
    """One game. `lock` is held while it is read or changed."""

    id: str
    name: str
    """The game as the page named it."""
    seats: tuple[Strength | None, Strength | None]
    """None: a human."""
    asked: tuple[Seat, Seat]
    """The seats as the request named them."""
    seed: int
    positions: list[Position]
    """Before each action, then the current one."""
    actions: list[int] = field(default_factory=list)
    started_here: bool = True
    """Whether it began as a new game, so that a seed and actions are all of it."""
    is_busy: bool = False
    touched_s: float = field(default_factory=time.monotonic)
    lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    @property
    def game(self) -> Game:
        return self.positions[0].game

    @property
    def position(self) -> Position:
        return self.positions[-1]

    @property
    def is_truncated(self) -> bool:
        return self.position.to_move != OVER and len(self.actions) >= self.game.max_plies

    @property
    def is_over(self) -> bool:
        return self.position.to_move == OVER or self.is_truncated

    @property
    def view(self) -> View:
        humans = [seat for seat, player in enumerate(self.seats) if player is None]
        if len(humans) != 1:
            return "all"
        return "0" if humans[0] == 0 else "1"

    @property
    def mover(self) -> Strength | None:
        """The agent to move; None where a human or nobody is."""
        return self.seats[self.position.to_move] if self.position.to_move in (0, 1) else None

    @property
    def is_human_to_move(self) -> bool:
        return self.position.to_move in (0, 1) and self.mover is None and not self.is_truncated

    def play(self, action: int) -> None:
        """Plays an action, then rolls where chance is to move."""
        self._append(action)
        self.roll()

    def roll(self) -> None:
        while self.position.to_move == CHANCE and not self.is_truncated:
            outcomes, chances = zip(*self.position.chance_outcomes(), strict=True)
            rng = Random(self.seed * (1 << 20) + len(self.actions))
            self._append(rng.choices(outcomes, chances)[0])

    def truncate(self, num_plies: int) -> None:
        del self.positions[num_plies + 1 :]
        del self.actions[num_plies:]

    def last_human_turn(self) -> int | None:
        """Plies before the last turn of a human; None where there is none to take back. The end of
        a game shows hidden hands, so there it cannot be taken back."""
        if self.game.hidden and self.is_over:
            return None
        starts = [
            turn.ply
            for turn in turns(self.positions, self.actions)
            if turn.player != "chance" and self.seats[turn.player] is None
        ]
        return starts[-1] if starts else None

    def names(self) -> list[str]:
        """Of the seats, for sentences."""
        humans = [seat for seat in (0, 1) if self.seats[seat] is None]
        named = []
        for seat, strength in enumerate(self.seats):
            if strength is not None:
                same = self.seats[0] == self.seats[1]
                title = player_title(strength.text)
                named.append(f"{title} ({seat + 1})" if same else title)
            else:
                named.append("you" if len(humans) == 1 else ("first", "second")[seat])
        return named

    def _append(self, action: int) -> None:
        after = self.position.copy()
        after.play(action)
        self.positions.append(after)
        self.actions.append(action)


class Plays:
    """All games in play."""

    def __init__(self, games: Games, searches: Searches, saved: SavedGames) -> None:
        self._games, self._searches, self._saved = games, searches, saved
        self._lock = threading.Lock()
        self._plays: OrderedDict[str, Play] = OrderedDict()

    # ---- requests

    def start(self, asked: PlayRequest) -> PlayAnswer:
        game = self._games.get(asked.game, asked.options)
        seats = [self._strength(game, seat) for seat in asked.seats]
        if game.hidden and seats == [None, None]:
            raise Unsupported(
                f"{asked.game} has hidden hands, so two people cannot play it on one screen; let "
                "an agent take a seat"
            )
        seed = asked.seed if asked.seed is not None else SystemRandom().randrange(MAX_SEED + 1)
        start = game.new_position(seed)
        if asked.position is not None:
            start = self._games.read(asked.game, asked.options, asked.position)[0]
        play = Play(
            id=secrets.token_urlsafe(12),
            name=asked.game,
            seats=(seats[0], seats[1]),
            asked=(asked.seats[0], asked.seats[1]),
            seed=seed,
            positions=[start],
            started_here=asked.position is None,
        )
        play_moves(play, asked.moves)
        play.roll()
        self._add(play)
        return answer_of(play)

    def answer(self, play_id: str) -> PlayAnswer:
        play = self._find(play_id)
        with play.lock:
            return answer_of(play)

    def act(self, play_id: str, asked: ActionRequest) -> PlayAnswer:
        play = self._find(play_id)
        with play.lock:
            refuse_busy(play)
            if asked.ply is not None and asked.ply != len(play.actions):
                raise Inconsistent(
                    f"the game has {len(play.actions)} plies, not {asked.ply}: it was changed "
                    "meanwhile"
                )
            refuse_over(play)
            if not play.is_human_to_move:
                raise IllegalAction("the agent is to move, not you")
            legal = play.position.legal_actions()
            if asked.action not in legal:
                shown = ", ".join(map(str, legal[:12])) + (", …" if len(legal) > 12 else "")
                raise IllegalAction(
                    f"action {asked.action} is not legal here; legal: {shown} ({play.name}, ply "
                    f"{len(play.actions)}, player {play.position.to_move} to move)"
                )
            play.play(asked.action)
            return answer_of(play)

    async def let_agent_move(self, play_id: str) -> PlayAnswer:
        """The agent to move takes its whole turn."""
        play = self._find(play_id)
        with play.lock:
            refuse_busy(play)
            refuse_over(play)
            if play.mover is None:
                raise IllegalAction("you are to move, not an agent")
            play.is_busy = True
        try:
            await self._searches.run(lambda: self._take_turn(play))
        finally:
            with play.lock:
                play.is_busy = False
        with play.lock:
            return answer_of(play)

    def take_back(self, play_id: str) -> PlayAnswer:
        play = self._find(play_id)
        with play.lock:
            refuse_busy(play)
            start = play.last_human_turn()
            if start is None:
                raise IllegalAction("you have no move to take back")
            play.truncate(start)
            return answer_of(play)

    def position_to_analyse(self, play_id: str) -> tuple[Position, str | None]:
        """The position, and who analyses it by default: an agent of the game that searches."""
        play = self._find(play_id)
        with play.lock:
            refuse_over(play)
            viewer = player_of(play.view)
            if play.game.hidden and viewer is not None and play.position.to_move != viewer:
                raise IllegalAction(
                    "the agent is to move, and its view would tell you its hand; ask on your turn"
                )
            agents = [each.text for each in play.seats if each is not None and each.searches]
            return play.position.copy(), agents[0] if agents else None

    def save(self, play_id: str) -> SavedGame:
        play = self._find(play_id)
        with play.lock:
            if not play.is_over:
                raise Inconsistent("the game is not over; it can be saved when it is")
            return self._saved.save(
                play.positions[0],
                play.actions,
                [HUMAN if seat is None else seat.text for seat in play.seats],
                play.seed if play.started_here else None,
            )

    # ---- inside

    def _strength(self, game: Game, seat: Seat) -> Strength | None:
        if seat.player == HUMAN:
            if seat.num_simulations is not None or seat.seconds is not None:
                raise Unsupported("a human does not search, so it takes no budget")
            if seat.difficulty is not None:
                raise Unsupported("a human does not search, so it takes no difficulty")
            return None
        text = self._games.pinned(game, seat.player)
        return Strength.of(text, seat.num_simulations, seat.seconds, seat.difficulty)

    def _take_turn(self, play: Play) -> None:
        player = play.position.to_move
        while play.position.to_move == player and not play.is_truncated:
            strength = play.seats[player]
            assert strength is not None
            seed = (play.seed + len(play.actions)) % (MAX_SEED + 1)
            action = self._searches.choose(play.position, strength, seed)
            with play.lock:
                play.play(action)

    def _add(self, play: Play) -> None:
        now_s = time.monotonic()
        with self._lock:
            old = [
                each.id
                for each in self._plays.values()
                if now_s - each.touched_s > MAX_IDLE_S and not each.is_busy
            ]
            for play_id in old:
                del self._plays[play_id]
            while len(self._plays) >= MAX_PLAYS:
                idle = next((each for each in self._plays.values() if not each.is_busy), None)
                if idle is None:
                    raise Refused(429, "busy", f"{MAX_PLAYS} games are in play; try again soon")
                del self._plays[idle.id]
            self._plays[play.id] = play

    def _find(self, play_id: str) -> Play:
        with self._lock:
            play = self._plays.get(play_id)
            if play is None:
                raise unknown("there is no such game; it may be over for long: start another")
            play.touched_s = time.monotonic()
            self._plays.move_to_end(play_id)
            return play


def play_moves(play: Play, moves: Sequence[str]) -> None:
    """Plays the turns of a request, rolls included."""
    for number, text in enumerate(moves, start=1):
        if play.is_over:
            raise IllegalAction(f"move {number}: the game is over")
        try:
            actions = actions_of_turn(play.position, text)
        except (IllegalAction, ValueError) as error:
            raise type(error)(f"move {number}: {error}") from None
        for action in actions:
            play._append(action)


def refuse_busy(play: Play) -> None:
    if play.is_busy:
        raise Refused(409, "busy", "the agent is thinking; wait for its move")


def refuse_over(play: Play) -> None:
    if play.is_over:
        raise IllegalAction("the game is over")


def answer_of(play: Play) -> PlayAnswer:
    """The game as its page may see it."""
    viewer = player_of(play.view)
    position = play.position
    return PlayAnswer(
        id=play.id,
        game=play.name,
        options=play.game.options,
        seats=[seat_answer(each) for each in play.seats],
        seats_asked=list(play.asked),
        view=play.view,
        ply=len(play.actions),
        to_move=mover_of(position),
        is_human_to_move=play.is_human_to_move,
        seen=seen(position, viewer),
        start=seen(play.positions[0], viewer),
        legal=legal_actions(position) if play.is_human_to_move else [],
        legal_turns=legal_turns(position) if play.is_human_to_move else None,
        turns=turns(play.positions, play.actions),
        can_take_back=play.last_human_turn() is not None and not play.is_busy,
        is_over=play.is_over,
        is_truncated=play.is_truncated,
        rewards=position.rewards() if position.to_move == OVER else None,
        outcome_text=(
            f"the game reached {play.game.max_plies:,} plies and counts as a draw"
            if play.is_truncated
            else end_text(position, play.names())
        ),
        position_text=position_text(position, viewer),
        is_busy=play.is_busy,
    )


def seat_answer(strength: Strength | None) -> SeatAnswer:
    if strength is None:
        return SeatAnswer(
            player=HUMAN, title="You", num_simulations=None, seconds=None, difficulty=None
        )
    return SeatAnswer(
        player=strength.text,
        title=player_title(strength.text),
        num_simulations=strength.num_simulations,
        seconds=strength.seconds,
        difficulty=strength.difficulty,
    )
