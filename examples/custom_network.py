"""A custom network: registered by name, then trained, played and exported like any other.

As a plugin of the command line:

    zerofleet train connect4 --plugin examples/custom_network.py --set network.preset=mlp --run mlp
    zerofleet export mlp mlp.onnx --plugin examples/custom_network.py

or as a script: python examples/custom_network.py
"""

from itertools import pairwise

import torch
from torch import Tensor, nn

import zerofleet as zf


class MlpOptions(zf.nets.NetworkOptions):
    width: int = 128  # set by --set network.options.width=256
    num_layers: int = 3


@zf.nets.register("mlp")
class Mlp(zf.nets.Network):
    """A multilayer perceptron on the one-hot bytes of an observation."""

    Options = MlpOptions
    NUM_VALUES = 3  # of a byte of an observation of Connect Four: empty, own, the opponent's

    def __init__(self, spec: zf.nets.NetworkSpec) -> None:
        super().__init__(spec)
        options = MlpOptions.model_validate(spec.options)
        widths = [spec.observation_bytes * self.NUM_VALUES, *[options.width] * options.num_layers]
        layers = [nn.Sequential(nn.Linear(i, o), nn.ReLU()) for i, o in pairwise(widths)]
        self.trunk = nn.Sequential(*layers)
        self.policy = nn.Linear(options.width, spec.num_actions)
        self.outcomes = nn.Linear(options.width, spec.num_outcomes)

    # B batch, N bytes of an observation, V values of a byte, W width
    def forward(
        self, observations_BN: Tensor, with_auxiliary: bool | None = None
    ) -> zf.nets.Output:
        values_V = torch.arange(self.NUM_VALUES, device=observations_BN.device)
        one_hot_BNV = (observations_BN[:, :, None] == values_V).float()
        x_BW = self.trunk(one_hot_BNV.flatten(1))
        return zf.nets.Output(self.policy(x_BW), self.outcomes(x_BW), {})


if __name__ == "__main__":
    zf.train("connect4", run="mlp", minutes=2, settings=["network.preset=mlp"])
    print(zf.arena.match("connect4", "run:mlp", "random", num_games=100))
