"""An ONNX graph gives what its network gives, is exported once per spec, and again if damaged."""

import json

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

import zerofleet as zf
from zerofleet import nets
from zerofleet.infer import make_evaluator
from zerofleet.nets.onnx import exported_graph


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


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ZEROFLEET_CACHE", str(tmp_path))
    exported_graph.cache_clear()
    yield tmp_path / "onnx"
    exported_graph.cache_clear()


def answers(network, rows):
    return make_evaluator(network, "onnx", "cpu")(rows)


def test_what_is_kept_answers_with_the_weights_of_each_network(cache):
    game = zf.games.get("connect4")
    rows = np.random.default_rng(1).integers(0, 3, (5, game.observation_bytes), dtype=np.uint8)
    for seed in (1, 2):
        torch.manual_seed(seed)
        network = nets.build(game, "tiny", num_blocks=1).eval()
        with torch.inference_mode():
            expected = network(torch.from_numpy(rows)).policy_logits_BA
        exported_graph.cache_clear()  # as another process would find it
        drawn = torch.get_rng_state()
        assert np.allclose(answers(network, rows)[0], expected.numpy(), atol=1e-5)
        assert torch.equal(torch.get_rng_state(), drawn)
        assert len(list(cache.iterdir())) == 1


def test_a_damaged_export_is_made_again(cache):
    game = zf.games.get("connect4")
    network = nets.build(game, "tiny", num_blocks=1).eval()
    rows = np.zeros((1, game.observation_bytes), np.uint8)
    before = answers(network, rows)
    (path,) = cache.glob("*/graph.onnx")
    for damaged in (b"\xff\xff damaged", b""):
        path.write_bytes(damaged)
        exported_graph.cache_clear()
        assert np.array_equal(answers(network, rows)[0], before[0])
        assert path.stat().st_size > 1000


def test_other_options_are_another_export(cache):
    game = zf.games.get("connect4")
    for num_blocks in (1, 2):
        make_evaluator(nets.build(game, "tiny", num_blocks=num_blocks), "onnx", "cpu")
    assert len(list(cache.iterdir())) == 2
