"""FP8 (e4m3) for linear layers: its error and its speedup.

The error is that of a network whose wide layers have inputs and weights rounded to FP8 with one
scale per row, everything else in float32: a lower bound. The layer is timed as inference would use
it, including quantisation of its inputs.
"""

import copy
import functools
import time

import torch
from gpu.inference import answers_of, batch_of, errors_of, network_of
from torch import nn

FP8 = torch.float8_e4m3fn
LEAST_WIDTH = 128
"""Narrower layers gain nothing."""
NUM_POSITIONS = 1024
CALLS_OF_A_GRAPH = 50
NUM_TOKENS = 24
"""Tokens per position of Beasty Bar's `cards-medium`; its layers are 256 and 768 wide."""


def scaled(x):
    """Quantised to FP8, and the scale of each row."""
    scale = x.abs().amax(dim=-1, keepdim=True).float().clamp(min=1e-12) / torch.finfo(FP8).max
    return (x / scale).to(FP8), scale


def rounded(x):
    eight_bits, scale = scaled(x)
    return eight_bits.to(x.dtype) * scale


def wide_layers(network):
    return [
        module
        for module in network.modules()
        if isinstance(module, nn.Linear) and min(module.weight.shape) >= LEAST_WIDTH
    ]


def rounding(network):
    """The network with inputs and weights of its wide layers rounded to FP8."""
    network = copy.deepcopy(network)
    for layer in wide_layers(network):
        layer.weight.data = rounded(layer.weight.data)
        layer.register_forward_pre_hook(lambda _, given: (rounded(given[0]),))
    return network


def seconds_of(function, seconds):
    """Seconds per call, from many calls in a CUDA graph, without host overhead."""
    for _ in range(3):
        function()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(CALLS_OF_A_GRAPH):
            function()
    num_calls, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        graph.replay()
        torch.cuda.synchronize()
        num_calls += CALLS_OF_A_GRAPH
    return (time.perf_counter() - start) / num_calls


def gain_of_a_layer(width, wider, seconds):
    """Speedup of FP8 over bfloat16, with and without quantisation of the inputs."""
    inputs = torch.randn(NUM_POSITIONS * NUM_TOKENS, width, device="cuda", dtype=torch.bfloat16)
    weight = torch.randn(wider, width, device="cuda", dtype=torch.bfloat16)
    weight8, weight_scale = scaled(weight)

    def matmul(inputs8, scale):
        return torch._scaled_mm(
            inputs8, weight8.T, scale, weight_scale.T, out_dtype=torch.bfloat16, use_fast_accum=True
        )

    scaled_in_one_kernel = torch.compile(scaled, dynamic=False)
    inputs8, scale = scaled_in_one_kernel(inputs)
    plain_s = seconds_of(lambda: inputs @ weight.T, seconds / 3)
    matmul_s = seconds_of(lambda: matmul(inputs8, scale), seconds / 3)
    both_s = seconds_of(lambda: matmul(*scaled_in_one_kernel(inputs)), seconds / 3)
    return {
        "bf16_layer_us": 1e6 * plain_s,
        "gain_of_layer": plain_s / both_s,
        "gain_of_its_matmul": plain_s / matmul_s,
    }


def errors(game_name, preset, seconds):
    network = network_of(game_name, preset)
    batch = batch_of(game_name, NUM_POSITIONS)
    return errors_of(answers_of(rounding(network), batch), answers_of(network, batch))


MEASUREMENTS = {
    f"fp8 beastybar {preset}": functools.partial(errors, "beastybar", preset)
    for preset in ("large", "cards-medium")
} | {
    f"fp8 layer {width} to {wider}": functools.partial(gain_of_a_layer, width, wider)
    for width, wider in ((256, 768), (768, 256), (512, 512))
}
