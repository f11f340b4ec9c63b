"""Picks the fastest evaluator on a device, and the pipeline that keeps it busy."""

import torch

from zerofleet.errors import Unsupported
from zerofleet.infer.cuda_evaluator import CudaEvaluator
from zerofleet.infer.devices import pick_device
from zerofleet.infer.evaluator import Evaluator, EvaluatorKind, Pipeline, lockstep
from zerofleet.infer.onnx_evaluator import OnnxEvaluator
from zerofleet.infer.torch_evaluator import TorchEvaluator
from zerofleet.nets import Network
from zerofleet.nets.onnx import exported


def make_evaluator(
    network: Network,
    kind: EvaluatorKind = "auto",
    device: str = "auto",
    num_threads: int = 1,
    version: int = 0,
    compiles: bool = True,
) -> Evaluator:
    """An evaluator with a network's weights.

    `auto` is ONNX Runtime on a CPU, which is up to three times as fast as torch for small batches
    and about as fast for large ones. It is torch elsewhere, and for a network that is not exported
    (`Network.exports_onnx`). `num_threads` is for the CPU; torch has one thread count per process,
    which this sets. `compiles` is for CUDA: see CudaEvaluator.
    """
    picked = pick_device(device)
    if kind not in ("auto", "torch", "onnx"):
        raise Unsupported(f"unknown evaluator {kind}; known: auto, torch, onnx")
    if kind == "onnx" and picked.type != "cpu":
        raise Unsupported(f"the evaluator onnx is for device cpu, not {picked}; torch is for it")
    if kind == "onnx" or (kind == "auto" and picked.type == "cpu" and network.exports_onnx):
        return OnnxEvaluator(exported(network.spec), network.state_dict(), num_threads, version)
    if picked.type == "cuda":
        return CudaEvaluator(network, picked, version, compiles)
    if picked.type == "cpu":
        torch.set_num_threads(num_threads)
    return TorchEvaluator(network, str(picked), version)


def make_pipeline(evaluator: Evaluator, num_slots: int, rows_per_slot: int) -> Pipeline:
    """Several batches in flight on CUDA; elsewhere the caller computes each.

    Self-play has a slot per group, with batches of about `rows_per_slot` rows.
    """
    if isinstance(evaluator, CudaEvaluator):
        return evaluator.pipeline(num_slots, rows_per_slot)
    return lockstep(evaluator)
