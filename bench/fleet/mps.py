"""NVIDIA MPS, through which the processes of a fleet use one GPU at the same time; without it they
use it by turns.

    with Mps(folder) as environment:
        subprocess.Popen(command, env=os.environ | environment)

Each has a daemon of its own, so nothing on the machine changes but for those processes. All of them
must have ended before the block is left.
"""

import os
import subprocess
import sys
from pathlib import Path

CONTROL = "nvidia-cuda-mps-control"
BELOW_NORMAL = {"CUDA_MPS_CLIENT_PRIORITY": "1"}
"""For a trainer: within one process inference goes ahead of training too."""
QUIT_S, PATIENCE_S = 5, 20
"""For processes that use it to end, and for the daemon to answer."""


class Mps:
    """A daemon, as long as it is open."""

    def __init__(self, folder):
        self._environment = {
            "CUDA_MPS_PIPE_DIRECTORY": str(Path(folder) / "mps-pipe"),
            "CUDA_MPS_LOG_DIRECTORY": str(Path(folder) / "mps-log"),
        }

    def __enter__(self):
        for path in self._environment.values():
            Path(path).mkdir()
        self._control("-d")
        return self._environment

    def __exit__(self, *fault):
        self._control(said=f"quit -t {QUIT_S}\n")

    def _control(self, *options, said=""):
        try:
            subprocess.run(
                [CONTROL, *options],
                input=said,
                env=os.environ | self._environment,
                check=True,
                text=True,
                timeout=PATIENCE_S,
            )
        except FileNotFoundError:
            sys.exit(f"--links mps: there is no {CONTROL} here; it comes with NVIDIA's driver")
