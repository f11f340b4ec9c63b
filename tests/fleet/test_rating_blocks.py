"""Ratings across machines: the same games as on one, each block once, and no endless loop."""

import contextlib
import gc
import threading
import time
import weakref

import pytest
from rated_run import (
    GAME,
    NUM_GAMES,
    OPPONENTS,
    STEP,
    evaluator_of,
    on_one_machine,
    rated_run,
    rater_of,
)
from rated_run import fleet_matches as matches_of

from zerofleet import metrics
from zerofleet.arena.blocks import MatchBlocks
from zerofleet.bus import Block, BlockResult, BusRefused, MemoryBus
from zerofleet.errors import Unsupported
from zerofleet.fleet import rater_role, rating_blocks
from zerofleet.fleet.rater import Interrupted, Rater, Rating
from zerofleet.fleet.rater_role import MAX_PLAYERS, BlockRater, published_player
from zerofleet.storage import Disk
from zerofleet.weights import WeightsStore, encoded_tensors

NUM_BLOCKS = 3 * len(OPPONENTS)


@pytest.fixture(autouse=True)
def quick(tmp_path, monkeypatch):
    monkeypatch.setenv("ZEROFLEET_RUNS", str(tmp_path))
    monkeypatch.setattr(rating_blocks, "POLL_S", 0.01)
    monkeypatch.setattr(rater_role, "IDLE_S", 0.01)


class Said:
    """A screen that remembers."""

    def __init__(self):
        self.lines = []

    def say(self, text):
        self.lines.append(text)

    def show_doing(self, text):
        pass


def interrupt_at(number):
    """Progress that is interrupted when it is reported for that time."""
    calls = []

    def on_games(step, opponent, num_done, num_games):
        calls.append(step)
        if len(calls) == number:
            raise Interrupted

    return on_games


def quietly(step, opponent, num_done, num_games):
    pass


def fleet_matches(run, config, bus, screen=None):
    return matches_of(run, config, bus, screen or Said(), "trainer", num_threads=2)


def rating(in_background=True, num_games=NUM_GAMES):
    return Rating(STEP, {}, num_games, in_background)


def by_opponent(results):
    return {opponent: match.played for _, opponent, match in results}


@contextlib.contextmanager
def raters(bus, *found):
    """Raters that play in threads within this context."""
    stop = threading.Event()
    threads = [threading.Thread(target=each.rate_blocks, args=(stop.is_set,)) for each in found]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_two_raters_play_the_games_of_one_machine():
    run, config = rated_run("r")
    bus = MemoryBus()
    both = rater_of(bus, "box-1"), rater_of(bus, "box-2")
    with raters(bus, *both):
        found = by_opponent(fleet_matches(run, config, bus).play(rating(), quietly))
    assert found == on_one_machine(run, config)
    assert sum(each.counts.num_blocks for each in both) == NUM_BLOCKS
    assert bus.lease_block(60) is None
    assert bus.weights(0) is None  # what was kept for the rating is gone
    assert not (run.folder / "rating.json").exists()


def test_without_raters_the_trainer_plays_the_final_rating_itself():
    run, config = rated_run("r")
    found = by_opponent(fleet_matches(run, config, MemoryBus()).play(rating(False), quietly))
    assert found == on_one_machine(run, config)


def test_results_are_recorded_as_metrics_and_beside_the_weights():
    run, config = rated_run("r")
    bus, weights = MemoryBus(), WeightsStore(run.weights)
    with metrics.MetricsLog(run.folder, [], Disk()) as log, raters(bus, rater_of(bus)):
        rater = Rater(
            matches=fleet_matches(run, config, bus),
            config=config,
            weights=weights,
            metrics=log,
            disk=Disk(),
            screen=Said(),
            started_s=time.monotonic(),
            on_fault=lambda fault: pytest.fail(str(fault)),
        )
        rater.rate(STEP, {}, NUM_GAMES)
    records = [each for each in metrics.read(run.folder) if each["kind"] == "rating"]
    assert [(each["step"], each["games"]) for each in records] == [(STEP, NUM_GAMES)] * 2
    assert {each["opponent"] for each in records} == set(OPPONENTS)
    assert [each["score"] for each in weights.ratings(STEP)] == [each["score"] for each in records]
    scores = {each["opponent"]: each["score"] for each in records}
    assert (rater.last_step, rater.last_scores) == (STEP, scores)


