"""An export is made once for a spec, and a damaged one is made again."""

import numpy as np
import pytest
import torch

import zerofleet as zf
from zerofleet import nets
from zerofleet.infer import exports, make_evaluator


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ZEROFLEET_CACHE", str(tmp_path))
    exports.exported_graph.cache_clear()
    yield tmp_path / "onnx"
    exports.exported_graph.cache_clear()


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
        exports.exported_graph.cache_clear()  # as another process would find it
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
        exports.exported_graph.cache_clear()
        assert np.array_equal(answers(network, rows)[0], before[0])
        assert path.stat().st_size > 1000


def test_other_options_are_another_export(cache):
    game = zf.games.get("connect4")
    for num_blocks in (1, 2):
        make_evaluator(nets.build(game, "tiny", num_blocks=num_blocks), "onnx", "cpu")
    assert len(list(cache.iterdir())) == 2
