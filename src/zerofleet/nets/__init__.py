"""Networks: observation bytes in, policy and outcome logits out.

    network = zf.nets.build(zf.games.get("connect4"), "tiny")
    output = network(observations_BN)

The first layer turns bytes into planes or tokens, so the ONNX graph has it too. `register` adds a
custom network.
"""

from zerofleet.nets.build import build, from_spec, presets, register
from zerofleet.nets.network import (
    AuxiliaryBatch,
    Mean,
    Network,
    NetworkOptions,
    Output,
    mean_over,
)
from zerofleet.nets.onnx import export_onnx
from zerofleet.weights.spec import NetworkSpec, refuse_mismatch

__all__ = [
    "AuxiliaryBatch",
    "Mean",
    "Network",
    "NetworkOptions",
    "NetworkSpec",
    "Output",
    "build",
    "export_onnx",
    "from_spec",
    "mean_over",
    "presets",
    "refuse_mismatch",
    "register",
]
