"""Kinds of worker, and the games that each plays with the newest weights of a run.

    games = games_by(KINDS["remote"], run, "auto", num_games=300, seed=1)

They are the workers of a fleet around a bus in this process: what a kind fetches, checks, evaluates
with, and asks an inference server for is what it is in a fleet.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

from zerofleet import _core
from zerofleet.bus import Sender
from zerofleet.bus.memory import MemoryBus
from zerofleet.config import read
from zerofleet.errors import EngineFailed, Unsupported
from zerofleet.fleet.facts import FleetFacts
from zerofleet.fleet.signals import GracefulStop
from zerofleet.fleet.worker_evaluation import (
    Evaluation,
    Served,
    own_evaluation,
    remote_evaluation,
)
from zerofleet.games import Episode
from zerofleet.infer.load import weights_of_run
from zerofleet.metrics import needed
from zerofleet.runs import LoggedGame
from zerofleet.runs.folder import Run
from zerofleet.selfplay.outbox import DirectOutbox
from zerofleet.selfplay.worker import OnFault, Worker
from zerofleet.weights import encoded_tensors, has_graph, read_graph

SERVER = "inference"
"""The id of the server that remote workers ask."""
POLL_S = 0.05
PATIENCE_S = 300.0
"""For the next game to finish."""

Say = Callable[[str], None]
Kind = Callable[[Served, str], AbstractContextManager[Evaluation]]
"""Opens what evaluates for a worker of the kind, on its device. Unsupported where this machine or
run has no such worker."""


def games_by(
    kind: Kind,
    run: Run,
    device: str,
    num_games: int,
    seed: int,
    on_progress: Callable[[int], None] = lambda num_done: None,
    say: Say = lambda line: None,
) -> list[LoggedGame]:
    """The first games of a worker, by their numbers, with the settings of the run: none is missing
    because it took long. EngineFailed where no more games finish."""
    has_ended = threading.Event()
    faults: list[BaseException] = []

    def is_stopping() -> bool:
        return has_ended.is_set() or bool(faults)

    bus = MemoryBus()
    served = served_run(run, bus, is_stopping, faults.append, say)
    games: dict[int, LoggedGame] = {}
    with kind(served, device) as evaluation:
        slots, feed = evaluation.slots, evaluation.feed
        driver = _core.SelfPlay(
            served.game,
            served.config.for_core(),
            slots.num_groups,
            slots.games_per_group,
            slots.num_search_threads,
            None,
            seed,
            seed,  # the worker: games of other seeds never have the same bytes by chance
            version=served.weights.version,
        )
        pipeline = evaluation.make_pipeline(driver)
        outbox = DirectOutbox(bus, Sender("worker", seed))
        worker = Worker(driver, pipeline, outbox, feed, is_stopping, faults.append)
        feed.start()
        worker.start()
        end_s = time.monotonic() + PATIENCE_S
        try:
            while len(games) < num_games and not faults:
                time.sleep(POLL_S)
                for delivery in bus.receive_episodes():
                    end_s = time.monotonic() + PATIENCE_S
                    episode = Episode.decode(delivery.episode)
                    if (number := episode.sequence) < num_games:
                        games[number] = LoggedGame(number, episode, served.game, run.name)
                on_progress(len(games))
                if time.monotonic() >= end_s:
                    why = evaluation.why_waiting() or worker.doing
                    raise EngineFailed(f"no game has finished for {PATIENCE_S:g} s: {why}")
        finally:
            has_ended.set()
            worker.join()
            feed.join()
    if faults:
        raise faults[0]
    return [games[number] for number in range(num_games)]


def served_run(
    run: Run, bus: MemoryBus, is_stopping: Callable[[], bool], on_fault: OnFault, say: Say
) -> Served:
    """Publishes a run on a bus as its trainer does."""
    config, game, weights = read(run.config_path), run.game(), weights_of_run(run.name)
    facts = FleetFacts.of(run, config, game)
    bus.publish_run(facts.encode())
    if has_graph(run.folder):
        bus.publish_graph(read_graph(run.folder).encode())
    data, sha256 = encoded_tensors(weights.tensors)
    bus.publish_weights(weights.version, sha256, data, at_least=weights.version)
    published = bus.other_weights(-1)
    assert published is not None
    return Served(bus, facts, config, game, published, is_stopping, on_fault, say)


# ---- kinds


@contextmanager
def onnx_worker(served: Served, device: str) -> Iterator[Evaluation]:
    """Evaluates on the CPU, whatever the device."""
    if served.bus.graph() is None:
        raise Unsupported("its network is not exported to ONNX")
    yield own_evaluation(served, "onnx", "cpu", num_search_threads=1)


@contextmanager
def torch_worker(served: Served, device: str) -> Iterator[Evaluation]:
    needed("torch", "zerofleet[train]")
    yield own_evaluation(served, "torch", device, num_search_threads=1)


@contextmanager
def remote_worker(served: Served, device: str) -> Iterator[Evaluation]:
    """Asks an inference server, which evaluates on the device."""
    with inference_server(served, device):
        evaluation = remote_evaluation(served, device, num_search_threads=1, falls_back=False)
        try:
            yield evaluation
        finally:
            evaluation.close()


@contextmanager
def inference_server(served: Served, device: str) -> Iterator[None]:
    """A server of the run, in threads of this process. Its fault is one of the worker."""
    needed("zmq", "zerofleet[worker]")
    # Imported here: it loads zmq.
    from zerofleet.fleet.inference_role import InferenceOptions, InferenceSession

    source = served.config.game.name if served.facts.is_custom else None
    options = InferenceOptions(SERVER, None, game_source=source, device=device, drain_s=0.0)
    stop = GracefulStop()
    session = InferenceSession(served.bus, served.facts, served.weights, options, stop, served.say)

    def serve_guarded() -> None:
        try:
            session.serve()
        except BaseException as fault:
            served.on_fault(fault)

    thread = threading.Thread(target=serve_guarded, name="inference", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.requested = True
        thread.join()


KINDS: Mapping[str, Kind] = {
    "onnx": onnx_worker,
    "torch": torch_worker,
    "remote": remote_worker,
}