def test_a_dead_holders_block_is_played_by_another():
    run, config = rated_run("r")
    bus = MemoryBus()
    dead = fleet_matches(run, config, bus)
    leased = []

    def interrupted(step, opponent, num_done, num_games):
        leased.append(bus.lease_block(lease_s=0.2))
        if len(leased) == 3:
            raise Interrupted

    with pytest.raises(Interrupted):
        list(dead.play(rating(), interrupted))
    assert [each for each in leased if each is not None]
    with raters(bus, rater_of(bus)):
        found = by_opponent(fleet_matches(run, config, bus).resume(quietly))
    assert found == on_one_machine(run, config)


def test_an_idle_worker_rates_and_gives_its_block_back_once_it_may_play(monkeypatch):
    monkeypatch.setattr(rater_role, "IDLE_BEFORE_S", 0.02)
    run, config = rated_run("r")
    bus = MemoryBus()
    with pytest.raises(Interrupted):
        list(fleet_matches(run, config, bus).play(rating(), interrupt_at(2)))
    worker, answers = rater_of(bus, "worker-1"), []

    def is_idle():
        """Until some moves into its second block."""
        answers.append(worker.counts.num_blocks == 0 or "block 1: " not in worker.doing)
        return answers[-1]

    worker.rate_while_idle(is_idle, lambda: not all(answers), pytest.fail)
    assert worker.counts.num_blocks == 1
    given_back = bus.lease_block(60)
    assert given_back is not None
    assert given_back.number == 1
    assert bus.block_returns(given_back.rating) == []


def test_a_worker_whose_user_may_not_rate_says_so_and_keeps_playing(monkeypatch):
    monkeypatch.setattr(rater_role, "IDLE_BEFORE_S", 0.0)

    class Refusing(MemoryBus):
        def lease_block(self, lease_s, without=()):
            raise BusRefused("NOPERM")

    said = []
    rater_of(Refusing(), "worker-1").rate_while_idle(lambda: True, lambda: False, said.append)
    assert said == ["worker-1 does not rate while it waits: NOPERM"]


def test_a_trainer_that_starts_again_counts_what_was_played_meanwhile():
    run, config = rated_run("r")
    rater = rater_of(bus := MemoryBus())

    def plays_one_then_dies(step, opponent, num_done, num_games):
        if rater.counts.num_blocks == 2:
            raise Interrupted
        rater.rate_one_block(lambda: False)

    with pytest.raises(Interrupted):
        list(fleet_matches(run, config, bus).play(rating(), plays_one_then_dies))
    rater.rate_one_block(lambda: False)  # while no trainer runs
    assert rater.counts.num_blocks == 3
    with raters(bus, rater):
        found = by_opponent(fleet_matches(run, config, bus).resume(quietly))
    assert found == on_one_machine(run, config)
    assert rater.counts.num_blocks == NUM_BLOCKS  # none twice
    assert list(fleet_matches(run, config, bus).resume(quietly)) == []


def test_what_was_recorded_before_a_crash_is_not_recorded_again():
    run, config = rated_run("r")
    rater = rater_of(bus := MemoryBus())
    weights = WeightsStore(run.weights)
    with raters(bus, rater):
        results = fleet_matches(run, config, bus).play(rating(), quietly)
        _, opponent, match = next(results)
        weights.add_rating(STEP, {"opponent": opponent, "games": match.num_games})
        results.close()  # it dies before it notes that this match is recorded
        rest = by_opponent(fleet_matches(run, config, bus).resume(quietly))
    assert opponent not in rest
    assert set(rest) == set(OPPONENTS) - {opponent}


@pytest.mark.parametrize(
    ("missing", "reason"),
    [("run:other", "unknown run"), ("gomocup:/nowhere", "a Gomocup engine plays")],
)
def test_a_block_that_cannot_be_played_here_is_returned_with_the_reason_and_not_retried(
    missing, reason
):
    run, config = rated_run("r", ["random", missing])
    other, _ = rated_run("other")
    bus, screen = MemoryBus(), Said()
    matches = fleet_matches(run, config, bus, screen)
    other.folder.rename(other.folder.with_name("elsewhere"))
    rater, found, num_rounds = rater_of(bus, "box-1"), [], []

    def until_tried_often(step, opponent, num_done, num_games):
        if opponent == missing:
            num_rounds.append(step)
        if len(num_rounds) == 50:
            raise Interrupted

    with raters(bus, rater), contextlib.suppress(Interrupted):
        for _, opponent, _ in matches.play(rating(), until_tried_often):
            found.append(opponent)
    assert found == ["random"]
    assert rater.counts.num_returned == 1
    said = f"rating of step {STEP} against {missing}: a block was returned by box-1: {reason}"
    assert [line for line in screen.lines if line.startswith(said)] == screen.lines
    assert len(screen.lines) == 1


