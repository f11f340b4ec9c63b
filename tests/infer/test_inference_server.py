"""An inference server: what it answers, merges, swaps and refuses. Real sockets, threads here."""

import threading
import time
from contextlib import ExitStack
from itertools import pairwise

import numpy as np
import pytest
from inference_servers import PATIENCE_S, Serving, asking, raw_socket

import zerofleet as zf
from zerofleet.errors import BadText, Inconsistent
from zerofleet.infer.sockets import ServerSocket, make_key_files, read_key
from zerofleet.infer.wire import (
    ANSWER,
    Refused,
    Status,
    WireGame,
    all_asked,
    answered_id,
    decode_answer,
    encode_request,
)

GAME = zf.games.get("connect4")
WIRE = WireGame.of(GAME, "run-1")


def test_answers_are_the_local_evaluators_within_half_precision(local, observations_BN):
    expected_logits, expected_outcomes = local(observations_BN)
    with Serving(local, WIRE) as server, asking(WIRE, server) as remote:
        logits_BA, outcomes_BO = remote(observations_BN)
        assert remote.version == 40
    np.testing.assert_allclose(logits_BA, expected_logits, rtol=2**-11, atol=1e-6)
    assert np.array_equal(outcomes_BO, expected_outcomes)


class Held:
    """An evaluator that computes only while its gate is open."""

    def __init__(self, evaluator):
        self.evaluator, self.gate = evaluator, threading.Event()
        self.version = evaluator.version

    def __call__(self, observations_BN):
        assert self.gate.wait(PATIENCE_S)
        return self.evaluator(observations_BN)

    def load(self, state, version):
        raise AssertionError


def test_requests_that_come_while_others_are_computed_are_merged_into_one_batch(
    local, observations_BN
):
    expected_logits, expected_outcomes = local(observations_BN)
    held = Held(local)
    rows = [slice(0, 1), slice(1, 4), slice(4, 8)]
    with Serving(held, WIRE, max_rows=8) as server, ExitStack() as stack:
        counts = server.server.counts
        workers = [stack.enter_context(asking(WIRE, server)) for _ in rows]
        pipelines = [
            worker.pipeline(1, lambda slot, each=each: all_asked(each.stop - each.start, WIRE))
            for worker, each in zip(workers, rows, strict=True)
        ]
        end_s, num_answers = time.monotonic() + PATIENCE_S, 0
        while not counts.num_merged:  # the first is computed alone, those behind it together
            assert time.monotonic() < end_s
            held.gate.clear()
            for pipeline, each in zip(pipelines, rows, strict=True):
                pipeline.submit(0, observations_BN[each])
            threading.Timer(0.05, held.gate.set).start()
            for pipeline, each in zip(pipelines, rows, strict=True):
                answered = pipeline.collect()
                num_answers += 1
                np.testing.assert_allclose(
                    answered.policy_logits_BA, expected_logits[each], rtol=2**-11, atol=1e-5
                )
                np.testing.assert_allclose(answered.outcomes_BO, expected_outcomes[each], atol=1e-6)
        assert server.server.pipeline.counts.num_batches < num_answers


def test_requests_are_not_merged_beyond_what_suits_the_device(local, observations_BN):
    held = Held(local)
    with Serving(held, WIRE, max_rows=8, merged_rows=4) as server, ExitStack() as stack:
        workers = [stack.enter_context(asking(WIRE, server)) for _ in range(3)]
        pipelines = [each.pipeline(1, lambda slot: all_asked(3, WIRE)) for each in workers]
        held.gate.clear()
        for pipeline in pipelines:
            pipeline.submit(0, observations_BN[:3])
        threading.Timer(0.05, held.gate.set).start()
        for pipeline in pipelines:
            pipeline.collect()
        assert server.server.pipeline.counts.num_batches == 3
        assert len(workers[0](observations_BN)[0]) == 8  # a request may be larger


