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


def message(wire=WIRE, request_id=5, observations_BN=OBSERVATIONS_BN, masks_BM=MASKS_BM):
    return encode_request(wire, request_id, [observations_BN], masks_BM)


def with_rows(num_rows):
    """A request that says so."""
    written = bytearray(message())
    struct.pack_into("<I", written, REQUEST.size - 4, num_rows)
    return bytes(written)


def answer_message(logits_BA=LOGITS_BA, outcomes_BO=OUTCOMES_BO, version=41):
    return encode_answer(Request(5, OBSERVATIONS_BN, MASKS_BM), version, logits_BA, outcomes_BO)


def test_a_request_is_read_as_it_was_written():
    request = decode_request([message()], WIRE, max_rows=3)
    assert request.request_id == 5
    assert np.array_equal(request.observations_BN, OBSERVATIONS_BN)
    assert np.array_equal(request.masks_BM, MASKS_BM)


def test_rows_of_several_parts_follow_one_another():
    parts_BN = [OBSERVATIONS_BN[:1], OBSERVATIONS_BN[1:]]
    assert encode_request(WIRE, 5, parts_BN, MASKS_BM) == message()


def test_its_header_is_little_endian_with_magic_format_game_run_id_and_rows():
    fingerprint = bytes.fromhex(zf.games.fingerprint(GAME))
    expected = b"ZFRQ" + struct.pack("<I", 2) + fingerprint + WIRE.run + struct.pack("<QI", 5, 3)
    assert message() == expected + OBSERVATIONS_BN.tobytes() + MASKS_BM.tobytes()


def test_a_request_is_read_in_place():
    written = memoryview(message())
    request = decode_request([written], WIRE, max_rows=3)
    assert np.shares_memory(request.observations_BN, np.frombuffer(written, np.uint8))


@pytest.mark.parametrize(
    ("frames", "status"),
    [
        ([], Status.MALFORMED),
        ([b"rubbish"], Status.MALFORMED),
        ([b"\0" * REQUEST.size], Status.MALFORMED),
        ([message(), b"more"], Status.MALFORMED),
        ([b"ZFRQ\1" + message()[5:]], Status.OTHER_FORMAT),
        ([message(WireGame.of(zf.games.get("gomoku"), "run-1"))], Status.OTHER_GAME),
        ([message(WireGame.of(GAME, "run-2"))], Status.OTHER_RUN),
        ([with_rows(0)], Status.TOO_MANY_ROWS),
        ([with_rows(5)], Status.TOO_MANY_ROWS),
        ([with_rows(2**32 - 1)], Status.TOO_MANY_ROWS),
        ([with_rows(2)], Status.WRONG_SIZE),
        ([message()[:-1]], Status.WRONG_SIZE),
        ([message() + b"1"], Status.WRONG_SIZE),
    ],
)
def test_what_is_no_request_to_this_server_is_refused_with_a_status_and_a_sentence(frames, status):
    with pytest.raises(Refused, match=r"^[a-z][^\n]{10,400}$") as refused:
        decode_request(frames, WIRE, max_rows=4)
    assert refused.value.status == status
    refusal = encode_refusal(refused.value)
    assert answered_id([refusal]) == refused.value.request_id
    with pytest.raises(Refused, match=r"^[a-z]") as read:
        decode_answer([refusal], MASKS_BM, WIRE)
    assert (read.value.status, str(read.value)) == (status, str(refused.value))


def test_an_answer_has_the_version_the_outcomes_and_the_logits_that_were_asked_for():
    written = answer_message()
    # Of 21 logits three were asked for, two bytes each.
    assert len(written) == ANSWER.size + OUTCOMES_BO.nbytes + 3 * 2
    assert answered_id([written]) == 5
    answer = decode_answer([written], MASKS_BM, WIRE)
    assert answer.version == 41
    assert np.array_equal(answer.outcomes_BO, OUTCOMES_BO)
    asked_BA = asked_for(MASKS_BM, 7)
    assert np.argwhere(asked_BA).tolist() == [[0, 0], [0, 2], [2, 6]]
    assert np.array_equal(answer.policy_logits_BA, np.where(asked_BA, LOGITS_BA, 0))


def test_all_logits_can_be_asked_for():
    assert asked_for(all_asked(2, WIRE), GAME.num_actions).all()


def test_a_logit_beyond_half_precision_is_the_largest_half():
    answer = decode_answer([answer_message(LOGITS_BA * 1e6)], MASKS_BM, WIRE)
    assert answer.policy_logits_BA.max() == 65504


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_server_refuses_to_send_what_is_not_finite(bad):
    for logits_BA, outcomes_BO in (
        (LOGITS_BA + bad, OUTCOMES_BO),
        (LOGITS_BA, OUTCOMES_BO + bad),
    ):
        with pytest.raises(Refused, match="weights 41 evaluate these rows to numbers that are not"):
            answer_message(logits_BA, outcomes_BO)


def answer_of(header=None, outcomes_BO=OUTCOMES_BO, logits=(1, 2, 3)):
    """An answer that no server of ours would send."""
    header = header or ANSWER.pack(b"ZFAN", 2, 0, 5, 41, 3)
    return header + outcomes_BO.tobytes() + np.array(logits, "<f2").tobytes()


def test_such_an_answer_is_read_where_nothing_is_wrong_with_it():
    assert decode_answer([answer_of()], MASKS_BM, WIRE).policy_logits_BA.max() == 3


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"logits": (1, np.nan, 3)}, "not finite"),
        ({"logits": (1, 2)}, "were asked for"),
        ({"outcomes_BO": OUTCOMES_BO[:2]}, "were asked for"),
        ({"outcomes_BO": OUTCOMES_BO + np.float32(np.inf)}, "not finite"),
        ({"outcomes_BO": OUTCOMES_BO * 2}, "no distribution"),
        ({"outcomes_BO": OUTCOMES_BO - np.float32(0.5)}, "no distribution"),
        ({"header": ANSWER.pack(b"ZFAN", 2, 0, 5, 41, 2)}, "2 rows"),
        ({"header": ANSWER.pack(b"ZFAN", 9, 0, 5, 41, 3)}, "format 9"),
        ({"header": ANSWER.pack(b"ZFAN", 2, 99, 5, 41, 3)}, "unknown status 99"),
    ],
)
def test_an_answer_that_must_not_reach_a_search_is_refused(change, fault):
    with pytest.raises(BadBytes, match=fault):
        decode_answer([answer_of(**change)], MASKS_BM, WIRE)


@pytest.mark.parametrize(
    "frames", [[], [b""], [b"rubbish"], [b"\0" * ANSWER.size], [answer_of()] * 2]
)
def test_what_is_no_answer_at_all_is_refused(frames):
    with pytest.raises(BadBytes, match="no answer"):
        answered_id(frames)
