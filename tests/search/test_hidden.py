"""In Beasty Bar the search knows only what its player knows.

A player sees neither the other's hand nor either pile. These are changed here, by drawing them anew
and by hand, and nothing at all may change in the search: not its result, nor any observation that
it asks about. That the cards drawn are fair is in test_hidden_endings.py.
"""

import hashlib
import itertools
import random
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import pytest

import zerofleet as zf

Root = Literal["puct", "gumbel"]
OpponentNodes = Literal["pooled", "per_hand"]
Evaluator = Literal["uniform", "hash", "playout"]

GAME = zf.games.get("beastybar")

# An observation has a place for each of the own twelve animals by strength, then for each of the
# other's; and, as the last of its counters, whether the observer is to move.
NUM_SPECIES = 12
ABSENT, UNSEEN, IN_PILE, IN_HAND = range(4)
IS_TO_MOVE = -1


def played_on(seed: int, num_plies: int) -> zf.games.Position:
    position = GAME.new_position(seed)
    rng = random.Random(seed)
    for _ in range(num_plies):
        position.play(rng.choice(position.legal_actions()))
    return position


POSITIONS = [
    pytest.param(position, id=f"ply {num_plies}, player {position.to_move}")
    for num_plies in (0, 7, 14, 18)
    for position in [played_on(seed, num_plies) for seed in range(3)]
]


def facts_of(analysis: zf.search.Analysis) -> dict[str, Any]:
    """All fields of an analysis except the position itself."""
    return {name: value for name, value in vars(analysis).items() if name != "position"}


def resampled(position: zf.games.Position, num_draws: int) -> Iterator[zf.games.Position]:
    for seed in range(num_draws):
        drawn = position.copy()
        drawn.resample_hidden(position.to_move, seed)
        yield drawn


