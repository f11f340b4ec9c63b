"""A graph is read as it was written, or refused by name."""

from dataclasses import replace

import pytest

from zerofleet.weights import BadWeights, Graph, has_graph, read_graph, write_graph

GRAPH = Graph(b"a graph", {"kind": "board"}, {"a": [3, 2], "b": [1]}, {"a": "float32"})


def test_what_was_written_is_read(tmp_path):
    assert not has_graph(tmp_path)
    write_graph(tmp_path, GRAPH)
    assert has_graph(tmp_path)
    assert read_graph(tmp_path) == GRAPH


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("graph.onnx", b"A graph", "sha256 differs from its manifest"),
        ("graph.json", b"{}", "KeyError"),
        ("graph.json", b"[1]", "TypeError"),
        ("graph.json", b"\xff", "UnicodeDecodeError"),
        ("graph.onnx", None, "FileNotFoundError"),
    ],
)
def test_a_damaged_graph_is_refused_by_name(tmp_path, name, content, fault):
    write_graph(tmp_path, GRAPH)
    (tmp_path / name).unlink()
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(BadWeights, match=rf"{tmp_path}/graph.onnx refused: {fault}"):
        read_graph(tmp_path)


def test_a_graph_that_takes_what_no_weights_have_is_refused(tmp_path):
    write_graph(tmp_path, replace(GRAPH, inputs={"c": "float32"}))
    with pytest.raises(BadWeights, match=r"graph.onnx refused: it takes c, which no weights have"):
        read_graph(tmp_path)


@pytest.mark.parametrize("dtype", ["evil", "O", 5])
def test_a_graph_with_weights_of_an_unknown_type_is_refused(tmp_path, dtype):
    write_graph(tmp_path, replace(GRAPH, inputs={"a": dtype}))
    with pytest.raises(BadWeights, match=rf"refused: it takes weights as {dtype}; known"):
        read_graph(tmp_path)
