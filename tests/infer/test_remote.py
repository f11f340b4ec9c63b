"""A worker's side of inference servers that are slow, silent, lying or gone. Real sockets."""

import threading
import time

import numpy as np
import pytest
from inference_servers import PATIENCE_S, Lying, Serving, asking

import zerofleet as zf
from zerofleet import infer
from zerofleet.errors import Unsupported
from zerofleet.infer.evaluator import lockstep
from zerofleet.infer.remote import ServerAddress
from zerofleet.infer.wire import (
    ANSWER,
    Request,
    WireGame,
    all_asked,
    asked_for,
    decode_request,
    encode_answer,
)
from zerofleet.nets.onnx import exported

GAME = zf.games.get("connect4")
WIRE = WireGame.of(GAME, "run-1")


def pipeline_of(remote, num_streams=2, num_rows=8):
    return remote.pipeline(num_streams, lambda slot: all_asked(num_rows, WIRE))


def wait_for(pipeline):
    """Until a batch is answered."""
    end_s = time.monotonic() + PATIENCE_S
    while not pipeline.wait(0.05):
        assert time.monotonic() < end_s
    return pipeline.collect()


# ---- what lying servers answer


def silent(frames):
    """A server that hangs."""


def answering(change=lambda message: message, version=40):
    """Uniform evaluations, changed before they are sent."""

    def answer(frames):
        request = decode_request(frames, WIRE, 64)
        num_rows = len(request.observations_BN)
        logits_BA = np.zeros((num_rows, GAME.num_actions), np.float32)
        outcomes_BO = np.full((num_rows, 3), 1 / 3, np.float32)
        return [change(encode_answer(request, version, logits_BA, outcomes_BO))]

    return answer


def with_nan(message):
    return message[:-2] + b"\xff\xff"


def too_short(message):
    return message[:-2]


@pytest.mark.parametrize(
    ("lie", "why"),
    [
        (silent, "no answer within 0.3 s"),
        (answering(with_nan), "has numbers that are not finite"),
        (answering(too_short), "were asked for"),
        (answering(version=99), "of weights 99, which is unknown"),
        (lambda frames: [b"rubbish"], "no answer: it must be one frame"),
        (lambda frames: [b""] * 9, "no answer: it must be one frame"),
    ],
)
def test_a_server_that_cannot_be_used_is_named_and_its_batches_go_elsewhere(
    local, observations_BN, lie, why
):
    expected_logits, expected_outcomes = local(observations_BN)
    with (
        Lying(lie, "bad") as bad,
        Serving(local, WIRE, name="good") as good,
        asking(WIRE, bad, timeout_s=0.3) as remote,
    ):
        pipeline = pipeline_of(remote)
        pipeline.submit(0, observations_BN)
        pipeline.submit(1, observations_BN[::-1].copy())
        assert not pipeline.wait(0.01)
        remote.servers = [bad.at, good.at]
        for rows in (slice(None), slice(None, None, -1)):
            answered = wait_for(pipeline)
            assert answered.version == 40
            np.testing.assert_allclose(
                answered.policy_logits_BA, expected_logits[rows], rtol=1e-3, atol=1e-5
            )
            np.testing.assert_allclose(answered.outcomes_BO, expected_outcomes[rows], atol=1e-6)
        assert any("inference server bad (" in said and why in said for said in remote.said)
        assert remote.counts.num_retries >= 1


def test_a_late_answer_to_a_request_that_was_given_up_is_dropped(local, observations_BN):
    late = []

    def remember(frames):
        late.append(frames)
        return None if len(late) == 1 else answering()(late[0])

    with Lying(remember, "late") as server, asking(WIRE, server) as remote:
        pipeline = pipeline_of(remote)
        pipeline.submit(0, observations_BN)
        pipeline.submit(1, observations_BN)
        assert wait_for(pipeline).slot == 0
        assert not pipeline.wait(0.05)  # the second request was answered with the first one's id
        assert remote.counts.num_retries == 0


def test_only_the_logits_that_a_search_reads_travel(local, observations_BN):
    masks_BM = np.full((8, 1), 0b0001001, np.uint8)
    with Serving(local, WIRE) as server, asking(WIRE, server) as remote:
        pipeline = remote.pipeline(1, lambda slot: masks_BM)
        pipeline.submit(0, observations_BN)
        logits_BA = pipeline.collect().policy_logits_BA
    asked_BA = asked_for(masks_BM, GAME.num_actions)
    assert (logits_BA[~asked_BA] == 0).all()
    np.testing.assert_allclose(
        logits_BA[asked_BA], local(observations_BN)[0][asked_BA], rtol=1e-3, atol=1e-6
    )


