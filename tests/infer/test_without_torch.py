"""The weights that come with zerofleet answer without torch, and as they do with it."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from command_line import TRAIN_ONLY, ran_without

import zerofleet as zf
from zerofleet.errors import BadBytes, Inconsistent
from zerofleet.infer.calibration import some_observations
from zerofleet.infer.load import load_file, network_of
from zerofleet.nets.onnx import fresh_graph
from zerofleet.weights import BadWeights, all_best, find_best, read_graph, read_weights, write_graph
from zerofleet.weights.spec import NetworkSpec

BEST = {best.path.parent.name: best for best in all_best()}


@pytest.mark.parametrize("name", BEST)
def test_the_graph_of_shipped_weights_answers_as_the_torch_network_does(name):
    best = BEST[name]
    game = zf.games.get(best.game, **best.options)
    rows_BN = some_observations(game)[::32]
    network, version = network_of(read_weights(best.path, name), game)
    with torch.inference_mode():
        expected = network(torch.from_numpy(rows_BN))
    evaluator = load_file(best.path, game, device="cpu")
    assert isinstance(evaluator, zf.infer.OnnxEvaluator)
    assert evaluator.version == version
    logits_BA, outcomes_BO = evaluator(rows_BN)
    np.testing.assert_allclose(logits_BA, expected.policy_logits_BA.numpy(), atol=1e-4)
    outcomes = expected.outcome_logits_BO.softmax(dim=1).numpy()
    np.testing.assert_allclose(outcomes_BO, outcomes, atol=1e-4)


@pytest.mark.long
@pytest.mark.parametrize("name", BEST)
def test_the_stored_graphs_are_those_that_an_export_makes(name):
    folder = BEST[name].path.parent
    stored = read_graph(folder)
    assert fresh_graph(NetworkSpec.from_dict(stored.spec)) == stored, "run scripts/write-graphs"


def test_best_plays_a_match_a_game_and_an_analysis_without_torch(tmp_path):
    match = ["match", "connect4", "best,sims=8", "playout-8", "--games", "2", "--threads", "1"]
    analyses = (
        "import zerofleet as zf\n"
        "game = zf.games.get('connect4')\n"
        "evaluator = zf.load('best', game=game)\n"
        "found = zf.search.analyse(game.from_text('414141'), evaluator, num_simulations=50)\n"
        "print('best', found.best_action)\n"
    )
    ran = ran_without(TRAIN_ONLY, tmp_path, *match, first=analyses)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "best 3\n" in ran.stdout
    assert "won 2, drawn 0, lost 0" in ran.stdout
    play = ["play", "connect4", "--against", "best,sims=8", "--seat", "first"]
    ran = ran_without(TRAIN_ONLY, tmp_path, *play, typed="4\n")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "best,sims=8 plays" in ran.stdout


def test_best_plays_where_torch_is_installed_without_the_exporter(tmp_path):
    match = ["match", "connect4", "best,sims=0", "random", "--games", "2", "--threads", "1"]
    ran = ran_without(("onnx", "onnxscript"), tmp_path, *match)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_the_plain_package_plays_and_says_in_one_line_what_best_needs(tmp_path):
    plain = (*TRAIN_ONLY, "onnxruntime")
    match = ["match", "connect4", "heuristic", "playout-8", "--games", "2", "--threads", "1"]
    ran = ran_without(plain, tmp_path, *match)
    assert (ran.returncode, ran.stderr) == (0, "")
    match = ["match", "connect4", "best", "random", "--games", "2"]
    ran = ran_without(plain, tmp_path, *match)
    assert ran.returncode == 2
    (line,) = ran.stderr.splitlines()
    assert "onnxruntime" in line
    assert line.endswith("; pip install 'zerofleet[play]'")


def test_weights_without_a_graph_or_for_another_device_say_in_one_line_that_they_need_torch(
    tmp_path,
):
    best = BEST["connect4"].path
    for name in ("weights.safetensors", "weights.json"):
        shutil.copyfile(best.with_name(name), tmp_path / name)
    match = ["match", "connect4", f"file:{tmp_path / best.name}", "random", "--games", "2"]
    ran = ran_without(TRAIN_ONLY, tmp_path, *match)
    assert ran.returncode == 2
    assert ran.stderr == (
        f"zerofleet: {tmp_path} has no graph.onnx, so its weights need torch; "
        "pip install 'zerofleet[train]'\n"
    )
    for how in ("device='cuda'", "kind='torch'"):
        loads = (
            "import zerofleet as zf\n"
            "try:\n"
            f"    zf.load('best', game='connect4', {how})\n"
            "except zf.errors.Unsupported as error:\n"
            "    print(error)\n"
        )
        ran = ran_without(TRAIN_ONLY, tmp_path, first=loads)
        assert ran.stdout.endswith("; pip install 'zerofleet[train]'\n"), ran.stderr


def test_a_damaged_graph_and_one_of_another_network_are_refused_by_name(tmp_path):
    game = zf.games.get("connect4")
    best = find_best(game.name, game.options)
    folder = shutil.copytree(best.path.parent, tmp_path / "kept")
    path = folder / best.path.name
    graph = read_graph(folder)
    other = {**graph.spec, "options": {**graph.spec["options"], "channels": 32}}
    write_graph(folder, replace(graph, spec=other))
    with pytest.raises(Inconsistent, match=r"^weights of the network board .* are not for board "):
        load_file(path, game, device="cpu")
    (folder / "graph.onnx").write_bytes(b"damaged")
    with pytest.raises(BadWeights, match=r"kept/graph.onnx refused: sha256 differs"):
        load_file(path, game, device="cpu")


@pytest.mark.parametrize(
    "change",
    [
        {"onnx": b"rubbish"},
        {"onnx": b""},
        {"inputs": {}},
    ],
)
def test_a_graph_that_cannot_be_computed_is_refused_in_one_line(change):
    graph = replace(read_graph(BEST["connect4"].path.parent), **change)
    tensors = read_weights(BEST["connect4"].path, "best").tensors
    with pytest.raises(BadBytes, match=r"^the graph of connect4 is refused: .*$"):
        zf.infer.OnnxEvaluator(graph, tensors)
