"""What workers and inference servers say to one another.

A request carries the leaves of one group of games: their observations as the core wrote them, and
which logits the search will read. An answer carries those logits in half precision, the outcome
distributions, and the version of the weights that computed both. A refusal carries a status and a
sentence. Each is a ZeroMQ message of one frame, since each frame costs as much as thousands of
bytes; all numbers are little-endian:

    request   header | observations uint8 [B, N] | masks uint8 [B, M]
    answer    header | outcomes float32 [B, O] | logits float16 [L]
    refusal   header | sentence, as UTF-8

L is the number of bits set in the masks: bit a % 8 of byte a // 8 asks for the logit of action a.
Rows of which only the value is wanted ask for none. Arrays are read in place; nothing is unpickled.

Shapes: B rows, N bytes of an observation, M bytes of a mask, A actions, O outcomes.
"""

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from zerofleet import games
from zerofleet.errors import BadBytes, ZerofleetError
from zerofleet.games import Game
from zerofleet.infer.evaluator import Observations, Rows

FORMAT = 2
REQUEST_MAGIC, ANSWER_MAGIC = b"ZFRQ", b"ZFAN"
REQUEST = struct.Struct("<4sI8s8sQI")
"""Magic, format, game, run, request id, rows."""
ANSWER = struct.Struct("<4sIIQQI")
"""Magic, format, status, request id, version, rows."""
MAX_SENTENCE = 500
LARGEST_HALF = float(np.finfo(np.float16).max)
SUM_TOLERANCE = 0.01
"""Of an outcome distribution."""

Masks = NDArray[np.uint8]
Frame = Any
"""Whatever has a buffer: bytes, a memoryview, or a zmq.Frame's."""


class Status(IntEnum):
    """Of an answer."""

    ANSWERED = 0
    MALFORMED = 1
    OTHER_FORMAT = 2
    OTHER_GAME = 3
    OTHER_RUN = 4
    WRONG_SIZE = 5
    TOO_MANY_ROWS = 6
    BUSY = 7
    BEHIND = 8
    DRAINING = 9
    NOT_FINITE = 10