def test_load_goes_to_the_server_that_answers_sooner(local, observations_BN):
    def slowly(frames):
        time.sleep(0.05)
        return answering()(frames)

    with (
        Lying(slowly, "slow") as slow,
        Serving(local, WIRE, name="fast") as fast,
        asking(WIRE, slow, fast) as remote,
    ):
        pipeline = pipeline_of(remote)
        for number in range(60):
            if not pipeline.has_room:
                wait_for(pipeline)
            pipeline.submit(number % 2, observations_BN)
        while pipeline.num_in_flight:
            wait_for(pipeline)
        assert 1 <= slow.num_requests < 30  # of 60


def test_a_batch_at_a_slow_server_holds_up_no_other(local, observations_BN):
    lets_go = threading.Event()

    def stuck(frames):
        lets_go.wait(PATIENCE_S)
        return answering()(frames)

    with (
        Lying(stuck, "stuck") as slow,
        Serving(local, WIRE, name="fast") as fast,
        asking(WIRE, slow) as remote,
    ):
        pipeline = pipeline_of(remote)
        pipeline.submit(0, observations_BN)
        remote.servers.append(fast.at)
        pipeline.submit(1, observations_BN)
        assert wait_for(pipeline).slot == 1
        lets_go.set()
        assert wait_for(pipeline).slot == 0


# ---- nobody


def test_without_servers_a_worker_waits_and_says_so_and_goes_on_when_one_comes(
    local, observations_BN
):
    with asking(WIRE) as remote:
        pipeline = pipeline_of(remote)
        pipeline.submit(0, observations_BN)
        assert not pipeline.wait(0.02)
        assert not pipeline.wait(0.02)
        assert remote.said == ["no inference server is registered"]
        assert remote.waits_because == "no inference server is registered"
        with Serving(local, WIRE) as server:
            remote.servers = [server.at]
            wait_for(pipeline)
            assert remote.waits_because == ""
            assert remote.said[1:] == ["inference server gpu answers again"]


def test_a_fallback_evaluates_while_no_server_does_and_both_changes_are_said(
    local, make_network, observations_BN, expected
):
    own = make_network(2)
    fallback = lockstep(infer.OnnxEvaluator(exported(own.spec), own.state_dict(), version=41))
    with asking(WIRE, fallback=fallback) as remote:
        pipeline = pipeline_of(remote)
        for _ in range(2):
            pipeline.submit(0, observations_BN)
            answered = wait_for(pipeline)
            assert answered.version == 41
            np.testing.assert_allclose(answered.outcomes_BO, expected(2)[1], atol=1e-4)
        assert remote.said == ["no inference server is registered; evaluating here with weights 41"]
        assert remote.counts.num_fallback_rows == 16
        with Serving(local, WIRE) as server:
            remote.servers = [server.at]
            pipeline.submit(0, observations_BN)
            assert wait_for(pipeline).version == 40
            assert remote.said[1:] == ["inference server gpu answers again"]


def test_a_hung_server_is_left_for_the_fallback(local, observations_BN):
    with (
        Lying(silent, "hung") as hung,
        asking(WIRE, hung, timeout_s=0.2, fallback=lockstep(local)) as remote,
    ):
        pipeline = pipeline_of(remote)
        pipeline.submit(0, observations_BN)
        assert wait_for(pipeline).version == 40
        assert remote.said[1:] == [
            "no inference server answers (hung: no answer within 0.2 s); "
            "evaluating here with weights 40"
        ]


def test_a_server_on_another_machine_is_not_asked_without_a_key(observations_BN):
    with asking(WIRE) as remote:
        remote.servers = [ServerAddress("far", "tcp://10.0.0.5:7000")]
        pipeline = pipeline_of(remote)
        pipeline.submit(0, observations_BN)
        assert not pipeline.wait(0.02)
        assert "needs a key (ZEROFLEET_CURVE_KEY_FILE)" in remote.said[0]
        assert remote.counts.num_requests == 0


def test_an_entry_of_the_registry_that_is_no_address_is_named(local, observations_BN):
    with Serving(local, WIRE) as server, asking(WIRE) as remote:
        remote.servers = [ServerAddress("odd", "127.0.0.1:rubbish")]
        pipeline = pipeline_of(remote)
        pipeline.submit(0, observations_BN)
        assert not pipeline.wait(0.02)
        assert "odd: 127.0.0.1:rubbish is no address: " in remote.said[0]
        remote.servers.append(server.at)
        assert wait_for(pipeline).version == 40


def test_a_remote_evaluator_has_no_weights_to_load():
    with asking(WIRE) as remote, pytest.raises(Unsupported, match="its servers load them"):
        remote.load({}, 41)


def test_a_request_of_no_logits_is_answered_with_values_alone(local, observations_BN):
    request = Request(1, observations_BN, np.zeros((8, 1), np.uint8))
    assert len(encode_answer(request, 40, *local(observations_BN))) == ANSWER.size + 8 * 3 * 4
    with Serving(local, WIRE) as server, asking(WIRE, server) as remote:
        pipeline = remote.pipeline(1, lambda slot: np.zeros((8, 1), np.uint8))
        pipeline.submit(0, observations_BN)
        assert np.array_equal(pipeline.collect().outcomes_BO, local(observations_BN)[1])
