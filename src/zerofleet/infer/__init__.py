"""Evaluators: networks that evaluate leaves for search and self-play.

    evaluator = zf.infer.make_evaluator(network)
    zf.search.analyse(position, evaluator)
    evaluator.load(state, version=7)

torch is imported only where it is needed; OnnxEvaluator and RemoteEvaluator do not need it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from zerofleet.infer.evaluator import Evaluator, Pipeline

if TYPE_CHECKING:
    from zerofleet.infer.cuda_evaluator import CudaEvaluator
    from zerofleet.infer.devices import pick_device
    from zerofleet.infer.load import load_file
    from zerofleet.infer.make import make_evaluator, make_pipeline
    from zerofleet.infer.onnx_evaluator import OnnxEvaluator
    from zerofleet.infer.torch_evaluator import TorchEvaluator

__all__ = [
    "CudaEvaluator",
    "Evaluator",
    "OnnxEvaluator",
    "Pipeline",
    "TorchEvaluator",
    "load_file",
    "make_evaluator",
    "make_pipeline",
    "pick_device",
]

LOADED_WHEN_USED = {
    "CudaEvaluator": "cuda_evaluator",
    "OnnxEvaluator": "onnx_evaluator",
    "TorchEvaluator": "torch_evaluator",
    "load_file": "load",
    "make_evaluator": "make",
    "make_pipeline": "make",
    "pick_device": "devices",
}


def __getattr__(name: str) -> Any:
    if name not in LOADED_WHEN_USED:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(import_module(f"{__name__}.{LOADED_WHEN_USED[name]}"), name)
