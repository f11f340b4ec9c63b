"""What the API answers about runs, their games, ratings and fleets.

The pages are compiled against these models: scripts/write-api-types writes web/openapi.json and
web/src/api.ts from them. Requests and answers about positions and play are in
zerofleet.web.play_schema.

Values say whose view they have: `value_first_player` is the expected reward of player 0,
`value_to_move` that of the player to move. Ids of workers are 64 bits, so they are texts here.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Mover = Literal[0, 1, "chance", "over"]
"""Who is to move: a player, the dice, or nobody any more."""

Options = dict[str, str]
"""All options of a game, by name."""

Share = Annotated[float, Field(ge=0, le=1)]


class Answer(BaseModel):
    """Every field is always there, so the pages need no defaults."""

    model_config = ConfigDict(
        json_schema_serialization_defaults_required=True, use_attribute_docstrings=True
    )


class Error(Answer):
    """Of every refused request."""

    code: str
    """Kind of fault, such as illegal_action or unsupported."""
    message: str
    """One sentence, as the command line would print it."""


# ---- runs


class RunLine(Answer):
    """A run in the list of runs."""

    name: str
    game: str
    """As the run names it; the source of a custom game."""
    options: Options
    num_steps: int
    num_games: int
    age_s: float
    """Since the run was created."""
    size_bytes: int
    """Of its folder."""
    fault: str
    """What is wrong with its folder; empty if nothing is."""
    is_training: bool
    """Whether a process trains it now, on this machine."""


class Stage(Answer):
    """One stage of the pipeline: self-play, inference, intake, training or rating."""

    name: str
    rate: float | None
    """Items per second over the last status interval; None until two records were written."""
    unit: str
    """What the rate counts, such as games/s."""
    waits_for: str | None
    """The stage that holds this one up; None where it does not wait."""
    waiting_share: Share | None
    """The share of its time that it waits; None where that is not measured."""
    note: str
    """Why it stands still, in a sentence; empty if it does not."""


class Totals(Answer):
    """Counted over the whole run."""

    games: int
    rows: int
    """Training rows; two per position where hands are hidden."""
    samples: int
    steps: int
    trained_s: float
    """Training time over all sessions."""
    truncated: int
    """Games that reached max_plies, in this session."""


class Machine(Answer):
    """Use of the machine that the dashboard runs on, and of the GPUs that the run reports."""

    num_cpus: int
    cpu_share: Share | None
    """Mean over all cores since the last look."""
    memory_bytes: int | None
    memory_total_bytes: int | None
    gpu_share: Share | None
    gpu_watts: float | None
    gpu_memory_bytes: int | None
    gpu_memory_total_bytes: int | None


class Difference(Answer):
    """A setting that differs from the preset's."""

    name: str
    """In full, such as search.num_simulations."""
    value: Any
    preset_value: Any


class RunDetail(Answer):
    """All about one run but its curves and games."""

    name: str
    game: str
    options: Options
    outcomes: list["Outcome"]
    """How a game can end for a player."""
    is_hidden: bool
    """Whether a player does not see everything."""
    created: float
    """Unix time."""
    preset: str
    """The preset whose settings are nearest; empty where none is known."""
    config: dict[str, dict[str, Any]]
    """All settings, by section and name. Settings hold no secrets."""
    differs_from_preset: list[Difference]
    stages: list[Stage]
    totals: Totals
    version: int | None
    """Training step of the newest published weights."""
    num_versions: int
    machine: Machine
    is_training: bool
    last_record_s: float | None
    """Age of the newest metrics record."""
    fault: str
    """What is wrong with its game or folder; empty if nothing is."""


class Outcome(Answer):
    """One way in which a game can end for a player."""

    name: str
    reward: float


class Metrics(Answer):
    """A table of metrics, thinned to at most `max_points` rows.

    Columns have equal lengths; a value that a record lacks is null. There are always `time` (Unix
    time), `trained_s` (training time over all sessions), `step` and `games` (of the run so far).
    """

    kind: Literal["train", "status"]
    columns: dict[str, list[float | None]]
    num_records: int
    """Before thinning."""


class RatingPoint(Answer):
    """The rating of one step against one opponent."""

    step: int
    version: int
    """The same as the step: a version of weights is named by it."""
    opponent: str
    score: float
    """Of the run, from 0 to 1."""
    score_low: float
    score_high: float
    elo: float | None
    """Of the step, fitted over all ratings of the run; `random` is 0. None where nothing connects
    the step with the anchor."""
    elo_low: float | None
    elo_high: float | None
    num_games: int
    """Of this match."""
    trained_s: float
    run_games: int


class RunEvent(Answer):
    """Something that happened to a run."""

    time: float
    """Unix time."""
    step: int | None
    kind: Literal["start", "checkpoint", "weights", "rating", "refused", "fault", "created"]
    text: str


# ---- episodes


class EpisodeLine(Answer):
    """A game in the list of a run's games."""

    id: str
    """Worker and sequence number."""
    number: int
    """Number of games before it in the run."""
    worker: str
    sequence: int
    version: int
    """Training step of the newest weights that played in it."""
    num_plies: int
    result_first_player: str
    """The outcome for player 0 by name, or `truncated`."""
    reward_first_player: float | None
    """None where it was truncated."""
    surprise: float
    """The largest of its decisions: divergence of the search's policy from the network's."""
    favourite_lost: Share
    """How sure the later loser once was to win: the largest probability of winning that a search
    gave to the player who did not win; 0 in a draw."""


