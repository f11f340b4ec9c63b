"""Play through the API: whole games, hints, take-back, saved games, and what a player may see."""

import json
import random
from pathlib import Path
from typing import Any

import httpx
import pytest
from web_client import Post

import zerofleet as zf
from zerofleet.games import Episode
from zerofleet.web.games import Games
from zerofleet.web.notations import position_from
from zerofleet.web.play_schema import PlayRequest
from zerofleet.web.plays import MAX_PLAYS, Plays
from zerofleet.web.saved import SavedGames
from zerofleet.web.searches import MAX_WAITING, Searches

HUMAN = {"player": "human"}
QUICK_AGENT = {"player": "playout", "num_simulations": 4}


def start(post: Post, game: str, first: Any = HUMAN, second: Any = QUICK_AGENT, **more: Any) -> Any:
    asked = {"game": game, "seats": [first, second], "seed": 3, **more}
    return post("/plays", asked, status=201)


def finish(post: Post, play: Any, watch: Any = lambda play: None) -> Any:
    """Plays random legal actions for the human until the game is over."""
    rng = random.Random(1)
    while not play["is_over"]:
        watch(play)
        if play["is_human_to_move"]:
            action = rng.choice(play["legal"])["action"]
            play = post(f"/plays/{play['id']}/actions", {"action": action, "ply": play["ply"]})
        else:
            play = post(f"/plays/{play['id']}/agent")
    watch(play)
    return play


@pytest.mark.parametrize(
    ("game", "options"),
    [("connect4", {}), ("gomoku", {"size": 5}), ("beastybar", {}), ("backgammon", {"checkers": 2})],
)
def test_a_whole_game_is_played_saved_and_viewed(
    api: httpx.Client, post: Post, game: str, options: dict[str, int]
) -> None:
    over = finish(post, start(post, game, options=options))
    assert over["outcome_text"]
    assert sum(over["rewards"]) == 0
    saved = post(f"/plays/{over['id']}/episode", status=201)
    assert saved["players"] == ["human", "playout"]
    viewed = api.get(f"/played/{saved['id']}").json()
    assert viewed["players"] == ["Human", "Plain MCTS"]
    assert len(viewed["plies"]) == over["ply"] == saved["num_plies"]
    assert viewed["reward_first_player"] == over["rewards"][0]
    texts = [text for turn in over["turns"] for text in turn["texts"]]
    assert [ply["text"] for ply in viewed["plies"]] == texts
    assert saved["id"] in [each["id"] for each in api.get("/played").json()]


def test_a_saved_game_is_an_episode_that_replays(post: Post, runs: Path) -> None:
    over = finish(post, start(post, "connect4"))
    saved = post(f"/plays/{over['id']}/episode", status=201)
    (path,) = (runs / ".played").glob(f"{saved['id']}.zfe")
    Episode.decode(path.read_bytes()).verify(zf.games.get("connect4"))


def test_dice_are_rolled_by_the_server_and_taking_back_does_not_change_them(post: Post) -> None:
    play = start(post, "backgammon", HUMAN, HUMAN, seed=5)
    assert play["turns"][0]["player"] == "chance"
    assert play["to_move"] in (0, 1)
    again = start(post, "backgammon", HUMAN, HUMAN, seed=5)
    assert again["turns"] == play["turns"]

    def played_turn(now: Any) -> Any:
        mover = now["to_move"]
        while now["to_move"] == mover and not now["is_over"]:
            action = {"action": now["legal"][0]["action"]}
            now = post(f"/plays/{now['id']}/actions", action)
        return now

    after = played_turn(play)
    back = post(f"/plays/{play['id']}/take-back")
    assert back["turns"] == play["turns"]
    assert played_turn(back)["turns"] == after["turns"]


# ---- what a player may see


def cards_in(text: str, owner: int) -> set[str]:
    """Cards of a player that a text mentions, such as lion1."""
    from zerofleet.games.beastybar import SPECIES

    return {f"{species}{owner}" for species in SPECIES if f"{species}{owner}" in text}