class Refused(ZerofleetError):
    """A request that a server does not answer with evaluations."""

    def __init__(self, status: Status, request_id: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.request_id = request_id


@dataclass(frozen=True)
class WireGame:
    """What both ends must agree on, and the sizes that follow from it."""

    game: bytes
    """Fingerprint of the rules."""
    run: bytes
    """Hash of the run's id: versions of another run are other weights."""
    observation_bytes: int
    num_actions: int
    num_outcomes: int

    @classmethod
    def of(cls, game: Game, run_id: str) -> Self:
        return cls(
            bytes.fromhex(games.fingerprint(game)),
            hashlib.sha256(run_id.encode()).digest()[:8],
            game.observation_bytes,
            game.num_actions,
            len(game.outcomes),
        )

    @property
    def mask_bytes(self) -> int:
        return (self.num_actions + 7) // 8

    def request_bytes(self, num_rows: int) -> int:
        return REQUEST.size + num_rows * (self.observation_bytes + self.mask_bytes)


class Request(NamedTuple):
    """A request as a server reads it; the arrays are views into its message."""

    request_id: int
    observations_BN: Observations
    masks_BM: Masks


class Answer(NamedTuple):
    """An answer as a worker reads it. Logits that were not asked for are 0."""

    version: int
    policy_logits_BA: Rows
    outcomes_BO: Rows


# ---- requests


def encode_request(
    wire: WireGame, request_id: int, parts_BN: Sequence[Observations], masks_BM: Masks
) -> bytes:
    """For the rows of all parts, in order."""
    header = REQUEST.pack(REQUEST_MAGIC, FORMAT, wire.game, wire.run, request_id, len(masks_BM))
    return b"".join((header, *parts_BN, masks_BM))  # type: ignore[arg-type]


def decode_request(frames: Sequence[Frame], wire: WireGame, max_rows: int) -> Request:
    """Raises Refused with the reason for whatever is not a request to this server."""
    message = memoryview(frames[0] if len(frames) == 1 else b"")
    if message.nbytes < REQUEST.size or message[:4] != REQUEST_MAGIC:
        raise Refused(
            Status.MALFORMED,
            0,
            f"no request: it must be one frame that begins with {REQUEST.size} bytes of header",
        )
    _, written, game, run, request_id, num_rows = REQUEST.unpack_from(message)

    def refused(status: Status, sentence: str) -> Refused:
        return Refused(status, request_id, sentence)

    if written != FORMAT:
        raise refused(
            Status.OTHER_FORMAT, f"the request has format {written}; this server reads {FORMAT}"
        )
    if game != wire.game:
        raise refused(
            Status.OTHER_GAME,
            f"the request is of a game with fingerprint {game.hex()}; this server evaluates "
            f"{wire.game.hex()}",
        )
    if run != wire.run:
        raise refused(Status.OTHER_RUN, "the request is of another run of this game")
    if not 1 <= num_rows <= max_rows:
        raise refused(
            Status.TOO_MANY_ROWS,
            f"the request has {num_rows} rows; this server takes 1 to {max_rows}: lower "
            "selfplay.games_per_group, or start it with a larger --max-batch-rows",
        )
    if message.nbytes != wire.request_bytes(num_rows):
        raise refused(
            Status.WRONG_SIZE,
            f"a request of {num_rows} rows must have {wire.request_bytes(num_rows)} bytes, got "
            f"{message.nbytes}",
        )
    rows = np.frombuffer(message, np.uint8, offset=REQUEST.size)
    end = num_rows * wire.observation_bytes
    return Request(request_id, rows[:end].reshape(num_rows, -1), rows[end:].reshape(num_rows, -1))


def all_asked(num_rows: int, wire: WireGame) -> Masks:
    """Masks that ask for every logit."""
    asked_BA = np.ones((num_rows, wire.num_actions), np.uint8)
    return np.packbits(asked_BA, axis=1, bitorder="little")


def asked_for(masks_BM: Masks, num_actions: int) -> NDArray[np.bool_]:
    """[B, A]: which logits the masks ask for."""
    bits_BA = np.unpackbits(masks_BM, axis=1, count=num_actions, bitorder="little")
    return bits_BA.view(np.bool_)


# ---- answers


def encode_answer(request: Request, version: int, logits_BA: Rows, outcomes_BO: Rows) -> bytes:
    """Refused where an evaluation is not finite."""
    logits = logits_BA[asked_for(request.masks_BM, logits_BA.shape[1])]
    if not (np.isfinite(logits).all() and np.isfinite(outcomes_BO).all()):
        raise Refused(
            Status.NOT_FINITE,
            request.request_id,
            f"weights {version} evaluate these rows to numbers that are not finite",
        )
    halves = np.clip(logits, -LARGEST_HALF, LARGEST_HALF).astype("<f2")
    num_rows = len(outcomes_BO)
    header = ANSWER.pack(
        ANSWER_MAGIC, FORMAT, Status.ANSWERED, request.request_id, version, num_rows
    )
    return b"".join((header, outcomes_BO.astype("<f4", copy=False).tobytes(), halves.data))


def encode_refusal(refused: Refused) -> bytes:
    header = ANSWER.pack(ANSWER_MAGIC, FORMAT, refused.status, refused.request_id, 0, 0)
    return header + str(refused).encode()[:MAX_SENTENCE]


def answered_id(frames: Sequence[Frame]) -> int:
    """The request that an answer or refusal is for. BadBytes where it is neither."""
    message = memoryview(frames[0] if len(frames) == 1 else b"")
    if message.nbytes < ANSWER.size or message[:4] != ANSWER_MAGIC:
        raise BadBytes(
            f"no answer: it must be one frame that begins with {ANSWER.size} bytes of header"
        )
    request_id: int = ANSWER.unpack_from(message)[3]
    return request_id


def decode_answer(frames: Sequence[Frame], masks_BM: Masks, wire: WireGame) -> Answer:
    """The answer to a request with these masks, of a message that has an `answered_id`.

    Raises Refused where the server refuses, and BadBytes for an answer that must not reach a
    search: of another size, or with numbers that are no evaluation.
    """
    (frame,) = frames
    message = memoryview(frame)
    _, written, status, request_id, version, num_rows = ANSWER.unpack_from(message)
    if written != FORMAT:
        raise BadBytes(f"its answer has format {written}; this worker reads {FORMAT}")
    if status != Status.ANSWERED:
        if status not in Status.__members__.values():
            raise BadBytes(f"its answer has the unknown status {status}")
        sentence = bytes(message[ANSWER.size :])[:MAX_SENTENCE].decode(errors="replace")
        raise Refused(Status(status), request_id, sentence)
    asked_BA = asked_for(masks_BM, wire.num_actions)
    outcome_bytes = 4 * len(masks_BM) * wire.num_outcomes
    wanted = ANSWER.size + outcome_bytes + 2 * int(np.count_nonzero(asked_BA))
    if num_rows != len(masks_BM) or message.nbytes != wanted:
        raise BadBytes(
            f"its answer has {num_rows} rows in {message.nbytes} bytes; {len(masks_BM)} rows in "
            f"{wanted} were asked for"
        )
    numbers = message[ANSWER.size :]
    outcomes_BO = np.frombuffer(numbers[:outcome_bytes], "<f4").reshape(num_rows, -1)
    logits = np.frombuffer(numbers[outcome_bytes:], "<f2")
    if not (np.isfinite(logits).all() and np.isfinite(outcomes_BO).all()):
        raise BadBytes(f"its answer with weights {version} has numbers that are not finite")
    if outcomes_BO.min() < 0 or (abs(outcomes_BO.sum(axis=1) - 1) > SUM_TOLERANCE).any():
        raise BadBytes(f"its answer with weights {version} has outcomes that are no distribution")
    logits_BA = np.zeros(asked_BA.shape, np.float32)
    logits_BA[asked_BA] = logits
    return Answer(version, logits_BA, outcomes_BO.astype(np.float32))
