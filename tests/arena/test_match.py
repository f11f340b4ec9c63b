"""Matches: pairs, seats, seeds, and what stops one."""

import random
import time

import numpy as np
import pytest

import zerofleet as zf
from zerofleet.arena.openings import openings as known_openings
from zerofleet.arena.search_players import SearchPlayer
from zerofleet.arena.starts import opening_of_each_pair, random_opening
from zerofleet.arena.statistics import estimate
from zerofleet.errors import BadText, IllegalAction, Inconsistent
from zerofleet.games import Episode, from_class


class TakeIt:
    """One action: 1 wins for the player to move, 0 loses."""

    name = "take-it"
    num_actions = 2
    observation_bytes = 1
    max_plies = 3

    def __init__(self):
        self.to_move, self.winner = 0, None

    def legal_actions(self):
        return [0, 1]

    def play(self, action):
        self.winner = self.to_move if action else 1 - self.to_move
        self.to_move = zf.OVER

    def rewards(self):
        return [1, -1] if self.winner == 0 else [-1, 1]

    def observe(self, player):
        return [self.to_move == player]

    def copy(self):
        copied = type(self)()
        copied.to_move, copied.winner = self.to_move, self.winner
        return copied


class Endless(TakeIt):
    """Nothing ends it but max_plies."""

    name = "endless"
    max_plies = 6

    def play(self, action):
        self.to_move = 1 - self.to_move


class Always(zf.arena.Player):
    """Gives the same answer everywhere."""

    def __init__(self, answer, name="always"):
        self.answer, self.name = answer, name

    def choose_many(self, positions, seeds):
        return [self.answer] * len(positions)


def ids_of(episode):
    return [event.id for event in Episode.decode(episode).events]


def test_a_player_that_always_wins_scores_one_from_both_seats():
    game = from_class(TakeIt)
    match = zf.arena.match(
        game, lambda: Always(1, "good"), lambda: Always(0, "bad"), num_games=10, openings=[[]]
    )
    assert (match.wins, match.draws, match.losses) == (10, 0, 0)
    assert match.score == 1
    assert match.points.mean == 1
    assert [ids_of(episode) for episode in match.episodes] == [[1], [0]] * 5
    other_way = zf.arena.match(
        game, lambda: Always(0, "bad"), lambda: Always(1, "good"), num_games=10, openings=[[]]
    )
    assert other_way.score == 0
    assert (other_way.first, other_way.second) == ("bad", "good")


def test_who_moves_first_wins_half_its_games():
    match = zf.arena.match(
        from_class(TakeIt), lambda: Always(1), lambda: Always(1), num_games=10, openings=[[]]
    )
    assert match.pair_scores == [0.5] * 5


@pytest.mark.parametrize(("name", "text"), [("connect4", "playout-10"), ("beastybar", "heuristic")])
def test_two_copies_of_a_player_score_half(name, text):
    match = zf.arena.match(name, text, text, num_games=400, seed=3)
    low, high = match.interval
    assert low <= 0.5 <= high
    assert high - low < 0.12


def test_both_games_of_a_pair_have_the_same_deal():
    match = zf.arena.match("beastybar", "random", "random", num_games=20)
    starts = [
        Episode.decode(episode).positions(match.game)[0].to_text() for episode in match.episodes
    ]
    assert starts[::2] == starts[1::2]
    assert len(set(starts)) == 10


def test_both_games_of_a_pair_have_the_same_dice():
    match = zf.arena.match("backgammon", "random", "random", num_games=8)
    rolls = [
        [event.id for event in Episode.decode(episode).events if event.kind == "chance"]
        for episode in match.episodes
    ]
    for there, back in zip(rolls[::2], rolls[1::2], strict=True):
        shorter = min(len(there), len(back))
        assert there[:shorter] == back[:shorter]
    assert rolls[0][:10] != rolls[2][:10]


def test_episodes_are_of_the_games_that_were_counted():
    match = zf.arena.match("connect4", "playout-20", "random", num_games=40)
    rewards = []
    for number, episode in enumerate(map(Episode.decode, match.episodes)):
        episode.verify(match.game)
        assert episode.sequence == number
        outcome = match.game.outcomes[episode.outcome_first_player]
        rewards.append(outcome.reward * (-1 if number % 2 else 1))
    assert rewards == [game.reward_first_named for game in match.played]
    assert match.score == sum(0.5 + reward / 2 for reward in rewards) / 40


