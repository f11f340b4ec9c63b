"""What every evaluator promises, whatever it runs on."""

from dataclasses import replace

import numpy as np
import pytest
import safetensors.torch
import torch

import zerofleet as zf
from zerofleet import infer
from zerofleet.errors import BadBytes, BadText, Inconsistent, Unsupported
from zerofleet.infer.onnx_evaluator import as_array
from zerofleet.nets.onnx import exported


def assert_answers(evaluator, observations_BN, expected):
    for got, wanted in zip(evaluator(observations_BN), expected, strict=True):
        assert got.dtype == np.float32
        assert got.flags.c_contiguous
        np.testing.assert_allclose(got, wanted, atol=1e-4, rtol=0)


def test_it_answers_as_the_network_does(evaluator, observations_BN, expected):
    assert evaluator.version == 40
    assert_answers(evaluator, observations_BN, expected(1))
    assert_answers(evaluator, observations_BN[:1], [rows[:1] for rows in expected(1)])


def test_answers_are_the_callers_own(evaluator, observations_BN):
    first, _ = evaluator(observations_BN)
    kept = first.copy()
    second, _ = evaluator(observations_BN[::-1])
    assert np.array_equal(first, kept)
    np.testing.assert_allclose(second[::-1], first, atol=1e-5)


def test_new_weights_answer_under_their_version(evaluator, make_network, observations_BN, expected):
    evaluator.load(make_network(2).state_dict(), version=41)
    assert evaluator.version == 41
    assert_answers(evaluator, observations_BN, expected(2))


def test_weights_can_be_arrays_or_safetensors(evaluator, make_network, observations_BN, expected):
    arrays = {name: value.numpy() for name, value in make_network(2).state_dict().items()}
    evaluator.load(arrays, version=41)
    assert_answers(evaluator, observations_BN, expected(2))
    evaluator.load(safetensors.torch.save(make_network(3).state_dict()), version=42)
    assert_answers(evaluator, observations_BN, expected(3))


@pytest.mark.parametrize(
    ("change", "error", "fault"),
    [
        (lambda state: state.pop("stem.conv.weight"), Inconsistent, "stem.conv.weight is missing"),
        (
            lambda state: state.update(extra=state["stem.conv.weight"]),
            Inconsistent,
            "extra is not of this network",
        ),
        (
            lambda state: state.update({"stem.norm.bias": state["stem.norm.bias"][:3]}),
            Inconsistent,
            r"stem.norm.bias must be \[8\], got \[3\]",
        ),
    ],
)
def test_weights_that_do_not_fit_are_refused_and_the_old_ones_stay_in_use(
    evaluator, make_network, observations_BN, expected, change, error, fault
):
    state = dict(make_network(2).state_dict())
    change(state)
    with pytest.raises(error, match=f"^weights 41 refused: {fault}; still serving 40$"):
        evaluator.load(state, version=41)
    assert evaluator.version == 40
    assert_answers(evaluator, observations_BN, expected(1))


def test_torn_safetensors_are_refused(evaluator, make_network):
    torn = safetensors.torch.save(make_network(2).state_dict())[:-100]
    with pytest.raises(
        BadBytes, match=r"^weights 41 refused: not safetensors .*; still serving 40"
    ):
        evaluator.load(torn, version=41)


@pytest.mark.parametrize(
    "wrong",
    [np.zeros((2, 42), np.uint8), np.zeros((2, 43), np.float32), np.zeros(43, np.uint8), "rows"],
)
def test_observations_of_another_shape_are_refused(evaluator, wrong):
    with pytest.raises(BadText, match=r"must be a numpy array uint8 \[batch, 43\], got "):
        evaluator(wrong)


def test_search_and_self_play_take_it(evaluator):
    game = zf.games.get("connect4")
    found = zf.search.analyse(game.from_text("414141"), evaluator, num_simulations=100)
    assert found.best_action == 3  # the fourth in column 4
    episodes = zf.selfplay.play(game, evaluator, num_episodes=2, num_simulations=4)
    assert [zf.games.Episode.decode(each).game for each in episodes] == ["connect4"] * 2


@pytest.mark.parametrize("kind", ["torch", "onnx"])
def test_a_network_in_training_does_not_change_its_evaluator(
    kind, make_network, observations_BN, expected
):
    network = make_network(1)
    evaluator = infer.make_evaluator(network, kind, "cpu")
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
    assert network.training
    assert_answers(evaluator, observations_BN, expected(1))


def test_weights_of_one_number_keep_their_shape():
    assert as_array(torch.tensor(2.0), "float32").shape == ()
    assert as_array(np.ones((2, 3))[:, ::2], "float32").flags.c_contiguous


def test_an_evaluator_needs_a_thread(make_network):
    with pytest.raises(Unsupported, match="num_threads must be at least 1, got 0"):
        infer.make_evaluator(make_network(1), "onnx", "cpu", num_threads=0)


def graph_with(edit, make_network):
    """The graph of the tiny network, as an attacker may have changed it."""
    onnx = pytest.importorskip("onnx")
    graph = exported(make_network(1).spec)
    model = onnx.ModelProto.FromString(graph.onnx)
    edit(model.graph)
    return replace(graph, onnx=model.SerializeToString())


@pytest.mark.parametrize("place", ["secret", "../here/secret", "/etc/hostname"])
def test_a_graph_reads_no_file(tmp_path, monkeypatch, make_network, place):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "here" / "secret").write_bytes(b"secret")

    def read_it(graph):
        reads = graph.initializer.add(name="reads", data_type=2, dims=[6], data_location=1)
        reads.external_data.add(key="location", value=place)
        graph.node.add(op_type="Identity", input=["reads"], output=["read"])
        graph.output.add(name="read").type.tensor_type.elem_type = 2

    network = make_network(1)
    with pytest.raises(BadBytes, match=r"graph of connect4 is refused: .*External data path"):
        infer.OnnxEvaluator(graph_with(read_it, make_network), network.state_dict())


def test_a_graph_without_the_outputs_is_refused_before_it_answers(make_network):
    graph = graph_with(lambda graph: graph.output.pop(0), make_network)
    inputs_and_outputs = r"is refused: it has inputs \['observations'\] and outputs \["
    with pytest.raises(BadBytes, match=inputs_and_outputs):
        infer.OnnxEvaluator(graph, make_network(1).state_dict())
