"""The games that a run has logged, as zf.runs.games gives them."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from played_games import entries, played

import zerofleet as zf
from zerofleet import config
from zerofleet.config import ReplayConfig
from zerofleet.errors import Unsupported
from zerofleet.replay import EpisodeLog
from zerofleet.runs.folder import create_or_open


@pytest.fixture(autouse=True)
def runs_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZEROFLEET_RUNS", str(tmp_path))


@contextmanager
def logging(name: str, num_games: int = 40) -> Iterator[list[Path]]:
    """A run that has logged games, a few in each file, and has its log open."""
    game, episodes = played(name, num_games, worker=7)
    with (
        create_or_open("r", config.load(name)) as run,
        closing(EpisodeLog(run.episodes, game, ReplayConfig(segment_bytes=4096))) as log,
    ):
        for episode in episodes:
            log.append(entries([episode], [len(episode.events)]))
        yield sorted(run.episodes.glob("segment-*.zfl"))


def test_games_are_read_in_order_and_newest_first_while_the_run_writes() -> None:
    with logging("connect4") as files:
        assert len(files) >= 3
        log = zf.runs.games("r")
        assert [each.number for each in log] == list(range(40))
        assert [each.number for each in reversed(log)] == list(range(39, -1, -1))
        assert [each.number for each in log.newest(3)] == [37, 38, 39]
        assert [each.number for each in log.sampled(10)] == list(range(0, 40, 4))


def test_a_logged_game_has_its_worker_result_and_searches() -> None:
    game, episodes = played("backgammon", 2, worker=7)
    with logging("backgammon", 2):
        first, _ = zf.runs.games("r")
    assert (first.worker, first.id) == (7, f"7-{episodes[0].sequence}")
    assert first.num_plies == len(episodes[0].events)
    last = first.positions()[-1]
    assert first.result == game.outcomes[episodes[0].outcome_first_player].name
    assert game.outcomes[episodes[0].outcome_first_player].reward == last.rewards()[0]
    decisions = list(first.decisions())
    assert len(decisions) == sum(event.kind != "chance" for event in episodes[0].events)
    for decision in decisions:
        assert decision.action in decision.position.legal_actions()
        if decision.kind == "full":
            assert sum(decision.policy.values()) == pytest.approx(1, abs=1e-3)
        if decision.num_simulations:
            assert decision.value_to_move is not None
            assert -3 <= decision.value_to_move <= 3
    record = first.record()
    assert record.positions() == first.positions()
    assert record.players == ("run:r@0", "run:r@0")


def test_a_game_is_found_by_number_and_by_id() -> None:
    with logging("connect4"):
        log = zf.runs.games("r")
        seventh = log.find("7")
        assert seventh.number == 7
        assert log.find(seventh.id).number == 7
        with pytest.raises(Unsupported, match=r"no game 40 in run:r; .* lists"):
            log.find("40")


def test_files_that_training_removes_meanwhile_are_left_out() -> None:
    with logging("connect4") as (oldest, *_):
        log = zf.runs.games("r")
        reading = iter(log)
        assert next(reading).number == 0
        oldest.unlink()
        assert [each.number for each in reading][-1] == 39  # what was read of it is in memory
        assert 0 < len(list(log)) < 40
        assert log.faults == {}


def test_damage_in_the_log_is_named_and_the_other_files_are_read() -> None:
    with logging("connect4") as (oldest, *_, newest):
        data = bytearray(oldest.read_bytes())
        data[-1] ^= 1
        oldest.write_bytes(data)
        newest.write_bytes(newest.read_bytes()[:-1])  # as if it were being written: no damage
        log = zf.runs.games("r")
        assert len(list(log)) == 38
        assert list(log.faults) == [oldest]
        assert "is damaged" in log.faults[oldest]


def test_games_behind_a_damaged_header_are_read_under_their_numbers() -> None:
    with logging("connect4") as (_, damaged, *_):
        data = bytearray(damaged.read_bytes())
        data[20] ^= 1
        damaged.write_bytes(data)
        log = zf.runs.games("r")
        assert [each.number for each in log] == list(range(40))
        assert [each.number for each in reversed(log)] == list(range(39, -1, -1))
        assert "its header is damaged; its first" in log.faults[damaged]


def test_a_run_without_games_has_none() -> None:
    with create_or_open("r", config.load("connect4")):
        pass
    assert list(zf.runs.games("r")) == []
