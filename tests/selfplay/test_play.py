"""Self-play from Python: whole, verified games, by an evaluator of the core or one in Python."""

from pathlib import Path

import numpy as np
import pytest

import zerofleet as zf
from zerofleet import _core


def even(game):
    """An evaluator in Python to which all actions and outcomes are alike."""

    def evaluate(observations):
        num_leaves = len(observations)
        share = 1 / len(game.outcomes)
        return (
            np.zeros((num_leaves, game.num_actions), np.float32),
            np.full((num_leaves, len(game.outcomes)), share, np.float32),
        )

    return evaluate


@pytest.mark.parametrize("name", zf.games.names())
@pytest.mark.parametrize("root", ["puct", "gumbel"])
def test_every_game_plays_itself_and_its_episodes_verify(name, root):
    game = zf.games.get(name)
    seen = set()
    for data in zf.selfplay.play(
        game, "hash", num_episodes=6, games_per_group=4, num_simulations=16, root=root, worker=3
    ):
        episode = zf.games.Episode.decode(data)
        episode.verify(game)
        assert episode.encode() == data
        assert episode.game == game.name
        assert episode.worker == 3
        seen.add(episode.sequence)
    assert len(seen) == 6


def test_an_evaluator_in_python_gives_the_same_games_as_the_same_one_in_the_core():
    game = zf.games.get("connect4")
    settings = {"num_episodes": 40, "num_threads": 0, "num_simulations": 24}
    ours = sorted(zf.selfplay.play(game, even(game), **settings))
    core = sorted(zf.selfplay.play(game, "uniform", **settings))
    assert set(ours) & set(core)
    by_sequence = {zf.games.Episode.decode(data).sequence: data for data in core}
    for data in ours:
        sequence = zf.games.Episode.decode(data).sequence
        assert by_sequence.get(sequence, data) == data


ALWAYS_THE_SAME = {"num_simulations": 24, "temperature": 0.0, "dirichlet_epsilon": 0}


def answer(driver, group, observations):
    driver.submit(group, *even(zf.games.get("connect4"))(observations), version=0)


def play_a_game(driver, group, observations):
    """Answers the group alone until a game is over; gives the game and the batches it took."""
    num_batches = 0
    while not (finished := driver.take_episodes()):
        if observations is not None:
            answer(driver, group, observations)
            num_batches += 1
        _, observations = driver.next_batch(0) or (None, None)
    return zf.games.Episode.decode(finished[0]), num_batches


def actions_of(episode):
    return [event.id for event in episode.events]


def test_a_group_finds_what_another_group_had_evaluated():
    driver = _core.SelfPlay(zf.games.get("connect4"), ALWAYS_THE_SAME, 2, 1, 0, None, 1, 0)
    first, second = driver.next_batch(0), driver.next_batch(0)
    game, num_batches = play_a_game(driver, *first)
    assert num_batches > 24
    same_game, num_batches = play_a_game(driver, *second)
    assert actions_of(same_game) == actions_of(game)
    assert num_batches == 1  # the leaf that it had out all the while
    driver.stop()


def test_drivers_share_a_cache_that_is_given_to_both():
    cache = _core.EvaluationCache(2**26)
    assert 2**25 < cache.num_bytes <= 2**26
    num_batches = []
    for worker, shared in enumerate([cache, cache, None]):
        driver = _core.SelfPlay(
            zf.games.get("connect4"), ALWAYS_THE_SAME, 1, 1, 0, None, 1, worker, shared
        )
        num_batches.append(play_a_game(driver, *(driver.next_batch(0) or (0, None)))[1])
        driver.stop()
    assert num_batches[0] == num_batches[2] > 24
    assert num_batches[1] == 0


@pytest.mark.parametrize("name", ["connect4", "beastybar"])
def test_the_cache_saves_leaves_and_changes_no_game(name):
    games, leaves_per_simulation = {}, {}
    for cache_bytes in (0, 2**12, 2**24):
        settings = {"num_simulations": 32, "cache_bytes": cache_bytes}
        driver = _core.SelfPlay(zf.games.get(name), settings, 2, 8, 0, "hash", 1, 0)
        driver.wait_for_episodes(80, 60)
        counts = driver.counts()
        leaves_per_simulation[cache_bytes] = counts.num_leaves / counts.num_simulations
        games[cache_bytes] = {
            zf.games.Episode.decode(data).sequence: data for data in driver.take_episodes()
        }
        driver.stop()
    assert leaves_per_simulation[2**24] < 0.95 * leaves_per_simulation[0]
    for cache_bytes in (2**12, 2**24):
        both = games[0].keys() & games[cache_bytes].keys()
        assert len(both) > 40
        assert all(games[0][each] == games[cache_bytes][each] for each in both)


