"""A second network plays one seat: each equally often, with its own search, and without targets."""

import numpy as np
import pytest

import zerofleet as zf
from zerofleet import _core
from zerofleet.games import Episode, Game

LEARNER: dict[str, object] = {"num_simulations": 8, "temperature_drop_move": 4}
FIRST_LEGAL: dict[str, object] = LEARNER | {
    "num_simulations": 1,
    "dirichlet_epsilon": 0,
    "forced_playouts": 0,
    "prove": False,
    "reuse_tree": False,
    "temperature": 0,
}
"""By a network that prefers actions in their order."""


def play(
    game: Game,
    num_episodes: int,
    share: float = 1,
    threads: int = 0,
    own_rows: list[int] | None = None,
) -> list[Episode]:
    """Games 0 to num_episodes - 1, with uniform evaluations for the learner."""
    driver = _core.SelfPlay(
        game, LEARNER, 2, 4, threads, None, 1, 0,
        num_games=num_episodes, opponent=FIRST_LEGAL, opponent_share=share,
    )  # fmt: skip
    outcomes = np.full(len(game.outcomes), 1 / len(game.outcomes), np.float32)
    episodes = []
    while not driver.finished:
        if (batch := driver.next_batch(0.2)) is not None:
            group, rows = batch
            logits = np.zeros((len(rows), game.num_actions), np.float32)
            if driver.for_opponent(group):
                logits -= 30 * np.arange(game.num_actions, dtype=np.float32)
            elif own_rows is not None:
                own_rows.append(len(rows))
            driver.submit(group, logits, np.tile(outcomes, (len(rows), 1)), 5)
        episodes += [Episode.decode(data) for data in driver.take_episodes()]
    driver.stop()
    episodes += [Episode.decode(data) for data in driver.take_episodes()]
    return sorted(episodes, key=lambda each: each.sequence)


def seat_of_opponent(game: Game, episode: Episode) -> int:
    """The seat whose choices were not searched; -1 if all were. Each choice of one seat agrees."""
    unsearched = {
        position.to_move
        for position, event in zip(episode.positions(game), episode.events, strict=False)
        if position.to_move in (0, 1)
        and len(position.legal_actions()) > 1
        and not event.outcomes_to_move
    }
    assert len(unsearched) <= 1
    return next(iter(unsearched), -1)


@pytest.mark.parametrize("threads", [0, 2])
@pytest.mark.parametrize("name", ["connect4", "beastybar"])
def test_its_choices_are_those_of_its_own_network_and_give_no_targets(
    name: str, threads: int
) -> None:
    game = zf.games.get(name)
    for episode in play(game, 16, threads=threads):
        seat = seat_of_opponent(game, episode)
        assert seat >= 0
        for position, event in zip(episode.positions(game), episode.events, strict=False):
            if position.to_move == seat:
                assert event.id == min(position.legal_actions())
                assert not event.policy
            elif position.to_move in (0, 1) and len(position.legal_actions()) > 1:
                assert event.policy


def test_it_has_both_seats_equally_often() -> None:
    game = zf.games.get("connect4")
    seats = [seat_of_opponent(game, episode) for episode in play(game, 64)]
    assert seats.count(0) == seats.count(1) == 32
    # Also within the games of one slot, so that short games do not favour a seat.
    assert all(seats[slot::8].count(0) == 4 for slot in range(8))


def test_its_positions_train_the_value_by_the_outcome_alone() -> None:
    game = zf.games.get("connect4")
    (episode, *_) = play(game, 1)
    rows = episode.rows(game)
    seat = seat_of_opponent(game, episode)
    of_opponent = rows.observer == seat
    assert of_opponent.any()
    assert not rows.policy[of_opponent].any()
    assert rows.policy[~of_opponent].any(axis=1).all()
    final = episode.outcome_first_player
    assert (rows.outcome[rows.observer == 0] == final).all()


def test_it_plays_its_share_of_the_games_and_the_others_are_unchanged() -> None:
    game = zf.games.get("connect4")
    alone, some = play(game, 64, share=0), play(game, 64, share=0.25)
    met = [seat_of_opponent(game, episode) >= 0 for episode in some]
    assert 6 <= sum(met) <= 28
    for without, episode, has_met in zip(alone, some, met, strict=True):
        assert has_met or without.encode() == episode.encode()


def test_a_game_depends_on_its_number_not_on_threads() -> None:
    game = zf.games.get("connect4")
    one, two = play(game, 24), play(game, 24, threads=2)
    assert [each.encode() for each in one] == [each.encode() for each in two]


def test_every_leaf_of_the_learner_is_evaluated_by_its_own_network() -> None:
    game = zf.games.get("connect4")
    own_rows: list[int] = []
    play(game, 16, own_rows=own_rows)
    assert max(own_rows) <= 4
    assert sum(own_rows) > 0


def test_an_opponent_gives_no_targets_that_look_ahead() -> None:
    game = zf.games.get("backgammon")
    settings: dict[str, object] = {"afterstates": True, "turn_ahead_probability": 0.5}
    with pytest.raises(zf.errors.ZerofleetError, match="gives no targets"):
        _core.SelfPlay(game, settings, 1, 1, 0, "uniform", 1, 0, opponent=settings)
    driver = _core.SelfPlay(
        game, settings, 1, 4, 0, "uniform", 1, 0,
        num_games=4, opponent={"afterstates": True, "temperature": 0},
    )  # fmt: skip
    while not driver.finished:
        driver.wait_for_episodes(4, 1)
    for data in driver.take_episodes():
        episode = Episode.decode(data)
        seat = seat_of_opponent(game, episode)
        positions = episode.positions(game)
        for position, event in zip(positions, episode.events, strict=False):
            if position.to_move == seat or (
                position.to_move == zf.CHANCE and position.roller == seat
            ):
                assert not event.outcomes_to_move