def test_the_opponents_hand_and_both_piles_are_not_in_the_pages_data(post: Post) -> None:
    """Everything that the page gets in a game is searched for cards that nobody has played yet."""

    def watch(play: Any) -> None:
        human = int(play["view"])
        seen = play["seen"]
        public = {*seen["queue"], *seen["bar"], *seen["thats_it"]}
        text = json.dumps(play)
        assert cards_in(text, 1 - human) <= public
        assert cards_in(text, human) <= public | set(seen["hands"][human])
        assert isinstance(seen["hands"][1 - human], int)
        assert all(isinstance(pile, int) for pile in seen["piles"])
        assert play["position_text"] is None
        if play["is_human_to_move"]:
            hint = post(f"/plays/{play['id']}/analysis", {"num_simulations": 8})
            own = {card[:-1] for card in seen["hands"][human]}
            assert {each["text"].split()[0] for each in hint["actions"]} <= own
            assert len(hint["principal_variation"]) <= 1

    for human, agent in ((0, 1), (1, 0)):
        seats = [HUMAN, QUICK_AGENT] if human == 0 else [QUICK_AGENT, HUMAN]
        play = start(post, "beastybar", *seats, seed=human + agent)
        assert play["view"] == str(human)
        finish(post, play, watch)


def test_the_agents_turn_of_a_hidden_game_cannot_be_analysed(api: httpx.Client, post: Post) -> None:
    play = start(post, "beastybar")
    while play["is_human_to_move"]:
        action = {"action": play["legal"][0]["action"]}
        play = post(f"/plays/{play['id']}/actions", action)
    answer = api.post(f"/plays/{play['id']}/analysis", json={})
    assert answer.status_code == 409
    assert "its hand" in answer.json()["message"]


def test_the_end_of_a_hidden_game_cannot_be_taken_back(api: httpx.Client, post: Post) -> None:
    over = finish(post, start(post, "beastybar"))
    assert not over["can_take_back"]
    assert api.post(f"/plays/{over['id']}/take-back").status_code == 409


def test_two_people_cannot_share_one_screen_in_a_hidden_game(api: httpx.Client) -> None:
    answer = api.post("/plays", json={"game": "beastybar", "seats": [HUMAN, HUMAN]})
    assert answer.status_code == 404
    assert "hidden hands" in answer.json()["message"]


def test_in_one_players_view_of_an_episode_the_other_is_hidden(api: httpx.Client) -> None:
    for view in (0, 1):
        found = api.get("/runs/bar/episodes/1", params={"view": view}).json()
        for position in found["positions"]:
            assert isinstance(position["hands"][1 - view], int)
            assert isinstance(position["hands"][view], list)
            assert all(isinstance(pile, int) for pile in position["piles"])
        assert set(found["position_texts"]) == {None}
        others = [ply for ply in found["plies"] if ply["player"] == 1 - view]
        assert others
        for ply in others:
            assert (ply["policy"], ply["outcomes_to_move"]) == ([], {})
            assert ply["value_first_player"] is None
            assert ply["surprise"] is None
    everything = api.get("/runs/bar/episodes/1").json()
    assert all(isinstance(hand, list) for hand in everything["positions"][0]["hands"])


def test_each_step_of_a_beasty_bar_turn_is_told(post: Post) -> None:
    over = finish(post, start(post, "beastybar"))
    kinds = {step["step"] for turn in over["turns"] for step in turn["steps"]}
    assert {"entry", "bar"} <= kinds
    for turn in over["turns"]:
        assert turn["steps"][0]["step"] == "entry"


