"""The parts of a run's trainer, restored from the run folder."""

import re
from collections.abc import Callable
from typing import Any

from zerofleet import nets
from zerofleet.config import Config
from zerofleet.errors import BadBytes, Unsupported
from zerofleet.games import Game
from zerofleet.infer import pick_device
from zerofleet.nets.onnx import exported
from zerofleet.replay import Replay
from zerofleet.runs.folder import Run
from zerofleet.storage import Disk, write_whole
from zerofleet.training import CheckpointStore, Trainer
from zerofleet.weights import Graph, WeightsStore, remove_graph, write_graph

Say = Callable[[str], None]


def kept_graph(run: Run, network: nets.Network, disk: Disk, say: Say) -> Graph | None:
    """The network's graph, exported to the run folder too, for players and workers without torch;
    None for a network that cannot be exported."""
    try:
        graph = exported(network.spec)
    except Unsupported as error:
        remove_graph(run.folder)  # a graph from an earlier session would be stale
        say(f"run:{run.name} needs torch to play: {error}")
        return None
    disk.write(lambda: write_graph(run.folder, graph))
    return graph


def restored_trainer(
    config: Config,
    network: nets.Network,
    device: str,
    weights: WeightsStore,
    checkpoints: CheckpointStore,
    say: Say,
) -> tuple[Trainer, dict[str, Any]]:
    """A trainer at the newest intact checkpoint, or at the run's initial weights; and the rest of
    the checkpoint."""
    trainer = Trainer(network, config.train, pick_device(device), config.run.compile_training)
    checkpoint, faults = checkpoints.load_newest()
    for fault in faults:
        say(fault)
    if checkpoint is not None:
        trainer.restore(checkpoint.tensors, checkpoint.rest["trainer"])
        return trainer, checkpoint.rest
    if 0 in weights.versions():
        trainer.begin_with(weights.load(0).tensors)
    return trainer, {"num_starts": 0, "num_rounds": 0}


def opened_replay(
    run: Run, config: Config, game: Game, state: dict[str, Any] | None, say: Say
) -> Replay:
    """The episode log with its replay buffer; says what recovery had to fix."""
    replay = Replay(
        run.episodes,
        game,
        config.replay,
        config.run.seed,
        state,
        exactly=config.run.deterministic,
    )
    report = replay.log.report
    if report.torn_bytes:
        say(f"episodes: truncated {report.torn_bytes} bytes of a torn record")
    for fault in report.damage:
        say(str(fault))
    if replay.num_missing:
        say(
            f"episodes: {replay.num_missing:,} earlier rows are missing; training "
            f"waits until there are {config.replay.min_rows:,} again"
        )
    return replay


def count_start(run: Run, disk: Disk, saved: int) -> int:
    """A number unique to this session: it makes the ids of an embedded run's episodes unique."""
    path = run.folder / "starts"
    text = path.read_text(errors="replace") if path.exists() else str(saved)
    if not re.fullmatch(r"\d{1,9}", text):
        raise BadBytes(f"{path} is damaged: it must hold a number such as {saved + 1}")
    before = int(text)
    disk.write(lambda: write_whole(path, str(before + 1).encode()))
    return before + 1
