"""What travels between workers and inference servers, byte by byte."""

import struct

import numpy as np
import pytest

import zerofleet as zf
from zerofleet.errors import BadBytes
from zerofleet.infer.wire import (
    ANSWER,
    REQUEST,
    Refused,
    Request,
    Status,
    WireGame,
    all_asked,
    answered_id,
    asked_for,
    decode_answer,
    decode_request,
    encode_answer,
    encode_refusal,
    encode_request,
)

GAME = zf.games.get("connect4")
WIRE = WireGame.of(GAME, "run-1")
MASKS_BM = np.array([[0b0000101], [0], [0b1000000]], np.uint8)  # actions 0 and 2, none, action 6
OBSERVATIONS_BN = np.arange(3 * GAME.observation_bytes, dtype=np.uint8).reshape(3, -1)
LOGITS_BA = np.arange(21, dtype=np.float32).reshape(3, 7)
OUTCOMES_BO = np.array([[0.5, 0.25, 0.25], [1, 0, 0], [0, 0, 1]], np.float32)


def request_frames(**changes):
    header = encode_request(WIRE, 5, 3)
    frames = {"header": header, "observations": OBSERVATIONS_BN.tobytes(), "masks": bytes(MASKS_BM)}
    return list((frames | changes).values())


def answer_frames(logits_BA=LOGITS_BA, outcomes_BO=OUTCOMES_BO, version=41):
    frames = encode_answer(Request(5, OBSERVATIONS_BN, MASKS_BM), version, logits_BA, outcomes_BO)
    return [bytes(frame) for frame in frames]


def test_a_request_is_read_as_it_was_written():
    request = decode_request(request_frames(), WIRE, max_rows=3)
    assert request.request_id == 5
    assert np.array_equal(request.observations_BN, OBSERVATIONS_BN)
    assert np.array_equal(request.masks_BM, MASKS_BM)


def test_its_header_is_little_endian_with_magic_format_game_run_id_and_rows():
    fingerprint = bytes.fromhex(zf.games.fingerprint(GAME))
    expected = b"ZFRQ" + struct.pack("<I", 1) + fingerprint + WIRE.run + struct.pack("<QI", 5, 3)
    assert encode_request(WIRE, 5, 3) == expected


def test_a_request_is_read_in_place():
    frames = [memoryview(frame) for frame in request_frames()]
    request = decode_request(frames, WIRE, max_rows=3)
    assert np.shares_memory(request.observations_BN, np.frombuffer(frames[1], np.uint8))


@pytest.mark.parametrize(
    ("frames", "status"),
    [
        ([], Status.MALFORMED),
        ([b"rubbish"], Status.MALFORMED),
        ([b"\0" * REQUEST.size, b"", b""], Status.MALFORMED),
        (request_frames()[:2], Status.MALFORMED),
        ([*request_frames(), b"more"], Status.MALFORMED),
        (request_frames(header=b"ZFRQ\2" + encode_request(WIRE, 5, 3)[5:]), Status.OTHER_FORMAT),
        (
            request_frames(
                header=encode_request(WireGame.of(zf.games.get("gomoku"), "run-1"), 5, 3)
            ),
            Status.OTHER_GAME,
        ),
        (
            request_frames(header=encode_request(WireGame.of(GAME, "run-2"), 5, 3)),
            Status.OTHER_RUN,
        ),
        (request_frames(header=encode_request(WIRE, 5, 0)), Status.TOO_MANY_ROWS),
        (request_frames(header=encode_request(WIRE, 5, 5)), Status.TOO_MANY_ROWS),
        (request_frames(header=encode_request(WIRE, 5, 2**32 - 1)), Status.TOO_MANY_ROWS),
        (request_frames(header=encode_request(WIRE, 5, 2)), Status.WRONG_SIZE),
        (request_frames(observations=b""), Status.WRONG_SIZE),
        (request_frames(masks=b"1234"), Status.WRONG_SIZE),
    ],
)
def test_what_is_no_request_to_this_server_is_refused_with_a_status_and_a_sentence(frames, status):
    with pytest.raises(Refused, match=r"^[a-z][^\n]{10,400}$") as refused:
        decode_request(frames, WIRE, max_rows=4)
    assert refused.value.status == status
    header, sentence = encode_refusal(refused.value)
    assert answered_id([header]) == refused.value.request_id
    with pytest.raises(Refused, match=r"^[a-z]") as read:
        decode_answer([header, sentence], MASKS_BM, WIRE)
    assert (read.value.status, str(read.value)) == (status, str(refused.value))


def test_an_answer_has_the_version_the_outcomes_and_the_logits_that_were_asked_for():
    frames = answer_frames()
    assert len(frames[1]) == 3 * 2  # of 21 logits three were asked for, two bytes each
    assert answered_id(frames) == 5
    answer = decode_answer(frames, MASKS_BM, WIRE)
    assert answer.version == 41
    assert np.array_equal(answer.outcomes_BO, OUTCOMES_BO)
    asked_BA = asked_for(MASKS_BM, 7)
    assert np.argwhere(asked_BA).tolist() == [[0, 0], [0, 2], [2, 6]]
    assert np.array_equal(answer.policy_logits_BA, np.where(asked_BA, LOGITS_BA, 0))


def test_all_logits_can_be_asked_for():
    assert asked_for(all_asked(2, WIRE), GAME.num_actions).all()


def test_a_logit_beyond_half_precision_is_the_largest_half():
    answer = decode_answer(answer_frames(LOGITS_BA * 1e6), MASKS_BM, WIRE)
    assert answer.policy_logits_BA.max() == 65504


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_server_refuses_to_send_what_is_not_finite(bad):
    for logits_BA, outcomes_BO in (
        (LOGITS_BA + bad, OUTCOMES_BO),
        (LOGITS_BA, OUTCOMES_BO + bad),
    ):
        with pytest.raises(Refused, match="weights 41 evaluate these rows to numbers that are not"):
            answer_frames(logits_BA, outcomes_BO)


def halves(*values):
    return np.array(values, "<f2").tobytes()


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({1: halves(1, np.nan, 3)}, "not finite"),
        ({1: halves(1, 2)}, "were asked for"),
        ({2: OUTCOMES_BO[:2].tobytes()}, "were asked for"),
        ({2: (OUTCOMES_BO + np.inf).tobytes()}, "not finite"),
        ({2: (OUTCOMES_BO * 2).tobytes()}, "no distribution"),
        ({2: (OUTCOMES_BO - 0.5).tobytes()}, "no distribution"),
        ({0: ANSWER.pack(b"ZFAN", 1, 0, 5, 41, 2)}, "2 rows"),
        ({0: ANSWER.pack(b"ZFAN", 9, 0, 5, 41, 3)}, "format 9"),
        ({0: ANSWER.pack(b"ZFAN", 1, 99, 5, 41, 3)}, "unknown status 99"),
    ],
)
def test_an_answer_that_must_not_reach_a_search_is_refused(change, fault):
    frames = [change.get(number, frame) for number, frame in enumerate(answer_frames())]
    with pytest.raises(BadBytes, match=fault):
        decode_answer(frames, MASKS_BM, WIRE)


@pytest.mark.parametrize("frames", [[], [b""], [b"rubbish"], [b"\0" * ANSWER.size]])
def test_what_is_no_answer_at_all_is_refused(frames):
    with pytest.raises(BadBytes, match="no answer"):
        answered_id(frames)
