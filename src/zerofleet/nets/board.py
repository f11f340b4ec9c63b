"""A residual convolutional network with global pooling, for Gomoku and Connect Four.

A batch norm follows every convolution; inference folds it in. Some blocks add a bias per channel
that is computed from the pooled board, so that information crosses the board in one layer. Global
pooling and the auxiliary head that predicts the opponent's reply are KataGo's (arXiv:1902.10565).

Shapes: B batch, N bytes, R rows, C columns, P = R * C cells, L lines, F channels, A actions,
O outcomes.
"""

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from zerofleet.errors import Unsupported
from zerofleet.games.lines import lines_of
from zerofleet.nets.network import (
    AuxiliaryBatch,
    Mean,
    Network,
    NetworkOptions,
    Output,
    final_layer,
    mean_over,
)
from zerofleet.weights.spec import NetworkSpec

NUM_PLANES = 4
"""Own stones, the opponent's, whether the observer is to move, and ones (which mark the edge)."""

CONNECT4_ROWS, CONNECT4_COLUMNS, CONNECT4_LINE = 6, 7, 4


class BoardOptions(NetworkOptions):
    channels: int = Field(32, ge=4, le=1024)
    """Width of every layer. Doubling it costs four times as much."""
    num_blocks: int = Field(4, ge=1, le=100)
    """Residual blocks of two convolutions each."""
    pool_every: int = Field(2, ge=1)
    """Every n-th block has global pooling."""
    head_channels: int = Field(32, ge=4, le=1024)
    """Width of the heads."""
    line_planes: bool = False
    """Input planes that count the lines through each cell that one side can still complete, by the
    stones that it has in them. They need not be learnt then; the smaller the network, the larger
    their part of its cost."""
    use_auxiliary_heads: bool = True
    """Predict the opponent's reply in training. Costs nothing in play."""


class BoardNetwork(Network):
    """For Gomoku of any size, and Connect Four."""

    Options = BoardOptions
    # Compiled in bfloat16 its gradients were not finite on an H200.
    trains_compiled = False

    def __init__(self, spec: NetworkSpec) -> None:
        super().__init__(spec)
        options = BoardOptions.model_validate(spec.options)
        channels, head_channels = options.channels, options.head_channels
        self.num_rows, self.num_columns = board_shape(spec)
        self.lines: LinePlanes | None = None
        num_planes = NUM_PLANES
        if options.line_planes:
            self.lines = LinePlanes((self.num_rows, self.num_columns), line_length(spec))
            num_planes += self.lines.num_planes
        self.stem = ConvNorm(num_planes, channels, 3)
        self.blocks = nn.Sequential(
            *(
                Block(channels, pools=number % options.pool_every == 0)
                for number in range(1, options.num_blocks + 1)
            )
        )
        by_column = spec.num_actions == self.num_columns
        rows_read = self.num_rows if by_column else 1
        self.policy = PolicyHead(channels, head_channels, rows_read)
        self.outcome = OutcomeHead(channels, head_channels, spec.num_outcomes)
        self.reply = (
            PolicyHead(channels, head_channels, rows_read) if options.use_auxiliary_heads else None
        )

    def forward(self, observations_BN: Tensor, with_auxiliary: bool | None = None) -> Output:
        trunk_BFRC = self.blocks(functional.relu(self.stem(self.planes(observations_BN))))
        auxiliary = {}
        if self.reply is not None and self.wants_auxiliary(with_auxiliary):
            auxiliary["reply"] = self.reply(trunk_BFRC)
        return Output(self.policy(trunk_BFRC), self.outcome(trunk_BFRC), auxiliary)

    def planes(self, observations_BN: Tensor) -> Tensor:
        """[B, 4, R, C], and the planes of lines behind them; in the dtype of the weights."""
        bytes_BN = observations_BN.to(self.stem.conv.weight.dtype)
        cells_BRC = bytes_BN[:, :-1].reshape(-1, self.num_rows, self.num_columns)
        ones_BRC = torch.ones_like(cells_BRC)
        to_move_BRC = ones_BRC * bytes_BN[:, -1, None, None]
        own_BRC = (cells_BRC == 1).to(cells_BRC.dtype)
        opponents_BRC = (cells_BRC == 2).to(cells_BRC.dtype)
        planes_BFRC = torch.stack([own_BRC, opponents_BRC, to_move_BRC, ones_BRC], dim=1)
        if self.lines is None:
            return planes_BFRC
        return torch.cat([planes_BFRC, self.lines(own_BRC, opponents_BRC)], dim=1)

    def auxiliary_losses(self, output: Output, batch: AuxiliaryBatch) -> dict[str, Mean]:
        if "reply" not in output.auxiliary:
            return {}
        known_B = batch.reply_B >= 0
        losses_B = functional.cross_entropy(
            output.auxiliary["reply"].float(), batch.reply_B.clamp(min=0), reduction="none"
        )
        return {"reply": mean_over(known_B, losses_B)}


def board_shape(spec: NetworkSpec) -> tuple[int, int]:
    """(rows, columns) of the board of a spec's game."""
    if spec.game == "gomoku":
        return int(spec.game_options["size"]), int(spec.game_options["size"])
    if spec.game == "connect4":
        return CONNECT4_ROWS, CONNECT4_COLUMNS
    raise Unsupported(f"a board network is for gomoku or connect4, not for {spec.game}")