# ---- bad requests


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"game": "chess", "seats": [HUMAN, HUMAN]}, 404, "unknown game chess; known:"),
        ({"game": "connect4", "seats": [HUMAN]}, 422, "seats: List should have at least 2"),
        (
            {"game": "connect4", "seats": [HUMAN, {"player": "file:/etc/passwd"}]},
            404,
            "unknown player 'file:/etc/passwd' of connect4; known: best, playout",
        ),
        (
            {"game": "gomoku", "seats": [HUMAN, {"player": "gomocup:/bin/sh"}]},
            404,
            "unknown player",
        ),
        ({"game": "connect4", "seats": [HUMAN, {"player": "run:../x"}]}, 400, "a run cannot be"),
        ({"game": "connect4", "seats": [HUMAN, {"player": "run:bar"}]}, 409, "run bar is of"),
        (
            {"game": "tictactoe", "seats": [HUMAN, {"player": "run:ttt@999999"}]},
            404,
            "run ttt has no weights of step 999999",
        ),
        (
            {"game": "connect4", "seats": [HUMAN, {"player": "playout", "num_simulations": 10**6}]},
            422,
            "less than or equal to 20000",
        ),
        (
            {"game": "connect4", "seats": [HUMAN, HUMAN], "moves": ["4", "9"]},
            400,
            "move 2: '9' is no move",
        ),
        ({"game": "connect4", "seats": [HUMAN, HUMAN], "position": "44444444"}, 409, "column 4"),
        ({"game": "connect4", "seats": [HUMAN, HUMAN], "extra": 1}, 422, "extra: Extra inputs"),
        ({"game": "sticks.py:Sticks", "seats": [HUMAN, HUMAN]}, 404, "unknown game"),
    ],
)
def test_a_bad_game_is_refused_in_the_words_of_the_command_line(
    api: httpx.Client, body: Any, status: int, words: str
) -> None:
    answer = api.post("/plays", json=body)
    assert answer.status_code == status, answer.text
    assert words in answer.json()["message"]


def test_illegal_and_repeated_actions_change_nothing(api: httpx.Client, post: Post) -> None:
    play = start(post, "connect4", HUMAN, HUMAN, moves=["4", "4", "4", "4", "4", "4"])
    path = f"/plays/{play['id']}/actions"
    answer = api.post(path, json={"action": 3})
    assert answer.status_code == 409
    assert answer.json() == {
        "code": "illegal_action",
        "message": "action 3 is not legal here; legal: 0, 1, 2, 4, 5, 6 (connect4, ply 6, player 0 "
        "to move)",
    }
    post(path, {"action": 0, "ply": 6})
    assert api.post(path, json={"action": 0, "ply": 6}).status_code == 409  # sent twice
    assert api.get(f"/plays/{play['id']}").json()["ply"] == 7


def test_broken_json_and_unknown_games_in_play_are_refused(api: httpx.Client) -> None:
    headers = {"content-type": "application/json"}
    answer = api.post("/plays", content=b"{", headers=headers)
    assert answer.status_code == 422
    assert answer.json()["message"].startswith("the body is not JSON")
    assert api.get("/plays/nope").status_code == 404


def test_who_is_not_to_move_cannot_move(api: httpx.Client, post: Post) -> None:
    play = start(post, "connect4", QUICK_AGENT, HUMAN)
    answer = api.post(f"/plays/{play['id']}/actions", json={"action": 3})
    assert (answer.status_code, answer.json()["message"]) == (409, "the agent is to move, not you")
    post(f"/plays/{play['id']}/agent")
    assert api.post(f"/plays/{play['id']}/agent").status_code == 409
    assert api.post(f"/plays/{play['id']}/episode").status_code == 409  # it goes on


# ---- positions


@pytest.mark.parametrize(
    ("game", "text", "wanted"),
    [
        ("gomoku", "H8 i9, J10", "h8 i9 j10"),
        ("gomoku", "1. h8 i9 2. j10", "h8 i9 j10"),
        ("gomoku", "(;GM[4]FF[4]SZ[15];B[hh];W[ii])", "h8 i7"),
        ("connect4", "4453", "4453"),
        ("backgammon", "4HPwATDgc/ABMA", "4HPwATDgc/ABMA"),
        ("backgammon", "4HPwATDgc/ABMA:cIkKAAAAAAAA", "4HPwATDgc/ABMA 52"),
        (
            "backgammon",
            "GNU Backgammon  Position ID: 4HPwATDgc/ABMA\n  Match ID   : cIkKAAAAAAAA",
            "4HPwATDgc/ABMA 52",
        ),
    ],
)
def test_pasted_positions_are_read(game: str, text: str, wanted: str) -> None:
    assert position_from(zf.games.get(game), text)[0].to_text() == wanted


