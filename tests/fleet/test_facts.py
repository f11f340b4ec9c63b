"""A role serves a run only with the rules, episodes and self-play of its trainer."""

import re
from dataclasses import replace

import pytest
from tiny_runs import TINY_RUN

import zerofleet as zf
from zerofleet.bus import RoleEntry
from zerofleet.errors import BadBytes, BadText, Inconsistent, Unsupported
from zerofleet.fleet.facts import FleetFacts
from zerofleet.fleet.status import RegistryTotals
from zerofleet.nets.onnx import exported
from zerofleet.runs.folder import config_for, create_or_open
from zerofleet.weights import BadWeights, Graph


@pytest.fixture
def facts(tmp_path, monkeypatch):
    monkeypatch.setenv("ZEROFLEET_RUNS", str(tmp_path))
    config = config_for("r", "tictactoe", "fast", None, TINY_RUN)
    with create_or_open("r", config) as run:
        return FleetFacts.of(run, config, run.game())


def test_facts_and_settings_arrive_as_they_were_published(facts):
    arrived = FleetFacts.decode(facts.encode(), "r")
    assert arrived == facts
    assert arrived.config() == config_for("r", "tictactoe", "fast", None, TINY_RUN)
    arrived.refuse_unlike(arrived.played(None))


@pytest.mark.parametrize("name", ["rules", "signature", "episode_format"])
def test_a_role_with_other_rules_episodes_or_self_play_is_refused_with_both_fingerprints(
    facts, name
):
    other = 9 if name == "episode_format" else "0123456789abcdef"
    unlike = facts.model_copy(update={name: other})
    with pytest.raises(Inconsistent) as refused:
        unlike.refuse_unlike(unlike.played(None))
    assert re.search(rf"\b{getattr(facts, name)} here and {other} in the run", str(refused.value))


def test_a_custom_game_needs_its_file_and_a_built_in_one_takes_none(facts):
    custom = facts.model_copy(update={"is_custom": True, "game": "Sticks"})
    with pytest.raises(Unsupported, match=r"run r plays Sticks, a custom game; .* --game FILE"):
        custom.played(None)
    with pytest.raises(Inconsistent, match=r"--game sticks.py:Sticks: run r plays gomoku"):
        facts.played("sticks.py:Sticks")


def test_facts_that_cannot_be_read_are_refused_by_the_name_of_the_run(facts):
    with pytest.raises(BadBytes, match="run r cannot be read"):
        FleetFacts.decode(b"{}", "r")
    newer = b'{"format": 2, "program": "9.1", "what only 9.1 knows": 1}'
    with pytest.raises(Unsupported, match=r"has format 2, by zerofleet 9\.1; this is"):
        FleetFacts.decode(newer, "r")
    with pytest.raises(BadText, match="the settings of run r: game is missing"):
        facts.model_copy(update={"settings": "search: {no: 1}"}).config()


def test_a_graph_arrives_whole_or_is_refused_by_name():
    graph = exported(zf.nets.build(zf.games.get("tictactoe"), "tiny").spec)
    data = graph.encode()
    assert Graph.decode(data, "the graph of run r") == graph
    for damaged in (data[:-1], data[100:], b""):
        with pytest.raises(BadWeights, match=r"^the graph of run r refused: "):
            Graph.decode(damaged, "the graph of run r")


def test_what_a_worker_did_before_it_left_or_restarted_stays_counted():
    totals = RegistryTotals()
    first = RoleEntry("w", "worker", "h", "cpu", started=1.0, counters={"simulations": 5})
    assert totals.update([first]).simulations == 5
    assert totals.update([replace(first, counters={"simulations": 7})]).simulations == 7
    assert totals.update([]).simulations == 7
    again = replace(first, started=2.0, counters={"simulations": 2})
    assert totals.update([again]).simulations == 9
