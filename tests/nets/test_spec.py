"""Specs: they restore a network, and weights that do not fit are refused by name."""

import json

import pytest
import torch

import zerofleet as zf
from zerofleet import nets
from zerofleet.errors import BadText, Inconsistent, Unsupported


def test_a_spec_goes_through_json_and_brings_the_network_back(game_and_network, observe):
    game, network = game_and_network
    spec = nets.NetworkSpec.from_dict(json.loads(json.dumps(network.spec.to_dict())))
    assert spec == network.spec
    nets.refuse_mismatch(spec, game)
    again = nets.from_spec(spec)
    again.load_state_dict(network.state_dict())
    rows = torch.from_numpy(observe(game, 3))
    for one, other in zip(network.eval()(rows)[:2], again.eval()(rows)[:2], strict=True):
        assert torch.equal(one, other)


def spec_of(name, preset="tiny", options=None, **game_options):
    return nets.build(zf.games.get(name, **game_options), preset, **(options or {})).spec


def test_weights_of_another_game_are_refused_by_name():
    with pytest.raises(Inconsistent, match=r"^weights of connect4 are not for backgammon \(che"):
        nets.refuse_mismatch(spec_of("connect4"), zf.games.get("backgammon"))


def test_weights_of_another_board_size_are_refused_by_name():
    message = (
        r"^weights of gomoku \(size=9 line=5 rule=freestyle\) "
        r"are not for gomoku \(size=15 line=5 rule=freestyle\)$"
    )
    with pytest.raises(Inconsistent, match=message):
        nets.refuse_mismatch(spec_of("gomoku", size=9), zf.games.get("gomoku"))


def test_weights_of_another_network_are_refused_by_name():
    message = r"^weights of the network zones \(hidden_dim=48 .*\) are not for cards \(width=48 "
    with pytest.raises(Inconsistent, match=message):
        nets.refuse_mismatch(spec_of("beastybar"), spec_of("beastybar", "cards-tiny"))
    wider = spec_of("connect4", options={"channels": 64})
    with pytest.raises(Inconsistent, match=r"channels=32 .* are not for board \(channels=64 "):
        nets.refuse_mismatch(spec_of("connect4"), wider)


def test_weights_of_a_changed_custom_game_are_refused(get_game):
    spec = nets.build(get_game("nim"), "tiny").spec
    older = spec.model_copy(update={"observation_bytes": 5})
    message = "^weights of nim with observation_bytes 5 are not for one with 2$"
    with pytest.raises(Inconsistent, match=message):
        nets.refuse_mismatch(older, get_game("nim"))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"format": 2}, Unsupported, "has format 2; this build reads 1"),
        ({"kind": 3}, BadText, "not the spec of a network: kind: "),
        ({"colour": "red"}, BadText, "not the spec of a network: colour: "),
    ],
)
def test_what_is_not_a_spec_is_refused(change, error, message):
    values = spec_of("connect4").to_dict() | change
    with pytest.raises(error, match=message):
        nets.NetworkSpec.from_dict(values)


def test_a_spec_of_an_unknown_kind_builds_nothing():
    spec = spec_of("connect4")
    with pytest.raises(Unsupported, match="unknown kind of network bored; did you mean board"):
        nets.from_spec(spec.model_copy(update={"kind": "bored"}))


def test_a_spec_from_before_an_option_was_added_has_its_default():
    spec = nets.build(zf.games.get("beastybar"), "places-tiny").spec
    before = {name: value for name, value in spec.options.items() if name != "dropout"}
    assert nets.from_spec(spec.model_copy(update={"options": before})).spec == spec


@pytest.mark.parametrize(
    ("preset", "options", "error", "message"),
    [
        (
            "smal",
            {},
            Unsupported,
            "unknown preset of a network for beastybar smal; did you mean sm",
        ),
        ("tiny", {"hiden_dim": 8}, Unsupported, "unknown option of a zones network hiden_dim; did"),
        ("tiny", {"dropout": 1}, BadText, "a zones network: dropout: Input should be less than 1"),
        ("tiny", {"hidden_dim": "48"}, BadText, "a zones network: hidden_dim: Input should be a"),
        ("tiny", {"num_heads": 5}, BadText, "num_heads 5 must divide hidden_dim 48"),
        ("cards-tiny", {"num_heads": 5}, BadText, "num_heads 5 must divide width 48"),
    ],
)
def test_a_preset_or_option_that_is_wrong_is_named(preset, options, error, message):
    with pytest.raises(error, match=message):
        nets.build(zf.games.get("beastybar"), preset, **options)


def test_options_are_set_over_those_of_the_preset():
    spec = spec_of("connect4", options={"channels": 48})
    assert (spec.options["channels"], spec.options["num_blocks"]) == (48, 4)


def test_the_order_of_options_makes_no_difference():
    spec = spec_of("gomoku")
    turned = dict(reversed(spec.game_options.items()))
    nets.refuse_mismatch(spec.model_copy(update={"game_options": turned}), spec)
