"""What the API takes and answers about games, positions, analysis and play."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from zerofleet.arena.players import Difficulty
from zerofleet.config import MAX_SEED
from zerofleet.web.schema import Answer, Mover, Options, Outcome, Ply, Step

MAX_SIMULATIONS = 20_000
"""Of one search."""
MAX_SECONDS = 20.0
MAX_TEXT = 4096
"""Characters of a position."""
MAX_MOVES = 5000


class Request(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


NumSimulations = Annotated[int, Field(ge=0, le=MAX_SIMULATIONS, strict=True)]
NumSeconds = Annotated[float, Field(gt=0, le=MAX_SECONDS, allow_inf_nan=False)]
Name = Annotated[str, Field(max_length=200)]
OptionValues = Annotated[
    dict[Name, Annotated[str, Field(max_length=64)] | int], Field(max_length=16)
]


# ---- games and players


class GameOption(Answer):
    name: str
    default: str
    allowed: list[str]
    allowed_text: str
    """For people: 3…19."""


class Species(Answer):
    """An animal of Beasty Bar."""

    name: str
    strength: int
    points: int
    ability: str


class GameLine(Answer):
    """A game that can be played here: a built-in one, or a custom game of the command line."""

    name: str
    options: list[GameOption]
    is_hidden: bool
    has_chance: bool
    outcomes: list[Outcome]
    rules: list[str]
    """Paragraphs; a block of lines that belong together is one paragraph."""
    species: list[Species]
    """Of Beasty Bar, strongest first; else empty."""


class PlayerLine(Answer):
    """A player to choose as an opponent or for analysis."""

    text: str
    """Names it in a request: best, run:NAME, run:NAME@STEP, playout, heuristic, random."""
    title: str
    """For people."""
    kind: Literal["weights", "run", "baseline"]
    searches: bool
    """Whether it takes num_simulations or seconds."""
    default_simulations: int | None
    steps: list[int]
    """Of a run: the steps whose weights are kept, for run:NAME@STEP, newest first."""


# ---- positions as a player sees them


class SeenBase(Answer):
    to_move: Mover
    roller: Literal[0, 1] | None
    """Who is about to roll, where chance is to move."""


class GridSeen(SeenBase):
    """Gomoku, tic-tac-toe and Connect Four.

    An action is a cell, row · width + column from the top left; in Connect Four a column.
    """

    kind: Literal["grid"]
    board: list[str]
    """Rows from the top: `.` empty, X player 0, O player 1."""


class BackgammonSeen(SeenBase):
    """Points are numbered from the side of player 0; action texts from the side of the mover."""

    kind: Literal["backgammon"]
    points: list[int]
    """24: entry i is point i + 1 of player 0. Positive: checkers of player 0, negative: of
    player 1."""
    bar: list[int]
    """By player."""
    off: list[int]
    """Borne off, by player."""
    dice: list[int]
    """That are still to play."""
    from_point: int | None
    """In the middle of a turn: where the last checker came from, in the mover's numbering."""


class BeastyBarSeen(SeenBase):
    """Cards are species and owner: lion0 is the lion of player 0."""

    kind: Literal["beastybar"]
    queue: list[str]
    """Front first."""
    bar: list[str]
    thats_it: list[str]
    hands: list[list[str] | int]
    """By player: the cards, or only their number where they are hidden."""
    piles: list[list[str] | int]
    """By player: the cards in the order in which they are drawn, or only their number."""
    points: list[int]
    """By player."""


class TextSeen(SeenBase):
    """A custom game."""

    kind: Literal["text"]
    picture: str
    """As its class draws it."""
    values: dict[str, Any]
    """What its `describe` gives."""


Seen = Annotated[GridSeen | BackgammonSeen | BeastyBarSeen | TextSeen, Field(discriminator="kind")]


class EpisodeDetail(Answer):
    """A whole game. `positions` has one entry more than `plies`: entry i is before ply i."""

    id: str
    number: int
    run: str
    game: str
    options: Options
    view: Literal["all", "0", "1"]
    players: list[str]
    """By seat, for people; empty in self-play."""
    policy_is: Literal["visits", "improved"] | None
    """What the search recorded of each action: its share of the visits (PUCT, without forced
    ones), or the improved policy (Gumbel). None where no search is recorded."""
    outcomes: list[Outcome]
    result_first_player: str
    reward_first_player: float | None
    plies: list[Ply]
    positions: list[Seen]
    position_texts: list[str | None]
    """For `position` of a new play; null where the text would reveal what the view hides."""


# ---- analysis


class AnalysisRequest(Request):
    """A search. Without a budget the player's default counts; give at most one."""

    num_simulations: Annotated[int, Field(ge=1, le=MAX_SIMULATIONS, strict=True)] | None = None
    seconds: NumSeconds | None = None
    player: Name | None = None
    """Who searches; default: the agent of the game, else `best` or `playout`."""


class EpisodeAnalysisRequest(AnalysisRequest):
    ply: int = Field(ge=0, le=100_000)
    """The position before this ply of the episode."""


class PositionAnalysisRequest(AnalysisRequest):
    game: Name
    options: OptionValues = {}
    position: Annotated[str, Field(max_length=MAX_TEXT)]


