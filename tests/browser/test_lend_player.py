"""Games that a lent tab plays, in a real browser, against the same games played natively."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from browser import CHROMIUM, FLAGS, WEBGPU, Dash, needs_browser, watched_page
from lent_tab import ask_player, episodes_of, text_of
from played_games import played
from safetensors.numpy import load_file

import zerofleet as zf
from zerofleet import _core
from zerofleet.arena.compare_games import compare
from zerofleet.infer.onnx_evaluator import OnnxEvaluator
from zerofleet.infer.onnx_file import onnx_with_weights
from zerofleet.runs import LoggedGame
from zerofleet.runs.logged_games import EpisodeList
from zerofleet.weights import read_graph
from zerofleet.weights.best import best_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = needs_browser

SEED, WORKER, VERSION, FIRST = 2**63 + 11, 2**64 - 5, 7, 2**40
SETTINGS = {"num_simulations": 16, "full_search_probability": 0.5, "fast_simulations": 4}
COUNT = 5
WEBGPU_BOUND = 1e-4
"""Stated in docs/12-lending.md: of a probability, and of a logit relative to its size above 1."""
SHIPPED = ["beastybar", "backgammon", "connect4", "gomoku"]


@pytest.fixture(scope="module")
def empty_dash(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dash]:
    with Dash(tmp_path_factory.mktemp("no-runs")) as server:
        yield server


def portion(game: str, **changes: Any) -> dict[str, Any]:
    """A request to play; 64-bit numbers as texts, which JSON keeps."""
    return {
        "type": "play",
        "isWatched": True,
        "portion": {
            "assignment": 1,
            "game": game,
            "options": {},
            "settings": {**SETTINGS, "reuse_tree": False},
            "version": str(VERSION),
            "worker": str(WORKER),
            "seed": str(SEED),
            "firstSequence": str(FIRST),
            "count": COUNT,
            "batch": 3,
            **changes,
        },
    }


def native(game: str, evaluator: str | None = "hash") -> _core.SelfPlay:
    settings = {**SETTINGS, "reuse_tree": False, "cache_bytes": 1 << 20}
    ids = {"version": VERSION, "first_sequence": FIRST, "num_games": COUNT}
    return _core.SelfPlay(
        zf.games.get(game), settings, 1, 3, 0, evaluator, SEED, WORKER, None, **ids
    )


@pytest.mark.parametrize(
    "build",
    ["zerofleet-[!p]*.wasm", pytest.param("zerofleet-plain-*.wasm", marks=pytest.mark.long)],
)
@pytest.mark.parametrize("game", ["backgammon", "beastybar", "connect4", "gomoku"])
def test_with_the_arithmetic_evaluator_a_tabs_games_equal_native_ones_bit_by_bit(
    page: "Page", empty_dash: Dash, game: str, build: str
) -> None:
    page.goto(empty_dash.url + "/runs")
    answers = ask_player(page, [portion(game)], build)
    driver = native(game)
    driver.wait_for_episodes(COUNT, 60)
    assert len(driver_episodes := driver.take_episodes()) == COUNT
    assert sorted(episodes_of(answers)) == sorted(driver_episodes)


# ---- with a network


def network_of(game: str) -> tuple[OnnxEvaluator, bytes]:
    """The shipped weights, natively and as one file."""
    best = best_of(game, zf.games.get(game).options)
    graph = read_graph(best.path.parent)
    state = load_file(best.path)
    return OnnxEvaluator(graph, state), onnx_with_weights(graph, state, VERSION)


def check_rows(game: str, network: OnnxEvaluator, num_rows: int) -> dict[str, Any]:
    """Observations of played games with native answers."""
    core_game, episodes = played(game, 4)
    rows = np.concatenate([each.observations(core_game)[0] for each in episodes])
    observations = np.ascontiguousarray(rows[:: max(1, len(rows) // num_rows)][:num_rows])
    logits, outcomes = network(observations)
    return {
        "numRows": len(observations),
        "observations": text_of(observations.tobytes()),
        "policyLogits": text_of(logits.astype("<f4").tobytes()),
        "outcomes": text_of(outcomes.astype("<f4").tobytes()),
    }


def weights(
    game: str, backend: str = "wasm", num_threads: int = 1, num_rows: int = 48
) -> dict[str, Any]:
    network, onnx = network_of(game)
    return {
        "type": "weights",
        "onnx": text_of(onnx),
        "check": check_rows(game, network, num_rows),
        "backend": backend,
        "numThreads": num_threads,
    }


@pytest.mark.parametrize(
    "game",
    ["beastybar", *(pytest.param(each, marks=pytest.mark.long) for each in SHIPPED[1:])],
)
def test_with_the_shipped_network_answers_agree_within_a_thousandth(
    page: "Page", empty_dash: Dash, game: str
) -> None:
    page.goto(empty_dash.url + "/runs")
    (started, loaded) = ask_player(page, [weights(game)])
    assert started["type"] == "started"
    assert loaded["isUsable"]
    assert loaded["difference"] < 1e-3


@pytest.mark.long
def test_with_a_network_a_tabs_games_agree_with_native_ones_decision_by_decision(
    page: "Page", empty_dash: Dash
) -> None:
    page.goto(empty_dash.url + "/runs")
    page.set_default_timeout(180_000)
    network, _ = network_of("connect4")
    answers = ask_player(page, [weights("connect4"), portion("connect4")])
    driver = native("connect4", None)
    while not driver.finished:
        if (batch := driver.next_batch(0)) is not None:
            group, rows = batch
            driver.submit(group, *network(rows), VERSION)
    ours = {each.sequence: each for each in map(zf.games.Episode.decode, driver.take_episodes())}
    theirs = {each.sequence: each for each in map(zf.games.Episode.decode, episodes_of(answers))}
    assert ours.keys() == theirs.keys() == set(range(FIRST, FIRST + COUNT))
    num_compared = 0
    for sequence, episode in ours.items():
        for here, there in zip(episode.events, theirs[sequence].events, strict=False):
            assert np.allclose(here.outcomes_to_move, there.outcomes_to_move, atol=2e-2)
            num_compared += 1
            if here.id != there.id:  # rounding may turn a decision; from here on it is another game
                break
    assert num_compared >= sum(len(each.events) for each in ours.values()) / 2


def small_network(game: zf.games.Game) -> tuple[OnnxEvaluator, bytes]:
    """Its weights doubled: a fresh network prefers nothing."""
    torch = pytest.importorskip("torch")
    from zerofleet import nets
    from zerofleet.nets.onnx import exported

    torch.manual_seed(1)
    network = nets.build(game, "tiny")
    state = {
        name: each.numpy() * np.float32(2) if each.dim() > 1 else each.numpy()
        for name, each in network.state_dict().items()
    }
    graph = exported(network.spec)
    return OnnxEvaluator(graph, state), onnx_with_weights(graph, state, VERSION)


@pytest.mark.long
@pytest.mark.parametrize(("name", "count"), [("connect4", 150), ("backgammon", 60)])
def test_games_of_a_tab_and_native_ones_of_other_seeds_have_the_same_distributions(
    page: "Page", empty_dash: Dash, name: str, count: int
) -> None:
    """Lengths, results, policies and errors of values by permutation tests; dice against their
    probabilities."""
    page.goto(empty_dash.url + "/runs")
    page.set_default_timeout(300_000)
    game = zf.games.get(name)
    network, onnx = small_network(game)
    load = {"type": "weights", "onnx": text_of(onnx), "backend": "wasm", "numThreads": 1}
    check = check_rows(name, network, 16)
    settings = {"num_simulations": 8, "root": "gumbel", "reuse_tree": False}
    asked = portion(name, count=count, batch=count // 3, settings=settings)
    answers = ask_player(page, [load | {"check": check}, asked])
    driver = _core.SelfPlay(
        game, settings, 1, count, 0, None, SEED + 1, WORKER - 1, None, version=VERSION,
        num_games=count,
    )  # fmt: skip
    while not driver.finished:
        if (batch := driver.next_batch(0)) is not None:
            driver.submit(batch[0], *network(batch[1]), VERSION)
    tabs, ours = (
        list(EpisodeList(source, game, enumerate(sorted(episodes))))
        for source, episodes in (("tab", episodes_of(answers)), ("ours", driver.take_episodes()))
    )
    assert len(tabs) == len(ours) == count
    found = compare(tabs, ours)
    for each in found.contrasts:
        print(name, each.measure, each.difference, f"p {each.p}")
    assert found.verdict.startswith("No difference was found")
    if name == "backgammon":
        excess, freedom = dice_excess(tabs)
        print(f"dice: chi-squared {excess:.1f} with {freedom} degrees of freedom")
        assert excess < freedom + 4 * (2 * freedom) ** 0.5


def dice_excess(played_games: Sequence[LoggedGame]) -> tuple[float, int]:
    """Chi-squared of all rolls against their probabilities, and its degrees of freedom."""
    seen: Counter[int] = Counter()
    expected: Counter[int] = Counter()
    for each in played_games:
        for position, event in zip(each.positions(), each.episode.events, strict=False):
            if event.kind == "chance":
                seen[event.id] += 1
                expected.update(dict(position.chance_outcomes()))
    rolls = [roll for roll, number in expected.items() if number >= 5]
    excess = sum((seen[roll] - expected[roll]) ** 2 / expected[roll] for roll in rolls)
    return excess, len(rolls) - 1


# ---- WebGPU


@pytest.fixture(scope="module")
def gpu_page(browser: "Browser", empty_dash: Dash) -> "Iterator[Page]":
    """Of a browser with SwiftShader, a WebGPU in software: right, and slow."""
    other = browser.browser_type.launch(executable_path=CHROMIUM, args=[*FLAGS, *WEBGPU])
    try:
        with watched_page(other) as page:
            page.set_default_timeout(600_000)
            page.goto(empty_dash.url + "/runs")
            assert page.evaluate("navigator.gpu.requestAdapter().then((found) => found !== null)")
            yield page
    finally:
        other.close()


@pytest.mark.long
@pytest.mark.parametrize("game", SHIPPED)
def test_on_webgpu_answers_of_each_kind_of_network_agree_within_the_stated_bound(
    gpu_page: "Page", game: str
) -> None:
    began_s = time.monotonic()
    (_, loaded) = ask_player(gpu_page, [weights(game, "webgpu", num_rows=8)])
    print(f"{game}: {loaded['difference']:.1e} in {time.monotonic() - began_s:.0f} s")
    assert loaded["isUsable"]
    assert loaded["difference"] < WEBGPU_BOUND


@pytest.mark.long
def test_on_webgpu_games_are_played(gpu_page: "Page") -> None:
    asked = portion("beastybar", count=2, settings={"num_simulations": 2})
    answers = ask_player(gpu_page, [weights("beastybar", "webgpu", num_rows=8), asked])
    assert len(episodes_of(answers)) == 2
