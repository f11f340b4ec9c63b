"""Settings: what is refused and how, and that presets and saved files mean what they say."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from zerofleet import _core, config, nets
from zerofleet.arena.players import refuse_unknown
from zerofleet.config import Config, GameConfig
from zerofleet.config.presets import CUSTOM_GAME
from zerofleet.config.section import Section
from zerofleet.errors import BadText, Unsupported, ZerofleetError
from zerofleet.games import get

PROJECT = Path(__file__).parents[2]
PRESETS = sorted(
    path.relative_to(PROJECT)
    for path in PROJECT.glob("configs/*/*.yaml")
    if path.parent.name != CUSTOM_GAME
)


def written(folder: Path, text: str) -> Path:
    path = folder / "own.yaml"
    path.write_text(text)
    return path


# ---- presets


def test_every_game_has_three_presets_and_built_in_ones_also_those_of_gpus() -> None:
    assert config.trainable_games() == _core.game_names()
    for game in [*config.trainable_games(), CUSTOM_GAME]:
        assert {"fast", "standard", "production"} <= set(config.preset_names(game))
    for game in {_core.make_game(name, []).name for name in _core.game_names()}:
        assert {"h100", "h200", "h100_8gpu"} <= set(config.preset_names(game))


def test_a_file_can_be_based_on_another() -> None:
    eight = config.load("beastybar", "h100_8gpu")
    assert eight.run.training_devices == ["cuda:0"]
    assert len(eight.run.inference_devices) == 7
    assert eight.selfplay.games_per_group == 0  # of h200
    production = config.load("beastybar", "production")
    assert eight.train == production.train
    assert eight.search == production.search


def test_a_file_based_on_nothing_or_on_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("based_on: b\ngame: {name: connect4}\n")
    with pytest.raises(ZerofleetError, match=r"a\.yaml: unknown based_on b; known: none"):
        config.read(tmp_path / "a.yaml")
    (tmp_path / "b.yaml").write_text("based_on: a\n")
    with pytest.raises(ZerofleetError, match="circular based_on: a → b → a"):
        config.read(tmp_path / "a.yaml")


@pytest.mark.parametrize("path", PRESETS, ids=str)
def test_the_core_and_the_networks_take_every_preset(path: Path) -> None:
    loaded = config.load(path.parent.name, path.stem)
    options = [(name, str(value)) for name, value in loaded.game.options.items()]
    game = _core.make_game(loaded.game.name, options)
    assert game.options == dict(options)
    _core.SelfPlay(game, loaded.for_core(), 1, 1, 0, "uniform", 1, 0).stop()
    assert loaded.network.preset in nets.presets(game.name)


@pytest.mark.parametrize(
    "preset",
    [
        *("standard", "production", "h100", "h100_8gpu", "h200"),
        *("h100_maxout", "h100_8gpu_maxout", "published_run"),
    ],
)
def test_larger_runs_of_beasty_bar_are_rated_against_rules_and_playouts(preset: str) -> None:
    rating = config.load("beastybar", preset).rating
    rules = ["random", "heuristic", "aggressive", "defensive"]
    assert rating.opponents == [*rules, "playout-100", "playout-500"]
    assert rating.games == rating.final_games == 200
    for opponent in rating.opponents:
        refuse_unknown(get("beastybar"), opponent)


def test_the_published_run_has_the_settings_of_its_plan() -> None:
    run = config.load("beastybar", "published_run")
    search = run.search
    assert (search.num_simulations, search.root, search.c_puct) == (200, "puct", 1.5)
    assert (search.dirichlet_alpha, search.dirichlet_epsilon) == (0.3, 0.25)
    assert (run.stop.steps, run.train.batch_size) == (2000, 16384)
    assert (run.train.learning_rate, run.train.weight_decay) == (1e-4, 1e-4)
    assert (run.train.publish_every_steps, run.train.checkpoint_every_steps) == (100, 100)
    network = nets.build(get("beastybar"), run.network.preset, **run.network.options)
    planned = {
        "hidden_dim": 256,
        "num_heads": 8,
        "queue_layers": 6,
        "bar_layers": 2,
        "hand_layers": 2,
        "fusion_layers": 4,
        "feed_forward": 4,
        "species_embedding_dim": 64,
        "dropout": 0.1,
        "use_dueling": True,
        "use_auxiliary_heads": True,
    }
    assert network.spec.options == planned | {"outcome_layers": 3}


def test_a_preset_is_what_its_file_says() -> None:
    loaded = config.load("gomoku", "fast")
    assert loaded.game == GameConfig(
        name="gomoku", options={"size": 9, "line": 5, "rule": "freestyle"}
    )
    assert loaded.network.preset == "tiny"
    assert loaded.train.learning_rate == 0.003


def test_what_no_file_says_has_its_default() -> None:
    assert config.load("connect4").search.dirichlet_epsilon == 0.25


def test_every_setting_says_what_it_trades() -> None:
    for section in Config.model_fields.values():
        assert isinstance(section.annotation, type)
        assert issubclass(section.annotation, Section)
        for name, field in section.annotation.model_fields.items():
            assert field.description, name


# ---- setting


def test_overrides_take_precedence_over_the_file_and_the_last_one_counts() -> None:
    loaded = config.load(
        "connect4",
        overrides=[
            "search.num_simulations=64",
            "search.num_simulations=65",
            "train.learning_rate=3e-4",
            "stop.minutes=1.5",
            "run.deterministic=true",
            "train.checkpoint_every_minutes=null",
            "network.options.channels=16",
        ],
    )
    assert loaded.search.num_simulations == 65
    assert loaded.train.learning_rate == 3e-4
    assert loaded.stop.minutes == 1.5
    assert loaded.run.deterministic is True
    assert loaded.train.checkpoint_every_minutes is None
    assert loaded.network.options == {"channels": 16}


def test_game_options_override_the_file() -> None:
    assert config.load("gomoku", options={"size": "7"}).game.options["size"] == 7


def test_a_settings_file_replaces_a_preset(tmp_path: Path) -> None:
    path = written(tmp_path, "game: {name: connect4}\nsearch: {num_simulations: 7, c_puct: 2}\n")
    loaded = config.load("connect4", path=path)
    assert loaded.search.num_simulations == 7
    assert loaded.search.c_puct == 2
    assert loaded.network.preset == "small"


def test_settings_cannot_be_changed_once_built() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        config.load("connect4").search.num_simulations = 3  # type: ignore[misc]


@pytest.mark.parametrize("path", PRESETS, ids=str)
def test_a_saved_config_is_read_back_the_same(path: Path, tmp_path: Path) -> None:
    loaded = config.load(
        path.parent.name, path.stem, overrides=["train.learning_rate=1.3e-5", "stop.games=9"]
    )
    assert config.read(written(tmp_path, loaded.to_yaml())) == loaded


def test_differences_are_named_in_full_with_both_values() -> None:
    old = config.load("gomoku", overrides=["network.options.channels=8"])
    new = config.load("gomoku", overrides=["search.root=puct"], options={"size": 7})
    assert config.differences(old, new) == {
        "game.options.size": (9, 7),
        "search.root": ("gumbel", "puct"),
        "network.options.channels": (8, None),
    }


# ---- refusing


def test_policy_surprise_weighting_is_refused_with_afterstates() -> None:
    with pytest.raises(
        ZerofleetError, match=r"replay\.policy_surprise_weight \(0\.5\) needs searches"
    ) as said:
        config.load("backgammon", "fast", overrides=["replay.policy_surprise_weight=0.5"])
    assert "selfplay.afterstates" in str(said.value)
    overrides = ["replay.policy_surprise_weight=0.5", "selfplay.afterstates=false"]
    assert (
        config.load("backgammon", "fast", overrides=overrides).replay.policy_surprise_weight == 0.5
    )


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (
            "search.num_simulation=64",
            "unknown setting search.num_simulation; did you mean search.num_simulations?",
        ),
        (
            "num_simulations=64",
            "unknown setting num_simulations; did you mean search.num_simulations?",
        ),
        ("selfplay.c_puct=1", "unknown setting selfplay.c_puct; did you mean search.c_puct?"),
        ("serch.root=puct", "unknown setting serch; did you mean search.root?"),
        ("stop.xyzzy=1", "unknown setting stop.xyzzy; known: stop.steps, stop.games, stop.rows"),
        (
            "xyzzy=1",
            "unknown setting xyzzy; known: game, search, selfplay, opponent, network, replay, ",
        ),
        ("search.root=uct", "search.root must be 'puct' or 'gumbel', got \"uct\""),
        ("search.root=", "search.root must be 'puct' or 'gumbel', got null"),
        (
            "search.num_simulations=many",
            'search.num_simulations must be a valid integer, got "many"',
        ),
        ("search.num_simulations=1.5", "search.num_simulations must be a valid integer, got 1.5"),
        ("search.num_simulations=true", "search.num_simulations must be a valid integer, got true"),
        (
            "search.num_simulations=0",
            "search.num_simulations must be greater than or equal to 1, got 0",
        ),
        ("search.prove=1", "search.prove must be a valid boolean, got 1"),
        ("train.learning_rate=.nan", "train.learning_rate must be a finite number, got NaN"),
        ("run.seed=2026-11-15", 'run.seed must be a valid integer, got "2026-11-15"'),
        ("search=3", "search must be a section of settings, got 3"),
        ("search.prove.deep=3", 'search.prove must be a valid boolean, got {"deep": 3}'),
        ("game.options.size=[9]", "game.options.size must be a number or a word, got [9]"),
        ("game.options.siz=9", "gomoku: unknown option siz; did you mean size?"),
        ("game.options.size=99", "gomoku: size must be 3"),
        ("game.name=connect4", "is for connect4, not for gomoku"),
        ("network.options.a=word", 'network.options.a must be a number, true or false, got "word"'),
        ("replay.capacity_rows=5", "replay: min_rows (5000) is more than capacity_r"),
        ("search.root={", "expected the node content, but found"),
    ],
)
def test_a_wrong_setting_is_refused_by_name_with_what_would_be_right(
    override: str, message: str
) -> None:
    with pytest.raises(ZerofleetError) as refused:
        config.load("gomoku", "fast", overrides=[override])
    text = str(refused.value)
    assert text.startswith(f"--set {override}")
    assert message in text
    assert "\n" not in text


def test_an_override_without_a_value_is_refused() -> None:
    with pytest.raises(BadText, match=r"--set must be NAME=VALUE, such as search\.num_simul"):
        config.load("gomoku", overrides=["search.root"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "game: {name: gomoku}\nsearch: {num_simulation: 64}",
            "own.yaml: unknown setting search.num_simulation; did you mean search.num_simulations?",
        ),
        ("game: {name: gomoku}\nsearch:", "own.yaml: search must be a section of settings, got n"),
        ("game: {name: gomoku}\n1: 2", "own.yaml: unknown setting 1; known: game, search"),
        ("game: {name: gomoku}\ngame: {name: gomoku}", "own.yaml:2: game is set twice"),
        ("game: {name: gomoku, options: {siz: 3}}", "own.yaml: gomoku: unknown option siz; did"),
        ("game: {name: connect4}", "own.yaml: is for connect4, not for gomoku"),
        ("game: [", "own.yaml:1: expected the node content"),
        ("- 3", "own.yaml: must hold settings by section, such as `game: …`"),
        ("", "own.yaml: must hold settings by section, such as `game: …`"),
        ("game: !!python/object/apply:os.getpid []", "own.yaml:1: could not determine a constr"),
    ],
)
def test_a_wrong_file_is_refused_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, text)
    with pytest.raises(ZerofleetError) as refused:
        config.load("gomoku", path=Path("own.yaml"))
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize("bad", ["missing.yaml", "folder.yaml", "binary.yaml"])
def test_a_file_that_cannot_be_read_is_refused_by_its_name(tmp_path: Path, bad: str) -> None:
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadText, match=f"{bad}: cannot be read"):
        config.load("gomoku", path=tmp_path / bad)


def test_an_unknown_game_or_preset_is_refused_with_the_nearest() -> None:
    with pytest.raises(Unsupported, match=r"unknown game gomku; did you mean gomoku\? known: b"):
        config.load("gomku")
    with pytest.raises(Unsupported, match=r"unknown preset fats; did you mean fast\? known: f"):
        config.load("gomoku", "fats")
    with pytest.raises(Unsupported, match=r"unknown game \.\./gomoku; did you mean"):
        config.load("../gomoku")


def test_a_game_with_fixed_options_keeps_them() -> None:
    with pytest.raises(BadText, match="tictactoe: size must be 3, got 4"):
        config.load("tictactoe", options={"size": 4})