def test_threads_do_not_change_the_games():
    one, three = (
        zf.arena.match("connect4", "playout-5", "heuristic", 140, seed=2, num_threads=threads)
        for threads in (1, 3)
    )
    assert one.episodes == three.episodes
    other_seed = zf.arena.match("connect4", "playout-5", "heuristic", 140, seed=3)
    assert other_seed.episodes != one.episodes


def test_threads_that_share_a_network_play_the_games_that_one_plays(run_of_beastybar):
    one, three = (
        zf.arena.match("beastybar", "run:bb,sims=4", "run:bb@0,sims=0", 140, num_threads=threads)
        for threads in (1, 3)
    )
    assert one.episodes == three.episodes


def test_an_illegal_answer_stops_the_match_and_is_named():
    with pytest.raises(IllegalAction) as error:
        zf.arena.match("connect4", "random", lambda: Always(3, "stubborn"), num_games=40)
    text = str(error.value)
    assert "stubborn (player " in text
    assert "action 3 is not legal here" in text
    assert "position '" in text


@pytest.mark.parametrize("answer", [None, "4", 2.0])
def test_an_answer_that_is_no_action_stops_the_match(answer):
    with pytest.raises(IllegalAction, match=r"mute .*an action is an integer, got"):
        zf.arena.match("connect4", lambda: Always(answer, "mute"), "random", num_games=2)


def test_too_few_answers_stop_the_match():
    class Lazy(Always):
        def choose_many(self, positions, seeds):
            return super().choose_many(positions, seeds)[1:]

    with pytest.raises(Inconsistent, match="lazy returned 1 actions for 2 positions"):
        zf.arena.match("beastybar", lambda: Lazy(0, "lazy"), lambda: Lazy(0, "lazy"), num_games=4)


def test_truncated_games_are_draws_and_are_reported():
    match = zf.arena.match(
        from_class(Endless), lambda: Always(0), lambda: Always(1), num_games=6, openings=[[]]
    )
    assert (match.draws, match.num_truncated, match.points.mean) == (6, 6, 0)
    assert "truncated 6 games at 6 plies" in str(match)


def test_progress_comes_to_the_end():
    told = []
    zf.arena.match(
        "connect4", "random", "random", 100, on_progress=lambda done, of: told.append((done, of))
    )
    num_done = [done for done, _ in told]
    assert num_done == sorted(num_done)
    assert num_done[0] < 100
    assert told[-1] == (100, 100)


def test_a_progress_callback_can_end_a_match_before_a_game_is_over():
    num_moves = 0

    class Counted(LowestFirst):
        def choose_many(self, positions, seeds):
            nonlocal num_moves
            num_moves += len(positions)
            return super().choose_many(positions, seeds)

    def stop(num_done, num_games):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        zf.arena.match("gomoku", Counted, "random", 2, num_threads=1, on_progress=stop)
    assert num_moves == 1  # in the game of the pair in which it is to move


def test_a_match_is_ended_during_a_long_search_in_all_its_threads():
    num_calls = 0

    def evaluate(observations):
        nonlocal num_calls
        num_calls += 1
        time.sleep(0.001)
        return np.zeros((len(observations), 7), np.float32), np.full(
            (len(observations), 3), 1 / 3, np.float32
        )

    def stop(num_done, num_games):
        raise KeyboardInterrupt

    def searcher():
        return SearchPlayer("long", evaluate, num_simulations=20_000)

    with pytest.raises(KeyboardInterrupt):
        zf.arena.match("connect4", searcher, searcher, 128, num_threads=2, on_progress=stop)
    assert num_calls < 10_000  # the first move alone needs more


def test_a_match_that_was_ended_begins_no_more_games():
    num_made_since = None

    class Counted(TakeIt):
        def __init__(self):
            nonlocal num_made_since
            super().__init__()
            if num_made_since is not None:
                num_made_since += 1

    def stop_once(num_done, num_games):
        nonlocal num_made_since
        if num_made_since is None:
            num_made_since = 0
            raise KeyboardInterrupt

    game = from_class(Counted)
    with pytest.raises(KeyboardInterrupt):
        zf.arena.match(
            game, "random", "random", 4000, num_threads=2, openings=[[]], on_progress=stop_once
        )
    assert num_made_since < 1000  # of the block that the other thread was at