def test_replayed_observations_are_what_the_positions_show():
    game = zf.games.get("beastybar")
    (data,) = zf.selfplay.play(game, "hash", num_episodes=1, num_simulations=8)
    episode = zf.games.Episode.decode(data)
    positions = episode.positions(game)
    rows, events, observers = episode.observations(game)
    assert len(positions) == len(episode.events) + 1
    assert len(rows) == 2 * len(episode.events)
    for row, event, observer in zip(rows, events, observers, strict=True):
        assert (row == positions[event].observe(int(observer))).all()
    final = positions[-1].rewards()[0]
    assert game.outcomes[episode.outcome_first_player].reward == final


def test_what_the_search_found_is_in_the_record():
    game = zf.games.get("backgammon", checkers=3)
    (data,) = zf.selfplay.play(
        game, "playout", num_episodes=1, num_simulations=32, games_per_group=1, num_groups=1
    )
    episode = zf.games.Episode.decode(data)
    kinds = {event.kind for event in episode.events}
    assert kinds == {"chance", "none", "full"} or kinds == {"chance", "full"}
    for event in episode.events:
        if event.kind == "full":
            assert event.num_simulations == 32
            assert sum(share for _, share in event.policy) == pytest.approx(1)
            assert sum(event.outcomes_to_move) == pytest.approx(1)
            assert event.id in dict(event.policy)


def test_an_episode_of_other_options_or_damaged_bytes_are_refused_by_name():
    (data,) = zf.selfplay.play(
        zf.games.get("gomoku", size=3, line=3), "hash", num_episodes=1, num_simulations=8
    )
    episode = zf.games.Episode.decode(data)
    with pytest.raises(zf.errors.Inconsistent, match="size=3"):
        episode.verify(zf.games.get("gomoku"))
    with pytest.raises(zf.errors.Inconsistent, match="of gomoku, not of connect4"):
        episode.verify(zf.games.get("connect4"))
    with pytest.raises(zf.errors.BadBytes, match="cut short or damaged"):
        zf.games.Episode.decode(data[:-9] + data[-8:])
    with pytest.raises(zf.errors.BadBytes, match="does not begin with ZFE"):
        zf.games.Episode.decode(b"no episode at all")


def test_bad_settings_and_answers_are_refused_by_name():
    game = zf.games.get("connect4")
    with pytest.raises(zf.errors.Unsupported, match="did you mean temperature"):
        list(zf.selfplay.play(game, num_episodes=1, temprature=1))
    with pytest.raises(zf.errors.BadText, match="full_search_probability must be"):
        list(zf.selfplay.play(game, num_episodes=1, full_search_probability=2))

    def short(observations):
        return np.zeros((1, 7), np.float32), np.zeros((1, 3), np.float32)

    with pytest.raises(zf.errors.BadText, match="policy_logits must be"):
        list(zf.selfplay.play(game, short, num_episodes=1))

    def broken(observations):
        logits, outcomes = even(game)(observations)
        return logits * np.float32(np.inf), outcomes

    with pytest.raises(zf.errors.BadText, match="not finite"), np.errstate(invalid="ignore"):
        list(zf.selfplay.play(game, broken, num_episodes=1))


EPISODES = Path(__file__).parents[1] / "golden" / "episodes"


@pytest.mark.parametrize("path", sorted(EPISODES.glob("*.bin")), ids=lambda path: path.stem)
def test_episodes_written_by_earlier_builds_are_still_read(path):
    data = path.read_bytes()
    episode = zf.games.Episode.decode(data)
    game = zf.games.get(episode.game, **dict(episode.options))
    episode.verify(game)
    assert episode.encode() == data


def test_there_is_an_earlier_episode_of_every_game():
    assert {path.stem.split("-")[0] for path in EPISODES.glob("*.bin")} == {
        zf.games.get(name).name for name in zf.games.names()
    }


def connect4_win_of_the_first_player(game):
    """A game from self-play that the first player won."""
    for data in zf.selfplay.play(game, "playout", num_episodes=64, num_simulations=32):
        episode = zf.games.Episode.decode(data)
        if game.outcomes[episode.outcome_first_player].name == "win":
            return episode
    raise AssertionError("no game was won by the first player")