def test_weights_that_differ_between_machines_are_refused():
    run, config = rated_run("r", ["run:other,sims=4"])
    bus = MemoryBus()
    rated_run("other")
    matches, rater = fleet_matches(run, config, bus), rater_of(bus, "box-1")
    store = WeightsStore(run.folder.with_name("other") / "weights")
    store.forget_after(0)

    def one_try(step, opponent, num_done, num_games):
        if rater.counts.num_returned:
            raise Interrupted
        rater.rate_one_block(lambda: False)

    with pytest.raises(Interrupted):
        list(matches.play(rating(), one_try))
    (name,) = matches._read().names.values()
    (reason,) = bus.block_returns(name)
    assert reason.startswith(
        "box-1: player 'run:other,sims=4' has other weights here than at the trainer (sha256 "
    )


def test_a_stalled_rating_is_given_up_for_the_next_and_its_late_blocks_do_not_count():
    run, config = rated_run("r")
    bus, screen = MemoryBus(), Said()
    with pytest.raises(Interrupted):
        list(fleet_matches(run, config, bus, screen).play(rating(), interrupt_at(1)))
    late = bus.lease_block(60)
    rater = rater_of(bus)
    with raters(bus, rater):
        matches = fleet_matches(run, config, bus, screen)
        assert matches.is_stalled(0.0)
        assert not matches.is_stalled(60.0)
        by_opponent(matches.play(rating(num_games=2), quietly))
    assert rater.counts.num_blocks == len(OPPONENTS)
    assert late is None or not bus.finish_block(BlockResult(late.rating, late.number, b""))
    assert [line.partition(";")[0] for line in screen.lines] == [
        f"rating of step {STEP} against {opponent} was given up: 0 blocks were played"
        for opponent in OPPONENTS
    ]
    assert "zerofleet rater --run r" in screen.lines[0]


def test_blocks_that_another_copy_of_the_run_left_are_dropped_at_the_start():
    run, config = rated_run("r")
    bus = MemoryBus()
    with pytest.raises(Interrupted):
        list(fleet_matches(run, config, bus).play(rating(), interrupt_at(1)))
    assert len(bus.ratings()) == len(OPPONENTS)
    (run.folder / "rating.json").unlink()  # as in a copy from before the rating
    assert list(fleet_matches(run, config, bus).resume(quietly)) == []
    assert bus.ratings() == []


def test_a_result_that_is_not_one_ends_its_match_alone():
    run, config = rated_run("r")
    bus, screen = MemoryBus(), Said()

    def spoil_first(step, opponent, num_done, num_games):
        if not spoiled and (block := bus.lease_block(60)):
            spoiled.append(bus.finish_block(BlockResult(block.rating, block.number, b"rubbish")))
        rater.rate_one_block(lambda: False)

    spoiled, rater = [], rater_of(bus)
    results = fleet_matches(run, config, bus, screen).play(rating(num_games=64), spoil_first)
    assert list(by_opponent(results)) == ["start"]
    assert spoiled == [True]
    assert "against random was given up: block 0 refused: not a BlockGames" in screen.lines[0]


def test_networks_of_earlier_ratings_are_let_go():
    run, _ = rated_run("r")
    bus, made = MemoryBus(), []

    def evaluator(weights):
        found = evaluator_of(weights)
        made.append(weakref.ref(found))
        return found

    rater = BlockRater("box", GAME, bus, evaluator, "cpu", 60.0)
    data, sha256 = encoded_tensors(WeightsStore(run.weights).load(STEP).tensors)
    for version in range(1, 4 * MAX_PLAYERS):
        bus.publish_weights(version, sha256, data, at_least=version)
        player = published_player(version, 2)
        (task,) = MatchBlocks(GAME, player, "random", 2, weights_sha256={player: sha256}).tasks()
        rater._played(Block("rating", 0, task), lambda: False)
    gc.collect()
    assert rater.counts.num_loaded == len(made) == 4 * MAX_PLAYERS - 1
    assert sum(each() is not None for each in made) <= MAX_PLAYERS


def test_an_unknown_opponent_is_refused_at_the_start():
    run, config = rated_run("r", ["nobody"])
    with pytest.raises(Unsupported, match="unknown player 'nobody'"):
        fleet_matches(run, config, MemoryBus())