def test_games_come_in_pairs():
    with pytest.raises(BadText, match="num_games must be even, got 5"):
        zf.arena.match("connect4", "random", "random", num_games=5)
    with pytest.raises(BadText, match="num_threads must be at least 1"):
        zf.arena.match("connect4", "random", "random", num_threads=0)


def test_players_that_answer_alike_meet_in_different_games():
    for options in ({}, {"size": 3, "line": 3}):
        name = "gomoku" if options else "connect4"
        match = zf.arena.match(
            name, lambda: LowestFirst(), lambda: LowestFirst(), num_games=40, **options
        )
        assert len({bytes(ids_of(episode)) for episode in match.episodes}) > 10


class LowestFirst(zf.arena.Player):
    name = "lowest"

    def choose_many(self, positions, seeds):
        return [position.legal_actions()[0] for position in positions]


def test_an_opening_comes_again_only_after_all_others():
    game = zf.games.get("connect4")
    openings = [[column] for column in range(7)]
    drawn, others = (
        list(map(opening_of_each_pair(game, seed, openings), range(14))) for seed in (5, 6)
    )
    assert sorted(drawn[:7]) == sorted(drawn[7:]) == openings
    assert drawn != others


def test_players_that_answer_alike_play_no_game_twice_however_many_pairs_there_are():
    """Else games that are known already would count as new ones, and narrow the interval."""
    game = zf.games.get("connect4")
    num_listed = len(known_openings(game))
    drawn = list(map(opening_of_each_pair(game, 5), range(3 * num_listed)))
    assert sorted(drawn[:num_listed]) == sorted(known_openings(game))
    assert [each[:-2] for each in drawn[num_listed:]] == drawn[:num_listed] * 2
    assert len({tuple(each) for each in drawn}) > 2.9 * num_listed
    for opening in drawn:
        position = game.new_position()
        for action in opening:
            position.play(action)
        assert position.to_move != zf.OVER


def test_openings_that_are_given_must_be_some():
    with pytest.raises(BadText, match="openings must not be empty"):
        zf.arena.match("connect4", "random", "random", num_games=2, openings=[])


def test_a_random_opening_does_not_end_the_game():
    with pytest.raises(Inconsistent, match="2 random plies always end the game"):
        random_opening(from_class(TakeIt), random.Random(1))
    game = zf.games.get("gomoku", size=3, line=3)
    assert len(random_opening(game, random.Random(1))) == 2


@pytest.mark.parametrize("probability", [0.5, 0.9, 0.98])
def test_the_interval_covers_as_often_as_it_says(probability):
    rng = random.Random(1)
    num_covered = 0
    for _ in range(1000):
        pairs = [
            ((rng.random() < probability) + (rng.random() < probability)) / 2 for _ in range(100)
        ]
        found = estimate(pairs, 0, 1)
        assert found.low <= found.mean <= found.high
        num_covered += found.low <= probability <= found.high
    assert 925 <= num_covered <= 985


def test_the_interval_is_over_pairs_and_not_over_games():
    """Pairs that always split show equal players, with no variance left."""
    split = estimate([0.5] * 200, 0, 1)
    assert split.high - split.low < 0.02
    together = estimate([0.0, 1.0] * 100, 0, 1)
    assert together.high - together.low == pytest.approx(2 * 1.96 * 0.5 / 200**0.5, rel=0.02)


def test_all_games_won_leaves_a_doubt():
    found = estimate([1.0] * 50, 0, 1)
    assert 0.9 < found.low < 0.97
    assert found.high == 1


def test_players_with_seconds_play_a_match_and_pass_a_gate():
    timed = "playout,seconds=0.001"
    played = zf.arena.match("gomoku", timed, "random", num_games=4, size=3, line=3)
    assert len(played.played) == 4
    assert played.first == timed
    tested = zf.arena.gate("gomoku", timed, "random", max_games=4, size=3, line=3)
    assert tested.verdict in ("accepted", "rejected", "undecided")
