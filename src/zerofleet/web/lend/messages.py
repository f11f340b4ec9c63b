"""What a lent tab and the gateway say to one another: MessagePack maps, one per WebSocket frame.

Each map has a key `type`. The first message of a tab is WORKER_READY; the token travels in it and
never in an address. Every field is typed and bounded; a message with an unknown field, a wrong
type or too many bytes is refused with a code and a sentence.
"""

from typing import Annotated, Any, Literal

import msgspec

PROTOCOL = 2
SOCKET_PATH = "/lend/v1/socket"
WEIGHTS_PATH = "/lend/v1/weights"

MAX_MESSAGE_BYTES = 4 << 20
"""Of a frame of a tab; a frame is one message."""
MAX_EPISODE_BYTES = 1 << 18
MAX_EPISODES = 64
"""In one message."""

Whole = Annotated[int, msgspec.Meta(ge=0)]
"""MessagePack has no whole number from 2**64 on."""
Small = Annotated[int, msgspec.Meta(ge=0, lt=2**53)]
"""A whole number that a JavaScript number holds."""
Figure = Annotated[float, msgspec.Meta(ge=0, le=1e15)]
Name = Annotated[str, msgspec.Meta(max_length=200)]
Text = Annotated[str, msgspec.Meta(max_length=2000)]
EpisodeId = tuple[Whole, Whole]
"""Worker and sequence number."""
EpisodeBytes = Annotated[bytes, msgspec.Meta(max_length=MAX_EPISODE_BYTES)]


class Message(msgspec.Struct, forbid_unknown_fields=True, frozen=True, tag_field="type"):
    """Of either side."""


# ---- from a tab


class Features(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What the browser offers."""

    simd: bool
    threads: bool
    webgpu: bool


class Stats(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What the games of a message cost, as the tab says."""

    simulations: Small = 0
    inferences: Small = 0
    wall_s: Figure = 0
    inference_s: Figure = 0


class WorkerReady(Message, tag="WORKER_READY", frozen=True):
    """The first message."""

    protocol: int
    token: Annotated[str, msgspec.Meta(min_length=16, max_length=100)]
    id: Annotated[bytes, msgspec.Meta(min_length=16, max_length=16)]
    """Of the device: drawn once and kept by the browser."""
    backend: Literal["wasm", "webgpu"]
    signatures: Annotated[dict[Name, Name], msgspec.Meta(max_length=64)]
    """Of each game, computed in the tab."""
    features: Features
    num_simulations: Small = 0
    """Per search, within what GET /api/v1/lend allows; 0: the most."""
    games_at_once: Small = 0
    """The size of an assignment, within the same; 0: the most."""


class GamesComplete(Message, tag="GAMES_COMPLETE", frozen=True):
    """Finished games of one assignment; not necessarily all of them."""

    assignment: Small
    episodes: Annotated[list[EpisodeBytes], msgspec.Meta(min_length=1, max_length=MAX_EPISODES)]
    stats: Stats = Stats()


class EvalResult(Message, tag="EVAL_RESULT", frozen=True):
    """All games of a PLAY_MATCH, two of each of its pairs in their order: first with `weights` in
    seat 0, then in seat 1. A game is its actions and chance outcomes, the opening included."""

    match: Name
    games: Annotated[list[list[Small]], msgspec.Meta(max_length=MAX_EPISODES)]


class Heartbeat(Message, tag="HEARTBEAT", frozen=True):
    """The tab is alive; `playing` is what it plays."""

    playing: Small | None = None


FromTab = WorkerReady | GamesComplete | EvalResult | Heartbeat


# ---- from the gateway


class CheckRows(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Fixed rows and the recorded answers of the weights: K observations of N bytes, float32
    logits [K, A] and outcomes [K, O], little-endian."""

    num_rows: int
    observations: bytes
    policy_logits: bytes
    outcomes: bytes


class WeightsUpdate(Message, tag="WEIGHTS_UPDATE", frozen=True):
    """Weights for coming assignments; a tab loads them between games."""

    version: Whole
    url: Name
    sha256: Name
    size_bytes: Small
    check: CheckRows


class PlayGames(Message, tag="PLAY_GAMES", frozen=True):
    """An assignment: games first_sequence…first_sequence+count-1 of this seed, with these weights.

    They count if they come before the deadline.
    """

    assignment: Small
    game: Name
    options: dict[str, int | str]
    settings: dict[str, Any]
    """Of the core's self-play, as `Game.selfPlay` takes them; trees are not reused."""
    version: Whole
    worker: Whole
    first_sequence: Whole
    count: Small
    seed: Whole
    deadline_s: float


class MatchPlayer(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Who plays one side of a match."""

    kind: Literal["network", "playout", "random"]
    """network: a search with these weights. playout: one with the core's random playouts."""
    version: Whole | None = None
    """Of a network; an earlier WEIGHTS_UPDATE says where it is."""
    settings: dict[str, Any] = {}
    """Of the search, as `Position.search` takes them."""


class MatchPair(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Two games from one start, seats swapped."""

    pair: Small
    opening: list[Small]


class PlayMatch(Message, tag="PLAY_MATCH", frozen=True):
    """Rating games. They count if they come before the deadline.

    What is drawn depends on the seed, the pair and the ply alone; see zerofleet.arena.draws.
    """

    match: Name
    """Names this message in EVAL_RESULT."""
    game: Name
    options: dict[str, int | str]
    weights: MatchPlayer
    """The player named first."""
    opponent: MatchPlayer
    pairs: list[MatchPair]
    seed: Whole
    """Of the match. The id of a game is (seed, 2 * pair + seat of `weights`)."""
    deadline_s: float


class GamesAccepted(Message, tag="GAMES_ACCEPTED", frozen=True):
    """These games are on the gateway's disk (fsync); the tab forgets them."""

    ids: list[EpisodeId]


class GamesRefused(Message, tag="GAMES_REFUSED", frozen=True):
    """These games do not count, ever; the tab forgets them. `code` is for programs."""

    ids: list[EpisodeId]
    """Empty where they cannot even be read: then all of the message are meant."""
    code: Name
    reason: Text


class Pause(Message, tag="PAUSE", frozen=True):
    """No new games until the next PLAY_GAMES; finished ones may be sent."""

    reason: Text


class Drain(Message, tag="DRAIN", frozen=True):
    """The gateway ends soon: send what is finished, connect again later."""

    reason: Text


class Refused(Message, tag="REFUSED", frozen=True):
    """Why the gateway closes the socket."""

    code: Name
    message: Text


FromGateway = (
    WeightsUpdate | PlayGames | PlayMatch | GamesAccepted | GamesRefused | Pause | Drain | Refused
)

_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[FromTab] = msgspec.msgpack.Decoder(FromTab)
_answers: msgspec.msgpack.Decoder[FromGateway] = msgspec.msgpack.Decoder(FromGateway)


class BadMessage(Exception):
    """Bytes that are no message; the text says what is wrong."""


def encode(message: Message) -> bytes:
    return _encoder.encode(message)


def decode(data: bytes) -> FromTab:
    """A message of a tab. BadMessage names the fault; nothing is allocated beyond the bytes."""
    if len(data) > MAX_MESSAGE_BYTES:
        raise BadMessage(f"{len(data):,} bytes; a message has at most {MAX_MESSAGE_BYTES:,}")
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise BadMessage(str(error)) from None


def decode_answer(data: bytes) -> FromGateway:
    """A message of the gateway, for programs that lend."""
    return _answers.decode(data)
