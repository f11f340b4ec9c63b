"""CudaEvaluator, by calls and with batches in flight. bench/gpu has larger networks."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

import zerofleet as zf
from zerofleet import infer
from zerofleet.errors import BadText
from zerofleet.infer import calibration

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA GPU here")

TOLERANCE = 0.15
"""Of bfloat16 for logits of a few units; two networks differ by more."""


@pytest.fixture(params=[False, True], ids=["graphs", "compiled"])
def evaluator(request, make_network):
    device = torch.device("cuda")
    return infer.CudaEvaluator(make_network(1), device, version=40, compiles=request.param)


def assert_near(answers, expected):
    for got, wanted in zip(answers, expected, strict=True):
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, wanted, atol=TOLERANCE)


def test_calls_of_any_size_are_answered_as_the_network_does(evaluator, observations_BN, expected):
    for num_rows in (8, 1, 1000, 5):
        rows_BN = np.resize(observations_BN, (num_rows, 43))
        wanted = [np.resize(rows, (num_rows, rows.shape[1])) for rows in expected(1)]
        assert_near(evaluator(rows_BN), wanted)
    with pytest.raises(BadText, match=r"must be a numpy array uint8 \[batch, 43\]"):
        evaluator(observations_BN[:, :-1])


def test_float32_matmuls_use_tf32(make_network, exact_matmul):
    infer.CudaEvaluator(make_network(1), torch.device("cuda"))
    assert torch.backends.cuda.matmul.fp32_precision == "tf32"


def test_batches_in_flight_are_each_answered_by_one_version(
    evaluator, make_network, observations_BN, expected
):
    pipeline = evaluator.pipeline(num_slots=4, rows_per_slot=300, num_streams=2)
    wanted_version, num_answered = {}, 0

    def collect():
        answered = pipeline.collect()
        version, num_rows = wanted_version.pop(answered.slot)
        assert answered.version == version
        wanted = [np.resize(rows, (num_rows, rows.shape[1])) for rows in expected(version - 39)]
        assert_near(answered[1:3], wanted)

    for number in range(60):
        if not pipeline.has_room:
            collect()
            num_answered += 1
        if number % 10 == 5:
            version = 40 + number // 10 % 2
            pipeline.load(make_network(version - 39).state_dict(), version)
        num_rows = 300 if number % 3 else 1 + number
        wanted_version[number % 4] = pipeline.version, num_rows
        pipeline.submit(number % 4, np.resize(observations_BN, (num_rows, 43)))
    while pipeline.num_in_flight:
        collect()
        num_answered += 1
    assert num_answered == pipeline.counts.num_batches == 60
    assert pipeline.counts.busy_s > 0
    assert pipeline.counts.num_computed > pipeline.counts.num_rows


def test_graphs_are_made_in_several_threads_while_another_trains(
    make_network, observations_BN, expected
):
    """As a rating begins beside self-play and training."""
    device, stop = torch.device("cuda"), threading.Event()

    def train():
        layer = torch.nn.Linear(512, 512, device=device)
        with torch.cuda.stream(torch.cuda.Stream(device)):
            while not stop.is_set():
                rows = torch.randn(4096, 512, pin_memory=True).to(device, non_blocking=True)
                layer(rows).square().mean().backward()
                layer.zero_grad()

    # Made in one thread: a seed is the whole process's.
    networks = {seed: make_network(seed) for seed in (1, 2, 3)}
    answers = {seed: expected(seed) for seed in networks}

    def answer(seed):
        evaluator = infer.CudaEvaluator(networks[seed], device, compiles=False)
        for num_rows in (8, 100, 200, 500, 1000):
            rows_BN = np.resize(observations_BN, (num_rows, 43))
            wanted = [np.resize(rows, (num_rows, rows.shape[1])) for rows in answers[seed]]
            assert_near(evaluator(rows_BN), wanted)

    with ThreadPoolExecutor(4) as threads:
        trained = threads.submit(train)
        try:
            answered = [threads.submit(answer, seed) for seed in networks]
            for each in answered:
                each.result(timeout=120)
        finally:
            stop.set()
        trained.result(timeout=120)


def test_all_sizes_for_a_gpu_are_tried_once(make_network, tmp_path, monkeypatch):
    monkeypatch.setenv("ZEROFLEET_CACHE", str(tmp_path))
    monkeypatch.setattr(calibration, "MEASURED_S", 0.05)
    game, network = zf.games.get("connect4"), make_network(1)
    found = calibration.calibrate(game, network, device="cuda")
    assert sorted(found.throughputs) == list(calibration.GPU_SIZES)
    assert all(each > 10_000 for each in found.throughputs.values())
    assert calibration.calibrate(game, network, device="cuda").was_kept
