"""Self-play alone, then concurrent with training on the same GPU, as in a run.

Worker, trainer, replay, cache and threads are those of the preset h200, without the rate limiter:
self-play never waits, and training steps whenever NUM_SAMPLES samples per new unit are due. The
benchmark measures two units:

    by_positions   each decision position counts once, however many rows it gives
    by_rows        each row of the buffer counts, as in replay.samples_per_row; with hidden
                   information a position gives one row per seat

`rows_per_position` is about two in Beasty Bar, so there NUM_SAMPLES by rows train about twice as
much as NUM_SAMPLES by positions. `loss_share_...` is the fraction of inferences/s that self-play
loses; `samples_per_position_...` and `samples_per_row_...` are the replay ratios reached. Games and
positions are derived from simulations (whole_games.py).
"""

import functools
import os
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from gpu import inference
from gpu.selfplay import GpuWatch, snapshot, spread
from gpu.whole_games import decisions_in, size_of_a_game

import zerofleet as zf
from zerofleet import config
from zerofleet.bus import Pace
from zerofleet.cores import short_switch_interval
from zerofleet.fleet.callbacks import NO_CALLBACKS
from zerofleet.fleet.embedded import make_worker
from zerofleet.fleet.screen import PlainScreen
from zerofleet.fleet.session import Session
from zerofleet.runs.folder import create_or_open
from zerofleet.selfplay.worker import WeightsFeed

NUM_SAMPLES = 8
ROWS_TO_FILL = 100_000
"""In the buffer before training starts."""
GAMES_AT_ONCE = 512
WARM_UP_S = 4.0
NUM_WARM_STEPS = 6
REST_S = 0.002


def settings_of(preset, num_simulations, num_games):
    return [
        f"network.preset={preset}",
        f"search.num_simulations={num_simulations}",
        "selfplay.full_search_probability=1",
        f"selfplay.games_per_group={num_games}",
        f"run.compile_inference={str(inference.compiles).lower()}",
        "rating.opponents=[]",
    ]


def fill(replay, game, num_rows):
    """Fills the buffer from games with the uniform evaluator. Returns rows per position."""
    num_positions, episodes = 0, []
    played = zf.selfplay.play(
        game,
        "uniform",
        num_episodes=num_rows,
        num_groups=2 * (os.cpu_count() or 1),
        num_threads=os.cpu_count() or 1,
        num_simulations=8,
    )
    while len(replay.buffer) < num_rows:
        episodes = [next(played) for _ in range(GAMES_AT_ONCE)]
        replay.accept(episodes)
        decoded = map(zf.games.Episode.decode, episodes)
        num_positions += sum(len(decisions_in(episode)) for episode in decoded)
    played.close()
    return replay.buffer.num_added / num_positions


class Training:
    """Each call trains one step if it is due, else sleeps briefly."""

    def __init__(self, session, worker, samples_per_simulation):
        self.loop, self.bus, self.worker = session.loop, session.bus, worker
        self.batch_size = session.config.train.batch_size
        self.samples_per_simulation = samples_per_simulation
        self.first_simulation = worker.counts().num_simulations
        self.num_samples = 0

    def __call__(self):
        self.loop.log_episodes([each.episode for each in self.bus.receive_episodes()])
        num_simulations = self.worker.counts().num_simulations - self.first_simulation
        if self.num_samples + self.batch_size <= self.samples_per_simulation * num_simulations:
            self.loop.step()
            self.num_samples += self.batch_size
        else:
            time.sleep(REST_S)


def rest():
    time.sleep(REST_S)


def counted(session, worker):
    """The counters of self-play and training."""
    return snapshot(worker) | {
        "samples": session.loop.replay.limiter.state.num_samples,
        "training_s": session.loop.times.training_s,
        "intake_s": session.loop.times.intake_s,
    }


def per_second(session, worker, seconds, work):
    """Counters per second while this thread repeats `work`."""
    repeat(work, WARM_UP_S)
    with GpuWatch() as gpu:
        before, start = counted(session, worker), time.perf_counter()
        repeat(work, seconds)
        after, elapsed_s = counted(session, worker), time.perf_counter() - start
    return {name: (after[name] - before[name]) / elapsed_s for name in after}, gpu.means()


def repeat(work, seconds):
    end_s = time.perf_counter() + seconds
    while time.perf_counter() < end_s:
        work()