def line_length(spec: NetworkSpec) -> int:
    """How many stones in a line win."""
    return int(spec.game_options["line"]) if spec.game == "gomoku" else CONNECT4_LINE


class LinePlanes(nn.Module):
    """How many lines through each cell hold 1, 2, ... stones of one side and none of the other.

    One plane per side, the observer's first, and number of stones, from one to one short of a line.
    """

    is_in_line_LP: Tensor

    def __init__(self, shape: tuple[int, int], length: int) -> None:
        super().__init__()
        lines_LK = lines_of(shape, length)
        is_in_line_LP = np.zeros((len(lines_LK), shape[0] * shape[1]), np.float32)
        np.put_along_axis(is_in_line_LP, lines_LK, 1, axis=1)
        self.register_buffer("is_in_line_LP", torch.from_numpy(is_in_line_LP), persistent=False)
        self.counts = range(1, length)
        self.num_planes = 2 * len(self.counts)

    def forward(self, own_BRC: Tensor, opponents_BRC: Tensor) -> Tensor:
        is_in_line_LP = self.is_in_line_LP.to(own_BRC.dtype)
        own_BL = own_BRC.flatten(1) @ is_in_line_LP.T
        opponents_BL = opponents_BRC.flatten(1) @ is_in_line_LP.T
        alone = [own_BL * (opponents_BL == 0), opponents_BL * (own_BL == 0)]
        has_count_BFL = torch.stack(
            [stones_BL == count for stones_BL in alone for count in self.counts], dim=1
        )
        planes_BFP = has_count_BFL.to(own_BRC.dtype) @ is_in_line_LP
        return planes_BFP.reshape(-1, self.num_planes, *own_BRC.shape[1:])


class ConvNorm(nn.Module):
    """A same-size convolution and its batch norm; in inference, one convolution."""

    def __init__(self, num_in: int, num_out: int, size: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(num_in, num_out, size, padding=size // 2, bias=False)
        self.norm = nn.BatchNorm2d(num_out)

    def forward(self, x_BFRC: Tensor) -> Tensor:
        normed_BFRC: Tensor
        if self.training:
            normed_BFRC = self.norm(self.conv(x_BFRC))
        else:
            weight, bias = self.folded()
            normed_BFRC = functional.conv2d(x_BFRC, weight, bias, padding=self.conv.padding)
        return normed_BFRC

    def folded(self) -> tuple[Tensor, Tensor]:
        """Weight and bias of the one convolution that equals both."""
        mean_F, variance_F = self.norm.running_mean, self.norm.running_var
        assert mean_F is not None and variance_F is not None  # noqa: PT018
        scale_F = self.norm.weight * torch.rsqrt(variance_F + self.norm.eps)
        weight = self.conv.weight * scale_F[:, None, None, None]
        return weight, self.norm.bias - mean_F * scale_F


class Block(nn.Module):
    """A residual block of two convolutions, with a bias from global pooling if `pools`."""

    def __init__(self, channels: int, pools: bool) -> None:
        super().__init__()
        self.first = ConvNorm(channels, channels, 3)
        self.second = ConvNorm(channels, channels, 3)
        self.bias = nn.Linear(2 * channels, channels) if pools else None

    def forward(self, x_BFRC: Tensor) -> Tensor:
        hidden_BFRC = functional.relu(self.first(x_BFRC))
        added_BFRC = self.second(hidden_BFRC)
        if self.bias is not None:
            added_BFRC = added_BFRC + self.bias(pooled(hidden_BFRC))[:, :, None, None]
        return functional.relu(x_BFRC + added_BFRC)


def pooled(x_BFRC: Tensor) -> Tensor:
    """The mean and maximum of each channel, [B, 2F]."""
    # Not amax: its backward pass finds the maximum by comparing values. Compiled in bfloat16 these
    # are rounded differently in the backward pass, and none compares equal.
    x_BFP = x_BFRC.flatten(2)
    return torch.cat([x_BFP.mean(dim=2), x_BFP.max(dim=2).values], dim=1)


class PolicyHead(nn.Module):
    """A logit per cell from its features, or per column from all its rows, [B, A]."""

    def __init__(self, channels: int, head_channels: int, rows_read: int) -> None:
        super().__init__()
        self.features = ConvNorm(channels, head_channels, 1)
        self.logits = final_layer(nn.Conv2d(head_channels, 1, (rows_read, 1)))

    def forward(self, trunk_BFRC: Tensor) -> Tensor:
        logits_BA: Tensor = self.logits(functional.relu(self.features(trunk_BFRC))).flatten(1)
        return logits_BA


class OutcomeHead(nn.Module):
    """Outcome logits from the pooled board, [B, O]."""

    def __init__(self, channels: int, head_channels: int, num_outcomes: int) -> None:
        super().__init__()
        self.features = ConvNorm(channels, head_channels, 1)
        self.hidden = nn.Linear(2 * head_channels, 2 * head_channels)
        self.logits = final_layer(nn.Linear(2 * head_channels, num_outcomes))

    def forward(self, trunk_BFRC: Tensor) -> Tensor:
        features_B2F = pooled(functional.relu(self.features(trunk_BFRC)))
        logits_BO: Tensor = self.logits(functional.relu(self.hidden(features_B2F)))
        return logits_BO