def test_weights_change_under_load_without_a_lost_request_and_each_answer_has_one_version(
    local, make_network, observations_BN, expected
):
    states = {40: make_network(1).state_dict(), 41: make_network(2).state_dict()}
    outcomes = {40: expected(1)[1], 41: expected(2)[1]}
    seen = []
    with Serving(local, WIRE) as server, asking(WIRE, server) as remote:
        pipeline = remote.pipeline(3, lambda slot: all_asked(len(observations_BN), WIRE))
        for number in range(120):
            if number % 10 == 0:
                version = 40 + number // 10 % 2
                server.newest = (states[version], version)
            while not pipeline.has_room:
                answered = pipeline.collect()
                seen.append(answered.version)
                np.testing.assert_allclose(
                    answered.outcomes_BO, outcomes[answered.version], atol=1e-4
                )
            pipeline.submit(number % 3, observations_BN)
        assert (remote.counts.num_requests, remote.counts.num_retries) == (120, 0)
        while pipeline.num_in_flight:
            seen.append(pipeline.collect().version)
    assert len(seen) == 120
    assert sum(a != b for a, b in pairwise(seen)) > 3


def exchange(socket, *frames):
    """The frames of the answer."""
    socket.send_multipart(frames)
    assert socket.poll(PATIENCE_S * 1000)
    return socket.recv_multipart()


def test_bad_requests_get_a_status_and_a_sentence_and_harm_no_other(local, observations_BN):
    rows_BN, masks_BM = [observations_BN], all_asked(8, WIRE)
    other = WireGame.of(zf.games.get("tictactoe"), "run-1")
    with (
        Serving(local, WIRE, max_rows=64) as server,
        asking(WIRE, server) as remote,
        raw_socket(server.at) as socket,
    ):
        for frames, status in (
            ([b"rubbish"], Status.MALFORMED),
            ([b""] * 50, Status.MALFORMED),
            ([encode_request(WIRE, 1, rows_BN, masks_BM)[:-1]], Status.WRONG_SIZE),
            ([encode_request(other, 2, rows_BN, masks_BM)], Status.OTHER_GAME),
            ([encode_request(WIRE, 3, [], all_asked(65, WIRE))], Status.TOO_MANY_ROWS),
        ):
            answer = exchange(socket, *frames)
            with pytest.raises(Refused, match=r"^[a-z]") as refused:
                decode_answer(answer, all_asked(8, WIRE), WIRE)
            assert refused.value.status == status
            remote(observations_BN)
        assert answered_id(exchange(socket, encode_request(WIRE, 9, rows_BN, masks_BM))) == 9
        assert server.server.counts.num_refused == 5
        assert remote.counts.num_retries == 0


def test_a_frame_that_is_larger_than_any_request_ends_its_connection_alone(local, observations_BN):
    with Serving(local, WIRE) as server, asking(WIRE, server) as remote:
        remote(observations_BN)
        with raw_socket(server.at) as socket:
            socket.send_multipart([bytes(1 << 20)])
            assert not socket.poll(200)
        remote(observations_BN)
        assert remote.counts.num_retries == 0


def test_a_server_that_may_not_use_its_weights_says_why(local, observations_BN):
    request = encode_request(WIRE, 1, [observations_BN], all_asked(8, WIRE))
    with Serving(local, WIRE) as server, raw_socket(server.at) as socket:
        server.why_paused = "12 versions behind"
        answer = exchange(socket, request)
        with pytest.raises(Refused, match="12 versions behind") as refused:
            decode_answer(answer, all_asked(8, WIRE), WIRE)
        assert refused.value.status == Status.BEHIND


