"""The ONNX file answers as the network does, for every kind of network and batch size."""

import json

import numpy as np
import onnx
import onnxruntime
import torch

from zerofleet import nets


def unsettle(network, rows):
    """Moves every weight and norm away from where training starts."""
    with torch.no_grad():
        network.train()(rows)
        for parameter in network.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))


def test_onnx_answers_as_torch_does_at_any_batch_size(game_and_network, observe, tmp_path):
    game, network = game_and_network
    observations_BN = observe(game, 130)
    unsettle(network, torch.from_numpy(observations_BN))
    path = tmp_path / "network.onnx"
    nets.export_onnx(network, path)
    assert network.training  # as it was

    onnx.checker.check_model(path, full_check=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (taken,) = session.get_inputs()
    assert (taken.name, taken.type, taken.shape[1]) == (
        "observations",
        "tensor(uint8)",
        game.observation_bytes,
    )
    assert [given.name for given in session.get_outputs()] == ["policy_logits", "outcomes"]

    with torch.no_grad():
        expected = network.eval()(torch.from_numpy(observations_BN))
    logits_BA = expected.policy_logits_BA.numpy()
    outcomes_BO = expected.outcome_logits_BO.softmax(dim=1).numpy()
    assert logits_BA.std() > 0.05  # or everything would agree
    for size in (1, 3, 130):
        got = session.run(None, {"observations": observations_BN[:size]})
        assert [answer.dtype for answer in got] == [np.float32, np.float32]
        np.testing.assert_allclose(got[0], logits_BA[:size], atol=1e-4, rtol=0)
        np.testing.assert_allclose(got[1], outcomes_BO[:size], atol=1e-4, rtol=0)

    metadata = session.get_modelmeta().custom_metadata_map
    assert nets.NetworkSpec.from_dict(json.loads(metadata["spec"])) == network.spec
