"""Networks as ONNX without their own weights: exported once, then kept in the cache folder.

An export takes seconds, in which every match and every game against a run would wait.
"""

import json
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import onnx
import torch
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from zerofleet import nets
from zerofleet.cache import cache_folder, key_of, put_in_cache
from zerofleet.nets.onnx import to_onnx


def exported(spec: nets.NetworkSpec) -> onnx.ModelProto:
    """A network of this spec; its weights are to be put in."""
    return onnx.load_model_from_string(exported_bytes(json.dumps(spec.to_dict(), sort_keys=True)))


@lru_cache(maxsize=8)
def exported_bytes(spec: str) -> bytes:
    # What is exported changes with the spec, how networks are written, and torch, which exports it.
    key = key_of([spec, torch.__version__], Path(nets.__file__).parent)
    path = cache_folder() / "onnx" / f"{key}.onnx"
    try:
        data = path.read_bytes()
        if not onnx.load_model_from_string(data).graph.node:
            raise DecodeError("an empty file is read as a network of nothing")
        return data
    except (OSError, DecodeError):  # not there yet, or damaged
        network = nets.from_spec(nets.NetworkSpec.from_dict(json.loads(spec)))
        made: bytes = to_onnx(network).SerializeToString()
        with suppress(OSError):  # where nothing can be kept, it is made anew each time
            put_in_cache(path, made)
        return made