def test_a_server_that_ends_answers_what_it_has_and_refuses_what_still_comes(
    local, observations_BN
):
    statuses = {}

    def request(number):
        return encode_request(WIRE, number, [observations_BN], all_asked(8, WIRE))

    with Serving(local, WIRE, drain_s=PATIENCE_S) as server, raw_socket(server.at) as socket:
        for number in range(5):
            socket.send(request(number))
        server.stop()
        while Status.DRAINING not in statuses.values():
            number += 1
            answer = exchange(socket, request(number))
            statuses[answered_id(answer)] = ANSWER.unpack_from(answer[0])[2]
        while len(statuses) <= number:
            assert socket.poll(PATIENCE_S * 1000), "a request was left without an answer"
            answer = socket.recv_multipart()
            statuses[answered_id(answer)] = ANSWER.unpack_from(answer[0])[2]
    assert set(statuses.values()) == {Status.ANSWERED, Status.DRAINING}


# ---- keys


@pytest.fixture
def keys(tmp_path):
    """A server's key, its workers' key, and a workers' key of other servers."""
    texts = [*make_key_files(), make_key_files()[1]]
    found = []
    for number, text in enumerate(texts):
        path = tmp_path / str(number)
        path.write_text(text)
        found.append(read_key({"ZEROFLEET_CURVE_KEY_FILE": str(path)}))
    return found


def test_only_the_workers_key_gets_answers(local, observations_BN, keys):
    servers, workers, strangers = keys
    request = encode_request(WIRE, 1, [observations_BN], all_asked(8, WIRE))
    with Serving(local, WIRE, key=servers) as server:
        with asking(WIRE, server, key=workers) as remote:
            logits_BA, _ = remote(observations_BN)
            np.testing.assert_allclose(logits_BA, local(observations_BN)[0], rtol=1e-3, atol=1e-6)
        forged = type(workers)(strangers.public, strangers.secret, servers.public)
        for key in (None, strangers, forged):
            with raw_socket(server.at, key) as socket:
                socket.send(request)
                assert not socket.poll(300)
        assert server.server.counts.num_requests == 1


def test_a_worker_without_the_servers_key_says_so_and_asks_nothing(local, observations_BN, keys):
    servers, _, strangers = keys
    with Serving(local, WIRE, key=servers) as server:
        for key in (None, strangers):
            with asking(WIRE, server, key=key) as remote:
                pipeline = remote.pipeline(1, lambda slot: all_asked(8, WIRE))
                pipeline.submit(0, observations_BN)
                assert not pipeline.wait(0.05)
                (said,) = remote.said
                assert "its key is not the one that this worker's ZEROFLEET_CURVE_KEY_FILE" in said
                assert remote.counts.num_requests == 0


@pytest.mark.parametrize("host", ["0.0.0.0", "10.1.2.3", "::", "gpu.example.org"])
def test_without_a_key_a_server_listens_on_loopback_only(host):
    with pytest.raises(Inconsistent, match="without a key an inference server listens"):
        ServerSocket(host, 0, None, 1000)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_loopback_needs_no_key(host):
    socket = ServerSocket(host, 0, None, 1000)
    assert socket.port > 0
    socket.close()


def test_an_address_that_is_taken_is_an_error_of_one_line():
    first = ServerSocket("127.0.0.1", 0, None, 1000)
    with pytest.raises(Inconsistent, match=r"^cannot listen on 127.0.0.1, port \d+: Address"):
        ServerSocket("127.0.0.1", first.port, None, 1000)
    first.close()


@pytest.mark.parametrize("text", ["", "secret = short\npeer = short\n", "nonsense"])
def test_a_file_that_has_no_keys_is_refused_without_its_contents(tmp_path, text):
    path = tmp_path / "key"
    path.write_text(text)
    with pytest.raises(BadText, match="must have the lines `secret = KEY`") as fault:
        read_key({"ZEROFLEET_CURVE_KEY_FILE": str(path)})
    assert "short" not in str(fault.value)


def test_a_key_shows_no_secret(keys):
    assert read_key({}) is None
    for key in keys:
        assert key.public in repr(key)
        assert key.secret not in repr(key)