def test_a_pasted_position_is_a_link_that_starts_a_game(api: httpx.Client, post: Post) -> None:
    found = post("/positions", {"game": "backgammon", "text": "4HPwATDgc/ABMA 31"})
    play = start(post, "backgammon", HUMAN, HUMAN, position=found["position_text"])
    assert play["seen"] == found["seen"]
    answer = api.post("/positions", json={"game": "backgammon", "text": "foreign"})
    assert answer.status_code == 400
    assert "'foreign' is no position ID; one has 14 characters" in answer.json()["message"]


@pytest.mark.parametrize(("position", "to_move", "best"), [("172737", 0, "4"), ("1727375", 1, "7")])
def test_a_win_in_one_is_the_hint_from_both_seats(
    post: Post, position: str, to_move: int, best: str
) -> None:
    """X has three at the bottom, O has three in column 7."""
    asked = {"game": "connect4", "position": position, "player": "playout", "num_simulations": 400}
    found = post("/analysis", asked)
    assert (found["to_move"], found["value_to_move"]) == (to_move, 1)
    assert found["actions"][0]["text"] == best


# ---- bounds


def plays_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plays:
    monkeypatch.setenv("ZEROFLEET_RUNS", str(tmp_path))
    games = Games()
    return Plays(games, Searches(games), SavedGames(games))


def test_a_medium_agent_plays_the_win_that_the_solver_proves(post: Post) -> None:
    """X makes two open threes with h8; four playouts do not see that it wins."""
    moves = ["i8", "a1", "j8", "a15", "h9", "o1", "h10", "o15"]
    agent = {**QUICK_AGENT, "difficulty": "medium"}
    play = start(post, "gomoku", agent, HUMAN, moves=moves)
    assert play["seats"][0]["difficulty"] == "medium"
    played = post(f"/plays/{play['id']}/agent")
    game = zf.games.get("gomoku")
    after = game.from_text(" ".join([*moves, played["turns"][-1]["text"]]))
    assert zf.solve.value(after) == [0.0, 0.0, 1.0]


def test_who_does_not_search_takes_no_difficulty(api: httpx.Client) -> None:
    for seat in (
        {"player": "human"},
        {"player": "random"},
        {"player": "best", "num_simulations": 0},
    ):
        seats = [{**seat, "difficulty": "hard"}, HUMAN]
        refused = api.post("/plays", json={"game": "gomoku", "seats": seats})
        assert refused.is_client_error
        assert "takes no difficulty" in refused.text


def test_a_hard_agent_has_a_larger_budget_within_the_bounds(post: Post) -> None:
    for num_simulations, wanted in ((10, 40), (19_000, 20_000)):
        agent = {"player": "playout", "num_simulations": num_simulations, "difficulty": "hard"}
        play = start(post, "connect4", HUMAN, agent)
        assert play["seats"][1]["num_simulations"] == wanted
        assert play["seats_asked"][1]["num_simulations"] == num_simulations


def test_games_in_play_are_bounded_in_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plays = plays_of(tmp_path, monkeypatch)
    asked = PlayRequest.model_validate({"game": "connect4", "seats": [HUMAN, HUMAN]})
    ids = [plays.start(asked).id for _ in range(MAX_PLAYS + 5)]
    assert len(plays._plays) == MAX_PLAYS
    assert plays.answer(ids[-1]).ply == 0
    with pytest.raises(zf.errors.ZerofleetError, match="there is no such game"):
        plays.answer(ids[0])


def test_more_searches_than_the_queue_holds_are_refused(server: Any, api: httpx.Client) -> None:
    searches = server.services.searches
    searches._num_waiting += MAX_WAITING
    try:
        asked = {"game": "connect4", "position": "", "num_simulations": 1}
        answer = api.post("/analysis", json=asked)
    finally:
        searches._num_waiting -= MAX_WAITING
    assert (answer.status_code, answer.json()["code"]) == (429, "busy")
