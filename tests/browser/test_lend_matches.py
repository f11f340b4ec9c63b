"""Rating games that real tabs play: those of one machine, and each block counts once."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest
from browser import Dash, needs_browser, until
from lent_run import LentServer, lent_server
from lent_tab import ask_player
from match_client import merged, offer, on_one_machine
from rated_run import STEP, fleet_matches, rated_run
from rated_run import on_one_machine as on_one_machine_of_run
from redis_server import RedisServer, needs_redis

import zerofleet as zf
from zerofleet.arena.pairs import play_pairs
from zerofleet.arena.player import Player
from zerofleet.arena.search_players import SearchPlayer
from zerofleet.arena.simple_players import RandomPlayer
from zerofleet.arena.starts import opening_of_each_pair
from zerofleet.fleet import rating_blocks
from zerofleet.fleet.rater import Interrupted, Rating
from zerofleet.fleet.rater_role import published_player
from zerofleet.games import Episode
from zerofleet.web.lend.matches import match_settings

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [needs_browser, needs_redis]

PATIENCE_S = 90
SEED, PAIRS, SIMULATIONS = 2**62 + 19, [3, 4], 12


@pytest.fixture(scope="module")
def empty_dash(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dash]:
    with Dash(tmp_path_factory.mktemp("no-runs")) as server:
        yield server


@pytest.fixture(scope="module")
def lent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LentServer]:
    folder = tmp_path_factory.mktemp("lent")
    with RedisServer(folder) as redis, lent_server(folder, redis) as server:
        yield server


PLAYERS = [("hash", "playout"), ("random", "hash")]
SIDES: dict[str, dict[str, Any]] = {
    "hash": {"kind": "network", "settings": match_settings(SIMULATIONS)},
    "playout": {"kind": "playout", "settings": match_settings(SIMULATIONS)},
    "random": {"kind": "random", "settings": {}},
}


def natively(name: str) -> Player:
    if name == "random":
        return RandomPlayer()
    return SearchPlayer(name, "hash" if name == "hash" else "playout", SIMULATIONS)


LONG = pytest.mark.long


@pytest.mark.parametrize(
    ("game", "named"),
    [
        ("backgammon", ("hash", "playout")),
        ("beastybar", ("random", "hash")),
        pytest.param("backgammon", ("random", "hash"), marks=LONG),
        pytest.param("beastybar", ("hash", "playout"), marks=LONG),
        *(pytest.param("connect4", each, marks=LONG) for each in PLAYERS),
        *(pytest.param("gomoku", each, marks=LONG) for each in PLAYERS),
    ],
)
def test_with_evaluators_of_the_core_a_tabs_match_games_equal_native_ones_bit_by_bit(
    page: "Page", empty_dash: Dash, game: str, named: tuple[str, str]
) -> None:
    core_game = zf.games.get(game)
    opening_of = opening_of_each_pair(core_game, SEED)
    openings = {pair: opening_of(pair) for pair in PAIRS}
    part = {
        "key": "m",
        "first": 0,
        "game": game,
        "options": {},
        "seed": str(SEED),
        "sides": [SIDES[each] for each in named],
        "pairs": [{"pair": pair, "opening": list(openings[pair])} for pair in PAIRS],
    }
    page.goto(empty_dash.url + "/runs")
    answers = ask_player(page, [{"type": "match", "part": part, "isWatched": True}])
    theirs = next(each["games"] for each in answers if each.get("isEnd"))
    players = (natively(named[0]), natively(named[1]))
    played = play_pairs(core_game, players, SEED, openings, lambda num_over: None, Event())
    ours = [[event.id for event in Episode.decode(each.episode).events] for each in played]
    assert theirs == ours


def lend(page: "Page", lent: LentServer, name: str) -> None:
    page.goto(lent.url + "/lend")
    page.get_by_label("Your name on the community page").fill(name)
    page.get_by_label("I agree", exact=True).check()
    page.get_by_role("button", name="Sign up").click()
    page.get_by_label("CPU").fill("100")
    page.get_by_role("button", name="Start").click()


@pytest.mark.long
def test_matches_are_played_by_a_tab_and_agree_with_those_of_one_machine(
    lent: LentServer, page: "Page"
) -> None:
    lent.trainer.publish(2)
    newest, start = published_player(2, 8), published_player(1, 8)
    offered = [
        (name, first, second, offer(lent, name, first, second, 24))
        for name, first, second in (
            ("a", newest, start),
            ("b", newest, "random"),
            ("c", "playout-8", "random"),
        )
    ]
    lend(page, lent, "Ada")
    found = [(first, second, merged(lent, name, each)) for name, first, second, each in offered]
    num_trained = len(lent.trainer.taken)
    until(lambda: len(lent.trainer.taken) > num_trained, PATIENCE_S)
    assert "refused" not in page.locator(".figures").first.inner_text()
    page.get_by_role("button", name="Stop").click()
    until(lambda: "stopped" in page.locator(".lend-phase").inner_text())
    for first, second, ours in found:
        theirs = on_one_machine(lent, first, second, 24)
        same = [a == b for a, b in zip(ours.episodes, theirs.episodes, strict=True)]
        assert sum(same) >= (22 if first == newest else 24), "networks agree to rounding"
    assert lent.trainer.num_twice == 0


class Said:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        self.lines.append(text)

    def show_doing(self, text: str) -> None:
        pass


def test_the_rating_of_a_run_is_played_by_a_tab_alone_and_counts_once(
    tmp_path: Path, page: "Page", monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the trainer's side offers, collects and merges it: two opponents, two blocks each. The
    options of this run are not the game's defaults."""
    monkeypatch.setattr(rating_blocks, "POLL_S", 0.05)
    said, ended, num_games = Said(), Event(), 66

    def until_ended(*progress: object) -> None:
        if ended.is_set():
            raise Interrupted

    with (
        RedisServer(tmp_path) as redis,
        lent_server(tmp_path, redis, "tictactoe", "lend.max_games_at_once=16") as lent,
    ):
        run, asked = rated_run("rated")
        trainers = fleet_matches(run, asked, lent.trainer.bus, said)
        rating = Rating(STEP, {}, num_games, in_background=True)
        with ThreadPoolExecutor(1) as thread:
            playing = thread.submit(lambda: list(trainers.play(rating, until_ended)))
            try:
                lend(page, lent, "Ada")
                found = {opponent: match for _, opponent, match in playing.result(PATIENCE_S)}
            finally:
                ended.set()
        gateway = lent.lending._gateway
        assert gateway is not None
        lent.wait_for(lambda: gateway.matches.num_delivered == 4, "the count of four blocks")
        assert said.lines == []
        for opponent, played in on_one_machine_of_run(run, asked).items():
            pairs = zip(found[opponent].played, played[:num_games], strict=True)
            assert sum(a == b for a, b in pairs) >= num_games - 2, "networks agree to rounding"
