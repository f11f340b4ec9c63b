"""A lent tab and its gateway in a real browser: nothing finished is lost, nothing counts twice."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pytest
from browser import needs_browser, until, watched_page
from lent_page import phase, start_lending, totals
from small_gateway import SEED, TOKEN, WORKER, SmallGateway, Weights

import zerofleet as zf
from zerofleet import _core
from zerofleet.web.lend import messages

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = needs_browser

PATIENCE_S = 90
SIGNATURES = Path(__file__).parents[1] / "golden" / "signatures.txt"
decode = zf.games.Episode.decode


POWER = """
const battery = Object.assign(new EventTarget(), { charging: false });
const link = Object.assign(new EventTarget(), { saveData: false });
Object.defineProperty(navigator, "getBattery", { value: () => Promise.resolve(battery) });
Object.defineProperty(navigator, "connection", { value: link });
Object.assign(globalThis, { testBattery: battery, testLink: link });
"""
CHARGES = """(charging) => {
  testBattery.charging = charging;
  testBattery.dispatchEvent(new Event("chargingchange"));
}"""
IS_METERED = """(saveData) => {
  testLink.saveData = saveData;
  testLink.dispatchEvent(new Event("change"));
}"""


def actions(episode: zf.games.Episode) -> list[int]:
    return [event.id for event in episode.events]


@pytest.fixture(scope="module")
def weights() -> Weights:
    """Of a tiny network, drawn at random."""
    torch = pytest.importorskip("torch")
    from zerofleet.infer.onnx_evaluator import OnnxEvaluator
    from zerofleet.infer.onnx_file import onnx_with_weights
    from zerofleet.nets import build
    from zerofleet.nets.onnx import exported

    torch.manual_seed(1)
    game = zf.games.get("connect4")
    network = build(game, "tiny", channels=8, num_blocks=1)
    graph = exported(network.spec)
    state = {name: value.numpy() for name, value in network.state_dict().items()}
    evaluator = OnnxEvaluator(graph, state)
    observations = np.stack([game.new_position(seed).observe(0) for seed in range(3)])
    logits, outcomes = evaluator(observations)
    check = messages.CheckRows(
        3, observations.tobytes(), logits.astype("<f4").tobytes(), outcomes.astype("<f4").tobytes()
    )
    return Weights(3, onnx_with_weights(graph, state, 3), check, evaluator)


@pytest.fixture
def gateway(weights: Weights) -> Iterator[SmallGateway]:
    with SmallGateway(weights) as started:
        yield started


@pytest.mark.long
def test_games_of_a_tab_reach_the_gateway_and_are_those_that_were_asked_for(
    page: "Page", gateway: SmallGateway
) -> None:
    start_lending(page, gateway.url)
    until(lambda: len(gateway.games) >= 12, PATIENCE_S)
    assert gateway.num_downloads == 1
    assert gateway.ready[0].token == TOKEN
    golden = dict(line.split() for line in SIGNATURES.read_text().splitlines())
    assert gateway.ready[0].signatures == golden
    settings = {**gateway.settings, "reuse_tree": False}
    ids = {"version": 3, "num_games": 12}
    driver = _core.SelfPlay(
        zf.games.get("connect4"), settings, 1, 12, 0, None, SEED, WORKER, None, **ids
    )
    while not driver.finished:
        if (batch := driver.next_batch(0)) is not None:
            driver.submit(batch[0], *gateway.weights.evaluator(batch[1]), 3)
    ours = {(each.worker, each.sequence): each for each in map(decode, driver.take_episodes())}
    same = [actions(decode(gateway.games[key])) == actions(ours[key]) for key in ours]
    assert sum(same) >= 10, "networks agree to rounding, so nearly all games are the same"
    until(lambda: page.locator(".board-grid, .drop-board, svg").count() > 0)


def test_a_closed_tab_loses_no_finished_game_and_nothing_counts_twice(
    browser: "Browser", gateway: SmallGateway
) -> None:
    gateway.accepts = False
    gateway.count = 6
    with watched_page(browser) as page:
        start_lending(page, gateway.url)
        until(lambda: "6 to be sent" in totals(page), PATIENCE_S)
        sent = dict(gateway.games)
        assert 0 < len(sent) <= 6
        page.goto("about:blank")
        gateway.accepts, gateway.is_giving = True, False
        gateway.games.clear()
        start_lending(page, gateway.url)
        until(lambda: len(gateway.games) == 6, PATIENCE_S)
        assert sent.items() <= gateway.games.items()
        until(lambda: "0 to be sent" in totals(page))


@pytest.mark.long
def test_a_tab_closed_in_the_middle_plays_the_rest_of_its_games_when_it_comes_back(
    browser: "Browser", gateway: SmallGateway
) -> None:
    gateway.count = 64
    gateway.settings = {"num_simulations": 32}
    with watched_page(browser) as page:
        start_lending(page, gateway.url)
        until(lambda: len(gateway.games) >= 2, PATIENCE_S)
        page.goto("about:blank")
        num_before = len(gateway.games)
        assert num_before < 64
        gateway.is_giving = False
        start_lending(page, gateway.url)
        until(lambda: len(gateway.games) == 64, PATIENCE_S)
    assert gateway.num_downloads == 1, "the weights are kept"


def test_lost_connections_are_made_again_and_resent_games_are_harmless(
    page: "Page", gateway: SmallGateway
) -> None:
    gateway.accepts = False
    start_lending(page, gateway.url)
    for number in (1, 2):
        until(lambda number=number: len(gateway.ready) >= number, PATIENCE_S)
        until(lambda number=number: gateway.num_received >= number, PATIENCE_S)
        gateway.drop_all()
    gateway.accepts = True
    until(lambda: len(gateway.games) >= 8, PATIENCE_S)
    assert gateway.num_received > len(gateway.games)


@pytest.mark.long
def test_a_frozen_tab_continues_where_it_was(page: "Page", gateway: SmallGateway) -> None:
    start_lending(page, gateway.url)
    until(lambda: len(gateway.games) >= 4, PATIENCE_S)
    session = page.context.new_cdp_session(page)
    session.send("Page.setWebLifecycleState", {"state": "frozen"})
    gateway.drop_all()
    session.send("Page.setWebLifecycleState", {"state": "active"})
    num_before = len(gateway.games)
    until(lambda: len(gateway.games) >= num_before + 8, PATIENCE_S)


@pytest.mark.long
def test_pause_and_stop_end_the_games_and_start_continues(
    page: "Page", gateway: SmallGateway
) -> None:
    start_lending(page, gateway.url)
    until(lambda: len(gateway.games) >= 4, PATIENCE_S)
    page.get_by_role("button", name="Pause", exact=True).click()
    until(lambda: phase(page).startswith("paused"))
    page.get_by_role("button", name="Resume").click()
    until(lambda: phase(page).startswith(("playing", "waiting")))
    page.get_by_role("button", name="Stop").click()
    until(lambda: phase(page).startswith("stopped"))
    until(lambda: gateway.num_connected == 0)
    num_before = len(gateway.games)
    page.get_by_role("button", name="Start").click()
    until(lambda: len(gateway.games) > num_before, PATIENCE_S)


def test_on_battery_and_metered_links_a_tab_pauses_and_is_given_nothing(
    page: "Page", gateway: SmallGateway
) -> None:
    page.add_init_script(POWER)
    start_lending(page, gateway.url)
    until(lambda: phase(page).startswith("paused"), PATIENCE_S)
    assert "on battery" in phase(page)
    assert page.get_by_role("button", name="Resume").count() == 0
    assert gateway.ready == []
    page.evaluate(CHARGES, True)
    until(lambda: len(gateway.games) >= 1, PATIENCE_S)
    page.evaluate(IS_METERED, True)
    until(lambda: "metered link" in phase(page))
    until(lambda: gateway.num_connected == 0)
    page.wait_for_timeout(1000)
    num_given, num_received = gateway.num_given, len(gateway.games)
    page.wait_for_timeout(3000)
    assert (gateway.num_given, len(gateway.games)) == (num_given, num_received)
    page.get_by_label("Pause on a metered link").uncheck()
    until(lambda: len(gateway.games) > num_received, PATIENCE_S)


def test_a_tab_whose_signatures_differ_is_told_so_and_does_not_try_again(
    page: "Page", gateway: SmallGateway
) -> None:
    gateway.refusal = messages.Refused("signature", "this tab plays connect4 differently")
    start_lending(page, gateway.url)
    until(lambda: phase(page).startswith("refused"), PATIENCE_S)
    assert "plays connect4 differently" in phase(page)
    page.wait_for_timeout(2500)
    assert len(gateway.ready) == 1


@pytest.mark.long
def test_weights_whose_hash_differs_are_refused_by_name(
    page: "Page", gateway: SmallGateway
) -> None:
    true = gateway.weights.update()
    wrong = msgspec.structs.replace(true, sha256="0" * 64)
    gateway.weights = SimpleNamespace(version=3, onnx=gateway.weights.onnx, update=lambda: wrong)  # type: ignore[assignment]
    start_lending(page, gateway.url)
    until(lambda: phase(page).startswith("failed"), PATIENCE_S)
    assert f"weights 3 refused: sha256 is {true.sha256}" in phase(page)
    assert gateway.games == {}


def test_a_network_whose_answers_differ_from_the_recorded_ones_plays_nothing(
    page: "Page", gateway: SmallGateway
) -> None:
    true = gateway.weights.update()
    outcomes = np.frombuffer(true.check.outcomes, "<f4") + np.float32(0.01)
    check = msgspec.structs.replace(true.check, outcomes=outcomes.tobytes())
    wrong = msgspec.structs.replace(true, check=check)
    gateway.weights = SimpleNamespace(version=3, onnx=gateway.weights.onnx, update=lambda: wrong)  # type: ignore[assignment]
    start_lending(page, gateway.url)
    until(lambda: phase(page).startswith("failed"), PATIENCE_S)
    assert "differ from the recorded ones by 1.0e-2" in phase(page)
    assert gateway.games == {}


def test_nothing_is_played_before_consent(page: "Page", gateway: SmallGateway) -> None:
    page.goto(gateway.url + "/lend")
    sign_up = page.get_by_role("button", name="Sign up")
    sign_up.wait_for()
    page.get_by_text("They train an agent.").wait_for()
    page.get_by_label("Your name on the community page").fill("Ada")
    assert sign_up.is_disabled()
    assert page.get_by_role("button", name="Start").count() == 0
    assert page.evaluate("localStorage.length") == 0
    page.get_by_label("I agree", exact=True).check()
    assert sign_up.is_enabled()


@pytest.mark.long
def test_a_second_tab_of_the_same_browser_is_told_that_another_lends(
    page: "Page", gateway: SmallGateway
) -> None:
    start_lending(page, gateway.url)
    until(lambda: len(gateway.games) >= 1, PATIENCE_S)
    second = page.context.new_page()
    start_lending(second, gateway.url)
    until(lambda: phase(second).startswith("refused"), PATIENCE_S)
    assert "Another tab" in phase(second)


def test_deleting_the_account_erases_what_the_browser_stored(
    page: "Page", gateway: SmallGateway
) -> None:
    start_lending(page, gateway.url)
    until(lambda: len(gateway.games) >= 1, PATIENCE_S)
    page.get_by_role("button", name="Delete account").click()
    page.get_by_role("button", name="Delete it for good").click()
    page.get_by_role("button", name="Sign up").wait_for()
    assert page.evaluate("localStorage.length") == 0
    assert page.evaluate("indexedDB.databases().then((found) => found.length)") == 0
    until(lambda: gateway.num_connected == 0)