def measure(game_name, preset, num_simulations, seconds):
    num_games = inference.batch_size(game_name, preset)
    settings = config.load(
        game_name, "h200", overrides=settings_of(preset, num_simulations, num_games)
    )
    return measure_run(settings, seconds, ROWS_TO_FILL)


def measure_run(settings, seconds, rows_to_fill):
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        os.environ["ZEROFLEET_RUNS"] = str(Path(folder) / "runs")
        run = stack.enter_context(create_or_open("overlap", settings))
        session = Session(settings, run, [], PlainScreen(), NO_CALLBACKS, stack)
        rows_per_position = fill(session.loop.replay, session.game, rows_to_fill)
        whole = size_of_a_game(session.game, settings.for_core())
        feed = WeightsFeed(
            session.bus, session.loop.step_count, lambda: session.bus.stopping, session.fail
        )
        worker = make_worker(session, feed, 0)
        session.bus.set_pace(Pace(rows_inserted=0, rows_allowed=0))  # never waits for the trainer
        num_groups, num_games = session.num_groups, session.games_per_group
        spread_share = spread(worker.driver, session.game, num_groups, num_games, whole.leaves)
        stack.enter_context(short_switch_interval())
        for _ in range(NUM_WARM_STEPS):
            session.loop.step()
        session.loop.publish()
        feed.start()
        worker.start()
        stack.callback(worker.join)
        stack.callback(session.bus.stop)
        alone, gpu_alone = per_second(session, worker, seconds, rest)
        samples_per_simulation = NUM_SAMPLES / whole.simulations_of_a_decision
        training = Training(session, worker, samples_per_simulation)
        by_positions, gpu_both = per_second(session, worker, seconds, training)
        training = Training(session, worker, samples_per_simulation * rows_per_position)
        by_rows, _ = per_second(session, worker, seconds, training)
        session.raise_fault()
    simulations_of_each_game = alone["simulations"] * seconds / (num_groups * num_games)
    return {
        "loss_share_by_positions": 1 - by_positions["rows"] / alone["rows"],
        "loss_share_by_rows": 1 - by_rows["rows"] / alone["rows"],
        "inferences_per_s_alone": alone["rows"],
        "inferences_per_s_by_positions": by_positions["rows"],
        "inferences_per_s_by_rows": by_rows["rows"],
        "games_per_s_alone": alone["simulations"] / whole.simulations,
        "games_per_s_by_positions": by_positions["simulations"] / whole.simulations,
        "games_per_s_by_rows": by_rows["simulations"] / whole.simulations,
        **trained("by_positions", by_positions, whole, rows_per_position),
        **trained("by_rows", by_rows, whole, rows_per_position),
        "rows_per_position": rows_per_position,
        "waiting_for_search_share_alone": alone["search_s"],
        "gpu_busy_share_alone": alone["busy_s"],
        **{f"{name}_alone": value for name, value in gpu_alone.items()},
        **{f"{name}_by_positions": value for name, value in gpu_both.items()},
        **whole.stages(spread_share, simulations_of_each_game),
        "cache_bytes": settings.selfplay.cache_bytes,
        "batch": num_games,
        "groups": num_groups,
        "search_threads": session.plan.search,
        "training_batch": settings.train.batch_size,
    }


def trained(unit, did, whole, rows_per_position):
    """Throughput of training concurrent with self-play, and the shares of time."""
    positions_per_s = did["simulations"] / whole.simulations_of_a_decision
    samples_per_position = did["samples"] / positions_per_s
    found = {
        "samples_per_s": did["samples"],
        "samples_per_position": samples_per_position,
        "samples_per_row": samples_per_position / rows_per_position,
        "training_busy_share": did["training_s"],
        "intake_share": did["intake_s"],
        "waiting_for_search_share": did["search_s"],
        "gpu_busy_share": did["busy_s"],
    }
    return {f"{name}_{unit}": value for name, value in found.items()}


CASES = {
    "overlap beastybar large puct-200": ("beastybar", "large", 200),
    "overlap beastybar places-medium puct-200": ("beastybar", "places-medium", 200),
    "overlap gomoku medium puct-400": ("gomoku", "medium", 400),
}
MEASUREMENTS = {name: functools.partial(measure, *case) for name, case in CASES.items()}