class EpisodeList(Answer):
    """A page of the list."""

    total: int
    """Games that match the filter."""
    num_indexed: int
    """Games that were read so far; fewer than the run has while the index is being built."""
    num_played: int
    """Games of the run up to the newest one read; once old ones are deleted, more than on disk."""
    is_complete: bool
    """Whether all games on disk are in the index."""
    versions: list[int]
    """Versions to filter by, newest first."""
    workers: list[str]
    """Workers to filter by."""
    episodes: list[EpisodeLine]


class PolicyEntry(Answer):
    """An action and its probability in the policy that the search found."""

    action: int
    text: str
    probability: float


class Step(Answer):
    """What an action does, step by step (Beasty Bar). Cards are species and owner: lion0."""

    step: Literal["entry", "recurring", "bar"]
    """A card enters and acts, an animal acts again, or the bar opens."""
    animal: str | None
    acts_as: str | None
    """The species that a chameleon copies."""
    queue: list[str]
    """After the step, front first."""
    bar: list[str]
    """Cards that enter the bar in this step."""
    thats_it: list[str]
    """Cards that leave the game in this step."""


class Ply(Answer):
    """An action or a chance outcome, with the search that chose it.

    In the view of one player of a game with hidden information, the other player's policy, value
    and surprise are left out: they tell what it holds.
    """

    player: Literal[0, 1, "chance"]
    action: int
    text: str
    version: int
    """Training step of the weights."""
    search: Literal["none", "fast", "full", "chance"]
    num_simulations: int
    policy: list[PolicyEntry]
    """Most probable first; empty without a full search."""
    value_first_player: float | None
    """Expected reward of player 0 at the root; None without a search."""
    outcomes_to_move: dict[str, float]
    """Probability of each outcome for the player to move; empty without a search."""
    surprise: float | None
    """None without a full search."""
    steps: list[Step]


# ---- the ladder


class LadderPlayer(Answer):
    name: str
    elo: float
    low: float
    high: float
    num_games: int
    score: float
    """Mean over all its games."""


class LadderPair(Answer):
    """All games between two players. The score is that of `first`."""

    first: str
    second: str
    score: float
    low: float
    high: float
    num_games: int


class Ladder(Answer):
    """Ratings fitted to all rating matches of the chosen runs; `anchor` has 0 Elo."""

    game: str
    options: Options
    anchor: str
    """Empty without ratings."""
    players: list[LadderPlayer]
    """Strongest first."""
    pairs: list[LadderPair]
    unconnected: list[str]
    """Players that no chain of matches connects with the anchor."""


# ---- the fleet


class FleetRole(Answer):
    id: str
    kind: str
    """worker, trainer, rater or inference."""
    host: str
    device: str
    program: str
    """Version of zerofleet."""
    doing: str
    up_s: float
    heartbeat_s: float
    """Age of its last heartbeat."""
    version: int | None
    """Of the weights that it uses."""
    per_s: float | None
    """What it does per second, in `unit`."""
    unit: str
    games: float
    games_per_s: float | None
    spool_bytes: float | None
    """Games on its disk that the trainer has not confirmed."""
    trouble: str
    """gone, silent or stands still; empty where there is none."""
    is_gone: bool


class FleetTotal(Answer):
    name: str
    total: float
    per_s: float | None
    per_hour: float | None


class FleetQueue(Answer):
    """Games that were sent and are not in the trainer's log."""

    num_episodes: int
    num_bytes: int
    max_bytes: float | None
    oldest_s: float
    per_s: float | None
    """Its growth, in games."""
    grows: bool
    """Whether games come in faster than the trainer takes them."""


class FleetVersion(Answer):
    version: int
    num_roles: int


class FleetAnswer(Answer):
    """The fleet of a run, as a viewer sees it."""

    run: str
    is_reachable: bool
    reason: str
    """Why there is nothing to show; empty where there is something."""
    roles: list[FleetRole]
    totals: list[FleetTotal]
    queue: FleetQueue | None
    versions: list[FleetVersion]
    """In use, newest first."""
    newest_version: int | None
    weights_age_s: float | None
    held: str
    """Why all workers are paused; empty where they are not."""
    allows_play: bool | None
    """Whether the replay limiter allows new moves; None while no trainer says so."""
    has_ended: bool
    memory_bytes: int | None
    """Of Redis."""
    max_memory_bytes: int | None
    trends: dict[str, list[float]]
    """The last minutes, oldest first: games/s, samples/s, queue."""


# ---- live updates


class Hello(Answer):
    """First on every connection. After a reconnect, another `server` means a restarted server."""

    server: str
    program: str
    """Version of zerofleet."""
    time: float
    run: str


class RunUpdate(Answer):
    """What changes while a run trains."""

    stages: list[Stage]
    totals: Totals
    version: int | None
    machine: Machine
    is_training: bool
    last_record_s: float | None


class NewRecords(Answer):
    """Records that follow those up to a step; a page drops what it has after that step."""

    after_step: int
    table: Metrics


class LiveStatus(RunUpdate):
    """Sent when a run wrote new records, with the records, so that no page has to ask for them."""

    new_records: list[NewRecords]
    """At most one table of each kind."""


class LiveMessage(Answer):
    """One message of the WebSocket /api/v1/live?run=NAME; `type` says what `data` is.

    hello: Hello. status: LiveStatus. rating: RatingPoint. event: RunEvent. fleet: FleetAnswer,
    where the run has a fleet. With many pages, messages come less often.
    """

    type: Literal["hello", "status", "rating", "event", "fleet"]
    data: dict[str, Any]