def test_rows_to_train_on_have_the_observers_view():
    game = zf.games.get("connect4")
    episode = connect4_win_of_the_first_player(game)
    rows = episode.rows(game)
    positions = episode.positions(game)
    names = [outcome.name for outcome in game.outcomes]
    for row, event in enumerate(rows.event):
        position, observer = positions[event], int(rows.observer[row])
        assert observer == position.to_move
        assert (rows.observations[row] == position.observe(observer)).all()
        assert names[rows.outcome[row]] == ("win" if observer == 0 else "loss")
        if episode.events[event].kind == "full":
            assert list(np.flatnonzero(rows.legal[row])) == position.legal_actions()
            found = np.array(episode.events[event].outcomes_to_move) * 65535
            assert rows.search_outcomes[row].astype(float) == pytest.approx(found, abs=0.5)
            assert int(rows.policy[row].sum()) == pytest.approx(4095, abs=5)
        later = [each.id for each in episode.events[event + 1 : event + 2]]
        assert rows.reply[row] == (later[0] if later else -1)
    for player in (0, 1):
        final = positions[-1].observe(player)
        assert (rows.final_observations[player] == final).all()


def test_hidden_games_have_a_value_row_of_the_other_player_too():
    game = zf.games.get("beastybar")
    (data,) = zf.selfplay.play(game, "hash", num_episodes=1, num_simulations=16)
    episode = zf.games.Episode.decode(data)
    rows, positions = episode.rows(game), episode.positions(game)
    assert len(rows.event) == 2 * len(episode.events)
    for row, event in enumerate(rows.event):
        observer = int(rows.observer[row])
        mover = positions[event].to_move
        assert (rows.observations[row] == positions[event].observe(observer)).all()
        reward = game.outcomes[rows.outcome[row]].reward
        assert reward == positions[-1].rewards()[observer]
        if observer != mover:
            assert not rows.policy[row].any()
            of_mover = rows.search_outcomes[row - 1]
            turned = [of_mover[outcome.opposite] for outcome in game.outcomes]
            assert list(rows.search_outcomes[row]) == turned


def test_values_that_look_ahead_are_means_of_later_turns_and_the_end():
    """Worked out from the definition, forwards: (1 - d) of each turn's first search, d of the rest.

    A row's own turn begins with its own search.
    """
    game = zf.games.get("backgammon", checkers=3)
    decay = 0.75
    num_within_turns = 0
    for data in zf.selfplay.play(game, "hash", num_episodes=4, num_simulations=8):
        episode = zf.games.Episode.decode(data)
        rows, positions = episode.rows(game, decay), episode.positions(game)
        turned = [outcome.opposite for outcome in game.outcomes]
        movers = [position.to_move for position in positions]
        for row, start in enumerate(rows.event):
            observer, left, wanted = int(rows.observer[row]), 1.0, np.zeros(len(game.outcomes))
            searched_in_turn = False
            for at in range(start, len(episode.events)):
                if at > start and movers[at] != movers[at - 1]:
                    searched_in_turn = False
                if not (found := np.array(episode.events[at].outcomes_to_move)).size:
                    continue
                found_observer = found if movers[at] == observer else found[turned]
                if not searched_in_turn:
                    wanted += left * (1 - decay) * found_observer
                    left *= decay
                num_within_turns += searched_in_turn
                searched_in_turn = True
            wanted[rows.outcome[row]] += left
            got = rows.search_outcomes[row] / 65535
            assert got == pytest.approx(wanted if left < 1 else 0 * wanted, abs=2e-3)
    assert num_within_turns > 0


def test_the_temperature_drops_after_turns_however_many_decisions_they_have():
    """A draw that is all but even plays worse than the best action at most decisions before it."""
    game = zf.games.get("backgammon")
    early, late = [], []
    for data in zf.selfplay.play(
        game, "hash", num_episodes=20, afterstates=True, temperature=1e3, temperature_drop_move=4
    ):
        episode = zf.games.Episode.decode(data)
        movers = [position.to_move for position in episode.positions(game)]
        turn, decided = 0, False
        for at, event in enumerate(episode.events):
            if at > 0 and movers[at] != movers[at - 1]:
                turn, decided = turn + decided, False
            if not event.policy:
                continue
            decided = True
            shares = dict(event.policy)
            is_best = shares.get(event.id, 0) == max(shares.values())
            (early if turn < 4 else late).append(is_best)
    assert all(late)
    assert len(early) > 20 * 4 * 1.5
    assert sum(early) / len(early) < 0.7


def test_the_same_game_under_another_id_differs_in_its_id_alone():
    game = zf.games.get("tictactoe")
    (data,) = zf.selfplay.play(game, "hash", num_episodes=1, num_simulations=4)
    episode = zf.games.Episode.decode(data)
    other = zf.games.Episode.decode(episode.with_id(2**64 - 1, 7).encode())
    assert (other.worker, other.sequence) == (2**64 - 1, 7)
    assert other.with_id(episode.worker, episode.sequence).encode() == data
    other.verify(game)