class Recorder:
    """An evaluator with a distinct answer to every observation, which records its queries."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []

    def __call__(self, observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rows = [row.tobytes() for row in observations]
        self.asked += rows
        logits, outcomes = zip(*map(self.answer, rows), strict=True)
        return np.stack(logits), np.stack(outcomes)

    def answer(self, row: bytes) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(list(hashlib.sha256(row).digest()))
        logits = rng.normal(size=GAME.num_actions).astype(np.float32)
        return logits, rng.dirichlet([1, 1, 1]).astype(np.float32)


# ---- what a player cannot see


def test_both_seats_search_and_have_something_that_they_cannot_see() -> None:
    positions: list[Any] = [position for param in POSITIONS for position in param.values]
    assert {position.to_move for position in positions} == {0, 1}
    for position in positions:
        assert len({drawn.to_text() for drawn in resampled(position, 8)}) > 1


@pytest.mark.parametrize("opponent_nodes", ["pooled", "per_hand"])
@pytest.mark.parametrize("root", ["puct", "gumbel"])
@pytest.mark.parametrize("evaluator", ["uniform", "hash", "playout"])
@pytest.mark.parametrize("position", POSITIONS)
def test_what_a_player_cannot_see_does_not_change_its_search(
    position: zf.games.Position, evaluator: Evaluator, root: Root, opponent_nodes: OpponentNodes
) -> None:
    def searched(each: zf.games.Position) -> dict[str, Any]:
        return facts_of(
            zf.search.analyse(each, evaluator, 300, root=root, opponent_nodes=opponent_nodes)
        )

    expected = searched(position)
    for drawn in resampled(position, 8):
        assert searched(drawn) == expected


@pytest.mark.parametrize("max_leaves", [1, 4])
@pytest.mark.parametrize("opponent_nodes", ["pooled", "per_hand"])
@pytest.mark.parametrize("root", ["puct", "gumbel"])
@pytest.mark.parametrize("position", POSITIONS[3:9])
def test_what_a_player_cannot_see_does_not_change_what_its_search_asks(
    position: zf.games.Position, root: Root, opponent_nodes: OpponentNodes, max_leaves: int
) -> None:
    def searched(each: zf.games.Position) -> tuple[dict[str, Any], list[bytes]]:
        recorder = Recorder()
        analysis = zf.search.analyse(
            each,
            recorder,
            100,
            root=root,
            opponent_nodes=opponent_nodes,
            max_leaves=max_leaves,
            dirichlet_epsilon=0.25,
            gumbel_scale=1,
        )
        return facts_of(analysis), recorder.asked

    expected = searched(position)
    assert len(expected[1]) > 50
    for drawn in resampled(position, 3):
        assert searched(drawn) == expected


# Hand and pile of the searcher, then of the other; and the same with one secret changed.
SECRETS = {
    "order of the own pile": ["lion|zebra snake|seal|hippo", "lion|snake zebra|seal|hippo"],
    "order of the other's pile": ["lion seal||skunk|hippo snake", "lion seal||skunk|snake hippo"],
    "order of the other's hand": ["lion||seal skunk snake|", "lion||snake seal skunk|"],
    "the other's hand": ["lion seal|zebra|skunk snake|hippo", "lion seal|zebra|hippo skunk|snake"],
}  # fmt: skip


def with_cards(player: int, cards: str) -> zf.games.Position:
    """The player is to move; cards as in SECRETS."""
    other = 1 - player
    owners = [player, player, other, other]
    hand, pile, others_hand, others_pile = (
        [f"{species}{owner}" for species in part.split()]
        for part, owner in zip(cards.split("|"), owners, strict=True)
    )
    hands, piles = [hand, others_hand], [pile, others_pile]
    return GAME.from_describe(
        {
            "queue": [f"kangaroo{player}", f"zebra{other}"],
            "bar": [f"parrot{other}", f"giraffe{player}"],
            "hands": hands if player == 0 else hands[::-1],
            "piles": piles if player == 0 else piles[::-1],
            "player": player,
        }
    )


@pytest.mark.parametrize("opponent_nodes", ["pooled", "per_hand"])
@pytest.mark.parametrize("root", ["puct", "gumbel"])
@pytest.mark.parametrize("evaluator", ["uniform", "hash", "playout"])
@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("secret", SECRETS)
def test_one_secret_changed_by_hand_does_not_change_the_search(
    secret: str, player: int, evaluator: Evaluator, root: Root, opponent_nodes: OpponentNodes
) -> None:
    one, two = (
        zf.search.analyse(
            with_cards(player, cards), evaluator, 200, root=root, opponent_nodes=opponent_nodes
        )
        for cards in SECRETS[secret]
    )
    assert facts_of(one) == facts_of(two)


# ---- whose observations are asked about

# Player 0 has no hippo and player 1 no lion, so an observation shows whose it is.
HIPPO, LION = 11, 12
OPEN_ENDED = "lion monkey parrot|zebra chameleon seal|seal skunk snake|hippo crocodile monkey"


def observer_of(row: bytes) -> int:
    own, others = row[:NUM_SPECIES], row[NUM_SPECIES : 2 * NUM_SPECIES]
    if own[HIPPO - 1] == ABSENT != others[HIPPO - 1]:
        return 0
    assert own[LION - 1] == ABSENT != others[LION - 1]
    return 1


@pytest.mark.parametrize("opponent_nodes", ["pooled", "per_hand"])
@pytest.mark.parametrize("root", ["puct", "gumbel"])
def test_an_opponent_is_asked_when_it_moves_and_from_what_it_sees(
    root: Root, opponent_nodes: OpponentNodes
) -> None:
    recorder = Recorder()
    position = with_cards(0, OPEN_ENDED)
    zf.search.analyse(position, recorder, 500, root=root, opponent_nodes=opponent_nodes)
    rows = [row for row in recorder.asked if observer_of(row) == 1]
    assert 10 < len(rows) < len(recorder.asked)
    for row in rows:
        own, others = row[:NUM_SPECIES], row[NUM_SPECIES : 2 * NUM_SPECIES]
        assert row[IS_TO_MOVE] == 1
        assert IN_HAND in own
        # It does not see which of the searcher's cards are in the hand and which in the pile.
        assert UNSEEN in others
        assert not {IN_HAND, IN_PILE} & set(others)


@pytest.mark.parametrize("opponent_nodes", ["pooled", "per_hand"])
@pytest.mark.parametrize("root", ["puct", "gumbel"])
def test_values_come_from_the_searchers_observations_alone(
    root: Root, opponent_nodes: OpponentNodes
) -> None:
    class Biased(Recorder):
        """Evaluates every observation of the opponent as a win."""

        def answer(self, row: bytes) -> tuple[np.ndarray, np.ndarray]:
            logits, outcomes = super().answer(row)
            won = np.array([1, 0, 0], np.float32)
            return logits, won if observer_of(row) == 1 else outcomes

    plain, biased = Recorder(), Biased()
    expected, found = (
        zf.search.analyse(
            with_cards(0, OPEN_ENDED), each, 500, root=root, opponent_nodes=opponent_nodes
        )
        for each in (plain, biased)
    )
    assert facts_of(found) == facts_of(expected)
    assert biased.asked == plain.asked


@pytest.mark.parametrize("opponent_nodes", ["pooled", "per_hand"])
@pytest.mark.parametrize("root", ["puct", "gumbel"])
def test_an_opponents_priors_come_from_its_own_observations_alone(
    root: Root, opponent_nodes: OpponentNodes
) -> None:
    class Biased(Recorder):
        """Wants the opposite where the searcher, not to move, is asked."""

        def answer(self, row: bytes) -> tuple[np.ndarray, np.ndarray]:
            logits, outcomes = super().answer(row)
            return logits if row[IS_TO_MOVE] else -logits, outcomes

    plain, biased = Recorder(), Biased()
    expected, found = (
        zf.search.analyse(
            with_cards(0, OPEN_ENDED), each, 500, root=root, opponent_nodes=opponent_nodes
        )
        for each in (plain, biased)
    )
    assert facts_of(found) == facts_of(expected)
    assert {observer_of(row) for row in plain.asked if not row[IS_TO_MOVE]} == {0}


def test_a_search_meets_every_hand_that_the_opponent_may_have() -> None:
    recorder = Recorder()
    zf.search.analyse(with_cards(0, OPEN_ENDED), recorder, 2000, opponent_nodes="per_hand")
    hands = {
        frozenset(i for i, place in enumerate(row[:NUM_SPECIES]) if place == IN_HAND)
        for row in recorder.asked
        if observer_of(row) == 1 and row[NUM_SPECIES * 2] == 3
    }
    unseen = [0, 3, 5, 8, 9, 10]  # skunk, monkey, seal, snake, crocodile, hippo
    assert hands >= {frozenset(hand) for hand in itertools.combinations(unseen, 3)}
