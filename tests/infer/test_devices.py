"""Which device and which evaluator are picked, and the message when the device is full."""

import pytest
import torch

from zerofleet import infer
from zerofleet.errors import TooLarge, Unsupported


def machine_with(*kinds):
    return kinds.count


@pytest.mark.parametrize(
    ("kinds", "picked"),
    [(("cpu",), "cpu"), (("cpu", "mps"), "mps"), (("cpu", "mps", "cuda"), "cuda")],
)
def test_auto_picks_cuda_then_mps_then_the_cpu(kinds, picked):
    assert infer.pick_device("auto", machine_with(*kinds)) == torch.device(picked)


def test_a_device_can_be_named():
    assert infer.pick_device("cpu", machine_with("cpu", "cuda")) == torch.device("cpu")
    two_gpus = machine_with("cpu", "cuda", "cuda")
    assert infer.pick_device("cuda:1", two_gpus) == torch.device("cuda:1")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("cuda", "^device cuda is not available here; there is mps, cpu$"),
        ("cuda:0", "^device cuda:0 is not available here; there is mps, cpu$"),
        ("gpu", "^unknown device gpu; known: auto, cuda, mps, cpu$"),
        ("meta", "^unknown device meta; known: "),
    ],
)
def test_a_missing_device_is_refused_by_name(name, message):
    with pytest.raises(Unsupported, match=message):
        infer.pick_device(name, machine_with("cpu", "mps"))


def test_a_gpu_whose_number_is_too_large_is_refused_with_those_there_are():
    message = "^device cuda:2 is not available here; there is cuda:0, cuda:1, cpu$"
    with pytest.raises(Unsupported, match=message):
        infer.pick_device("cuda:2", machine_with("cuda", "cuda", "cpu"))


def test_the_cpu_gets_onnx_unless_torch_is_asked_for(make_network):
    network = make_network(1)
    assert isinstance(infer.make_evaluator(network, device="cpu"), infer.OnnxEvaluator)
    evaluator = infer.make_evaluator(network, kind="torch", device="cpu", version=3)
    assert isinstance(evaluator, infer.TorchEvaluator)
    assert evaluator.version == 3


def test_an_unknown_evaluator_is_refused(make_network):
    with pytest.raises(Unsupported, match=r"^unknown evaluator onxx; known: auto, torch, onnx$"):
        infer.make_evaluator(make_network(1), kind="onxx", device="cpu")


def test_out_of_memory_names_the_setting_to_lower(make_network, observations_BN):
    evaluator = infer.TorchEvaluator(make_network(1), "cpu")

    def full(observations):
        raise torch.OutOfMemoryError

    evaluator._inference = full
    message = "^out of memory on cpu with a batch of 8 observations; lower selfplay.games_per_group"
    with pytest.raises(TooLarge, match=message):
        evaluator(observations_BN)
