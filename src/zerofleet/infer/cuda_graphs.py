"""Runs a network on a CUDA GPU from graphs: one launch per batch instead of one per layer.

A graph has a fixed batch size, so a batch is filled up to the next power of two. Each size is
captured when it is first needed. A graph reads the weights where they are, so that new ones can be
copied into them.

Shapes: B observations, N bytes of an observation, S size of a graph's batch, A actions, O outcomes.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from zerofleet.infer.evaluator import Observations, Rows

LEAST_SIZE = 64
NUM_WARM_UPS = 3


@dataclass(frozen=True)
class Captured:
    """A graph with its inputs and outputs, on the GPU and in pinned memory."""

    graph: torch.cuda.CUDAGraph
    observations_SN: Tensor
    answers: tuple[Tensor, Tensor]
    pinned_observations_SN: Tensor
    pinned_answers: tuple[Tensor, Tensor]


class CudaGraphs:
    """Calls `answers`, which gives policy logits and outcomes, in bfloat16 where that is safe."""

    def __init__(self, answers: nn.Module, num_bytes: int, device: torch.device) -> None:
        self.answers = answers
        self.num_bytes = num_bytes
        self.device = device
        self.captured: dict[int, Captured] = {}

    def __call__(self, observations_BN: Observations) -> tuple[Rows, Rows]:
        num_rows = len(observations_BN)
        captured = self.of_size(max(LEAST_SIZE, 1 << (num_rows - 1).bit_length()))
        captured.pinned_observations_SN.numpy()[:num_rows] = observations_BN
        captured.observations_SN.copy_(captured.pinned_observations_SN, non_blocking=True)
        captured.graph.replay()
        for pinned, answer in zip(captured.pinned_answers, captured.answers, strict=True):
            pinned.copy_(answer, non_blocking=True)
        torch.cuda.current_stream(self.device).synchronize()
        logits_SA, outcomes_SO = captured.pinned_answers
        return logits_SA.numpy()[:num_rows].copy(), outcomes_SO.numpy()[:num_rows].copy()

    def of_size(self, size: int) -> Captured:
        if size not in self.captured:
            self.captured[size] = self.capture(size)
        return self.captured[size]

    def capture(self, size: int) -> Captured:
        observations_SN = torch.zeros(size, self.num_bytes, dtype=torch.uint8, device=self.device)
        side = torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(side):  # what is allocated or chosen at first use is so before
            for _ in range(NUM_WARM_UPS):
                self.run(observations_SN)
        torch.cuda.current_stream(self.device).wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            answers = self.run(observations_SN)
        return Captured(
            graph,
            observations_SN,
            answers,
            torch.zeros(size, self.num_bytes, dtype=torch.uint8, pin_memory=True),
            (pinned_like(answers[0]), pinned_like(answers[1])),
        )

    def run(self, observations_SN: Tensor) -> tuple[Tensor, Tensor]:
        # Casts of weights are not kept: a graph must make them from the weights as they then are.
        with torch.autocast("cuda", dtype=torch.bfloat16, cache_enabled=False):
            logits_SA, outcomes_SO = self.answers(observations_SN)
        return logits_SA.float(), outcomes_SO.float()


def pinned_like(answer: Tensor) -> Tensor:
    return torch.empty(answer.shape, dtype=answer.dtype, pin_memory=True)
