"""The analysis engine: what goes in and out, and that it searches as `analyse` does."""

import json
from collections.abc import Iterable
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nim import Nim

import zerofleet as zf
from zerofleet.arena.analysis_engine import MAX_LINE_BYTES, AnalysisEngine, Defaults
from zerofleet.arena.players import DIFFICULTIES, HARD_BUDGET
from zerofleet.errors import RulesFailed
from zerofleet.games import from_class

ORACLES = Path(__file__).parent.parent / "oracles"
CONNECT4 = zf.games.get("connect4")


def answers_to(
    *requests: dict[str, Any] | bytes, player: str | None = "playout-50", at_once: int = 4
) -> dict[Any, dict[str, Any]]:
    """The answers by their ids, as one reads them."""
    engine = AnalysisEngine(Defaults(CONNECT4, player, None, None, 20), at_once)
    lines = (each if isinstance(each, bytes) else json.dumps(each).encode() for each in requests)
    answers = [json.loads(json.dumps(answer)) for answer in engine.answers(lines)]
    assert len(answers) == len(requests)
    return {answer["id"]: answer for answer in answers}


def test_each_request_gets_what_an_analysis_finds() -> None:
    texts = ["", "4", "44", "4453", "121212", "7", "71", "333"]
    answers = answers_to(
        *({"id": text, "position": text, "seed": seed} for seed, text in enumerate(texts)),
        at_once=3,
    )
    for seed, text in enumerate(texts):
        alone = zf.search.analyse(CONNECT4.from_text(text), "playout", 50, seed)
        assert answers[text] == {
            "id": text,
            "game": "connect4",
            "player": "playout-50",
            **json.loads(json.dumps(alone.to_json(20))),
        }


def test_moves_are_played_from_the_start_or_from_the_position_with_rolls() -> None:
    by_moves, by_both, rolled, new = answers_to(
        {"id": 0, "moves": list("4453")},
        {"id": 1, "position": "44", "moves": ["5", "3"]},
        {"id": 2, "game": "backgammon", "moves": ["31", "8/5 6/5", "21"], "top": 1},
        {"id": 3, "game": "gomoku", "options": {"size": 3, "line": 3}},
    ).values()
    assert by_moves["moves"] == by_both["moves"]
    assert rolled["to_move"] == 1
    assert len(rolled["moves"]) == 1
    assert len(new["moves"]) == 9


def test_before_a_roll_there_is_a_value_and_no_best_move() -> None:
    (answer,) = answers_to({"id": "x", "game": "backgammon"}).values()
    assert answer["to_move"] == "chance"
    assert answer["best"] is None


def test_a_request_may_have_its_own_player_and_budget() -> None:
    requests = (
        {"id": 1, "num_simulations": 7},
        {"id": 2, "seconds": 0.01},
        {"id": 3, "player": "playout-9,root=gumbel"},
    )
    answers = answers_to(*requests, player="playout")
    assert answers[1]["num_simulations"] == 7
    assert answers[2]["num_simulations"] > 0
    assert answers[3]["num_simulations"] == 9


def test_a_request_has_the_difficulty_of_its_player() -> None:
    request = {"position": "42153276671172", "num_simulations": 8}  # a draw, by another solver too
    answers = answers_to(
        *({**request, "id": each, "player": f"playout,difficulty={each}"} for each in DIFFICULTIES)
    )
    proofs = {name: answer["proof"] for name, answer in answers.items()}
    assert proofs == {"easy": None, "medium": "draws", "hard": "draws"}
    counts = {name: answer["num_simulations"] for name, answer in answers.items()}
    assert counts == {"easy": 8, "medium": 8, "hard": 8 * HARD_BUDGET}


@pytest.mark.parametrize(
    ("request_line", "answered_id", "code", "message"),
    [
        (b"rubbish", None, "bad_text", "the line is not JSON"),
        (b"\xff", None, "bad_text", "the line is not JSON"),
        (b"[" * 100_000, None, "bad_text", "the line is not JSON"),
        (b"[1]", None, "bad_text", "a request is a JSON object, got list"),
        (b" " * MAX_LINE_BYTES + b"{}", None, "too_large", "a line has at most 1048576 bytes"),
        (b"{}", None, "bad_text", "id: Field required"),
        (b'{"id": 1.5}', None, "bad_text", "id"),
        (b'{"id": 1, "move": []}', 1, "bad_text", "unknown field move; did you mean moves?"),
        (b'{"id": 1, "moves": "44"}', 1, "bad_text", "moves: Input should be a valid list"),
        (b'{"id": 1, "position": "44x"}', 1, "bad_text", "'x' is no move"),
        (b'{"id": 1, "moves": ["9"]}', 1, "bad_text", "9"),
        (b'{"id": 1, "position": "4141414"}', 1, "illegal_action", "the game is over"),
        (b'{"id": 1, "moves": ["4","1","4","1","4","1","4","1"]}', 1, "illegal_action", "over"),
        (b'{"id": 1, "game": "chess"}', 1, "unsupported", "unknown game 'chess'"),
        (b'{"id": 1, "game": "evil.py:G"}', 1, "unsupported", "unknown game 'evil.py:G'"),
        (b'{"id": 1, "options": {"size": 9}}', 1, "bad_text", "options go with game"),
        (b'{"id": 1, "player": "gomocup:x"}', 1, "unsupported", "does not search"),
        (b'{"id": 1, "player": "run:none"}', 1, "unsupported", "unknown run none"),
        (b'{"id": 1, "num_simulations": 0}', 1, "bad_text", "num_simulations: Input should be"),
        (b'{"id": 1, "num_simulations": 5}', 1, "bad_text", "sims is given twice"),
        (b'{"id": 1, "seconds": NaN}', 1, "bad_text", "seconds"),
        (
            b'{"id": 1, "seconds": Infinity, "player": "playout"}',
            1,
            "bad_text",
            "seconds=S must be",
        ),
        (
            b'{"id": 1, "player": "playout", "num_simulations": 123456789012345678901234567890}',
            *(1, "bad_text", "num_simulations"),
        ),
        (b'{"id": 1, "position": "\\ud800"}', 1, "bad_text", "'\\ud800' is not UTF-8"),
        (b'{"id": 1, "moves": ["\\ud800"]}', 1, "bad_text", "'\\ud800' is not UTF-8"),
        (b'{"id": 1, "game": "gomoku", "options": {"a": "\\ud800"}}', 1, "bad_text", "not UTF-8"),
        (b'{"id": 1, "player": "playout-%s"}' % (b"9" * 5000), 1, "bad_text", "at most 100 digits"),
        (b'{"id": "\\ud800", "top": 0}', "\ud800", "bad_text", "top: Input should be"),
    ],
)
def test_a_bad_line_gets_an_error_and_affects_no_other(
    request_line: bytes, answered_id: object, code: str, message: str
) -> None:
    answers = answers_to(request_line, {"id": "good", "position": "121212"})
    assert answers["good"]["best"] == "1"
    error = answers[answered_id]["error"]
    assert error["code"] == code
    assert message in error["message"]


