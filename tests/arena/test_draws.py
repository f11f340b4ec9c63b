"""What is drawn in a match depends on its seed and what it is for, the same in every language."""

import json
from collections import Counter
from pathlib import Path

import pytest

import zerofleet as zf
from zerofleet.arena import draws
from zerofleet.arena.pairs import PairedGame, decisions_of
from zerofleet.errors import IllegalAction, Inconsistent
from zerofleet.games import Episode

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "draws.json").read_text())
"""web/test/draws.test.ts reads it too."""
REFERENCE = [
    6457827717110365317,
    3203168211198807973,
    9817491932198370423,
    4593380528125082431,
    16408922859458223821,
]
"""The first numbers of splitmix64 (Steele, Lea, Flood 2014) from the seed 1234567."""


def test_mixing_is_splitmix64() -> None:
    step = 0x9E3779B97F4A7C15
    assert [draws.mix64(1234567 + i * step & draws.WORD) for i in range(5)] == REFERENCE


def test_draws_are_those_that_every_language_gives() -> None:
    seed, pair, ply = int(GOLDEN["seed"]), GOLDEN["pair"], GOLDEN["ply"]
    assert draws.deal_seed(seed, pair) == int(GOLDEN["deal"])
    assert [draws.choice_seed(seed, pair, seat, ply) for seat in (0, 1)] == [
        int(each) for each in GOLDEN["choices"]
    ]
    outcomes = [(each, 1 / 21) for each in range(21)]
    assert [draws.drawn_outcome(outcomes, seed, pair, i) for i in range(10)] == GOLDEN["outcomes"]
    assert [draws.drawn_among(range(7), seed + i) for i in range(10)] == GOLDEN["among"]


def test_chance_outcomes_come_by_their_probability() -> None:
    outcomes = [(3, 0.5), (1, 0.25), (2, 0.25)]
    counts = Counter(draws.drawn_outcome(outcomes, 1, pair, 0) for pair in range(4000))
    for outcome, probability in outcomes:
        assert counts[outcome] / 4000 == pytest.approx(probability, abs=0.03)
    assert draws.drawn_outcome([(7, 0.5), (8, 0.5 - 2**-50)], 0, 0, 0) in (7, 8)


def test_among_options_each_is_as_likely() -> None:
    counts = Counter(draws.drawn_among([4, 5, 6], seed) for seed in range(3000))
    assert all(abs(counts[each] - 1000) < 120 for each in (4, 5, 6))


@pytest.mark.parametrize("game", ["backgammon", "beastybar"])
def test_both_games_of_a_pair_have_the_same_deal_and_dice_in_order(game: str) -> None:
    played = zf.arena.match(game, "random", "random", num_games=4, seed=8)
    pairs = [Episode.decode(each) for each in played.episodes]
    for first, second in zip(pairs[::2], pairs[1::2], strict=True):
        start = [each.positions(zf.games.get(game))[0].to_text() for each in (first, second)]
        assert start[0] == start[1]
        rolls = [[e.id for e in each.events if e.kind == "chance"] for each in (first, second)]
        shorter = min(map(len, rolls))
        assert rolls[0][:shorter] == rolls[1][:shorter]


def test_a_played_game_gives_back_its_decisions_with_their_seeds() -> None:
    game = zf.games.get("backgammon")
    played = zf.arena.match(game, "random", "random", num_games=2, seed=8)
    for number, data in enumerate(played.episodes):
        ids = [event.id for event in Episode.decode(data).events]
        decisions = decisions_of(PairedGame(game, 8, 0, number, []), ids)
        for each in decisions:
            assert draws.drawn_among(each.position.legal_actions(), each.seed) == each.action
        assert {each.named for each in decisions} == {0, 1}
        first = decisions[0]
        assert (first.named == 0) == (first.position.to_move == number)


def test_a_game_that_is_not_of_the_seed_is_refused() -> None:
    game = zf.games.get("backgammon")
    (data, _) = zf.arena.match(game, "random", "random", num_games=2, seed=8).episodes
    ids = [event.id for event in Episode.decode(data).events]
    first_roll = next(at for at, e in enumerate(Episode.decode(data).events) if e.kind == "chance")
    wrong_dice = list(ids)
    wrong_dice[first_roll] = (wrong_dice[first_roll] + 1) % 15
    for wrong in (wrong_dice, ids[:-3], [*ids, 0], []):
        with pytest.raises((Inconsistent, IllegalAction)):
            decisions_of(PairedGame(game, 8, 0, 0, []), wrong)
    with pytest.raises((Inconsistent, IllegalAction)):
        decisions_of(PairedGame(game, 9, 0, 0, []), ids)