class AnalysedAction(Answer):
    action: int
    text: str
    meaning: str
    """What its numbers mean (Beasty Bar): over lion and seal; else empty."""
    visits: int
    value_to_move: float | None
    """Expected reward; None where it was not visited."""
    prior: float
    """Probability in the network's policy."""
    policy: float
    """Probability in the search's policy."""


class AnalysisAnswer(Answer):
    """A search of one position, in the view of the player to move (before a roll: of the
    roller)."""

    player: str
    """Who searched."""
    player_title: str
    """For people."""
    to_move: Mover
    actions: list[AnalysedAction]
    """Best first."""
    outcomes_to_move: dict[str, float]
    principal_variation: list[str]
    """Action texts; with hidden information only the first is the mover's own."""
    value_to_move: float
    num_simulations: int
    depth: int
    is_solved: bool
    proof: str | None
    """What is proven for the player to move: `wins in 7 plies`, `draws`, or `exact value` where the
    dice decide; None where the value is open."""
    plies_to_end: int | None


# ---- play


class Seat(Request):
    """Who plays: `human`, or a player's text with its strength."""

    player: Name
    num_simulations: NumSimulations | None = None
    """0: the network's policy without search. Default: the player's own."""
    seconds: NumSeconds | None = None
    """Instead of num_simulations."""
    difficulty: Difficulty | None = None
    """Of a player that searches: medium asks the game's solver, hard also has a larger budget.
    Default: easy."""


class PlayRequest(Request):
    """A new game. `position` and `moves` start it in the middle."""

    game: Name
    options: OptionValues = {}
    seats: Annotated[list[Seat], Field(min_length=2, max_length=2)]
    position: Annotated[str, Field(max_length=MAX_TEXT)] | None = None
    """In a notation that POST /positions reads."""
    moves: Annotated[list[Name], Field(max_length=MAX_MOVES)] = []
    """Turns and rolls played from there, as people write them."""
    seed: Annotated[int, Field(ge=0, le=MAX_SEED, strict=True)] | None = None
    """Of deal, dice and searches; default: random."""


class ActionRequest(Request):
    action: Annotated[int, Field(ge=0, le=2**31, strict=True)]
    ply: Annotated[int, Field(ge=0, strict=True)] | None = None
    """The number of plies that the page has seen. If the game is elsewhere, the answer is 409, so
    that a repeated request plays nothing twice."""


class SeatAnswer(Answer):
    player: str
    """human, or the player's text."""
    title: str
    num_simulations: int | None
    seconds: float | None
    difficulty: Difficulty | None
    """None where it was not asked for: easy."""


class LegalAction(Answer):
    action: int
    text: str
    meaning: str
    """What its numbers mean (Beasty Bar): over lion and seal; else empty."""


class LegalTurn(Answer):
    """A whole turn of several actions, in the core's order."""

    actions: list[int]
    text: str
    """8/5 6/5"""


class Turn(Answer):
    """All actions of one player in a row, or one roll."""

    player: Literal[0, 1, "chance"]
    text: str
    """8/5 6/5"""
    actions: list[int]
    texts: list[str]
    """One per action."""
    steps: list[Step]
    ply: int
    """Number of plies before it."""


class PlayAnswer(Answer):
    """A game in play, as the person sees it.

    `view` is the player whose eyes it is seen with: the human's seat; `all` where both are human or
    both are agents. Rolls are made by the server as soon as chance is to move.
    """

    id: str
    game: str
    options: Options
    seats: list[SeatAnswer]
    seats_asked: list[Seat]
    """As the request named them, for another game with the same players."""
    view: Literal["all", "0", "1"]
    ply: int
    """Plies played since the start of this play."""
    to_move: Mover
    is_human_to_move: bool
    seen: Seen
    start: Seen
    """Before the first turn."""
    legal: list[LegalAction]
    """Empty unless a human is to move."""
    legal_turns: list[LegalTurn] | None
    """In games whose turns have several actions (backgammon): each result of a turn once, so that
    a page can let checkers be moved in any order. Else null, and unless a human is to move."""
    turns: list[Turn]
    can_take_back: bool
    is_over: bool
    is_truncated: bool
    rewards: list[float] | None
    """By player, once the game is over."""
    outcome_text: str
    """How it ended, in a sentence; empty while it is played."""
    position_text: str | None
    """Links to this position; null where it would reveal what is hidden."""
    is_busy: bool
    """Whether an agent is thinking now."""


class SavedGame(Answer):
    """A game that was played here and saved: GET /played/{id}."""

    id: str
    game: str
    options: Options
    players: list[str]
    """By seat."""
    num_plies: int
    result_first_player: str
    time: float
    """Unix time."""


class PositionRequest(Request):
    """A position in any notation that the game reads: our own texts, GnuBG position IDs (with the
    match ID or without), Gomoku move lists, Connect Four columns."""

    game: Name
    options: OptionValues = {}
    text: Annotated[str, Field(max_length=MAX_TEXT)]


class PositionAnswer(Answer):
    game: str
    options: Options
    position_text: str
    """The same position in our notation, for `position` of a new play."""
    notation: str
    """What it was read as."""
    seen: Seen
    legal: list[LegalAction]
    is_over: bool