def test_requests_that_wait_are_few_and_the_others_are_not_read() -> None:
    read = 0

    def lines() -> Iterable[bytes]:
        nonlocal read
        for read in range(100):
            yield json.dumps({"id": read}).encode()

    engine = AnalysisEngine(Defaults(CONNECT4, "playout-5000", None, None, 1), 2)
    answers = engine.answers(lines())
    next(answers)
    assert read <= 2 + 2 + 2
    assert 1 + sum(1 for _ in answers) == 100


def test_searches_with_the_same_weights_share_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []

    def evaluate(observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        sizes.append(len(observations))
        count = len(observations)
        return np.zeros((count, 7), np.float32), np.full((count, 3), 1 / 3, np.float32)

    monkeypatch.setattr(
        "zerofleet.arena.analysis_engine.load_evaluator", lambda game, text: evaluate
    )
    requests = ({"id": number, "position": str(1 + number % 7)} for number in range(16))
    answers = answers_to(*requests, player="best,sims=20", at_once=16)
    assert max(sizes) == 16
    for number, answer in answers.items():
        position = CONNECT4.from_text(str(1 + number % 7))
        alone = zf.search.analyse(position, evaluate, 20)
        assert answer["moves"] == alone.to_json(20)["moves"]


class OutOfSticks(Nim):
    """Fails during a search."""

    name = "out of sticks"

    def play(self, action: int) -> None:
        if self.left < 8:
            raise RulesFailed("no stick is left")
        super().play(action)  # type: ignore[no-untyped-call]


def test_a_game_whose_rules_fail_harms_no_search_of_another() -> None:
    engine = AnalysisEngine(Defaults(from_class(OutOfSticks), "playout-50", None, None, 20), 2)
    requests = [b'{"id": "fails"}', b'{"id": "c4", "game": "connect4"}']
    answers = {answer["id"]: answer for answer in engine.answers(requests)}
    assert answers["fails"]["error"]["code"] == "rules_failed"
    assert answers["c4"]["num_simulations"] == 50


def test_the_weights_that_come_with_zerofleet_find_the_wins_of_connect_four() -> None:
    lines = (ORACLES / "connect4_scores.jsonl").read_text().splitlines()
    scored = [each for each in map(json.loads, lines) if each["cat"].endswith("Easy")]
    won = [each for each in scored if max(filter(None, each["scores"])) > 0][:30]
    requests = ({"id": number, "position": each["moves"]} for number, each in enumerate(won))
    answers = answers_to(*requests, player="best,sims=32", at_once=30)
    for number, each in enumerate(won):
        assert each["scores"][int(answers[number]["best"]) - 1] > 0, each


def test_the_weights_that_come_with_zerofleet_keep_most_forced_wins_of_gomoku() -> None:
    """Boards with stones of `X` and `O`, top row first; `win_moves` are [column, row]."""
    lines = (ORACLES / "gomoku_forced_wins.jsonl").read_text().splitlines()
    won = [json.loads(line) for line in lines]
    names = [f"{column}{row}" for row in range(15, 0, -1) for column in "abcdefghijklmno"]
    requests = []
    for number, each in enumerate(won):
        stones = list(zip(names, each["board"], strict=True))
        black, white = ([name for name, stone in stones if stone == whose] for whose in "XO")
        requests.append({"id": number, "game": "gomoku", "moves": in_turn(black, white), "top": 1})
    answers = answers_to(*requests, player="best,sims=16", at_once=len(won))
    num_kept = sum(
        names.index(answers[number]["best"])
        in [15 * row + column for column, row in each["win_moves"]]
        for number, each in enumerate(won)
    )
    assert num_kept >= 16  # of 20; other moves may win too


def in_turn(black: list[str], white: list[str]) -> list[str]:
    return [name for pair in zip_longest(black, white) for name in pair if name]
