"""Compares networks by their losses on held-out games of a run, after training on the others.

    python bench/strength/held_out.py RUN large cards-medium,network.options.dropout=0.2
    python bench/strength/held_out.py RUN places-small places-small,train.learning_rate=3e-3

Each network sees the same samples in the same order, each row `--times` times on average, with a
cosine learning-rate schedule. Settings are those of the preset `standard` and those after the
network's name. Losses on the held-out games are recorded after each quarter of the steps. This
takes minutes where equal_games.py takes hours, but it does not measure self-play.
"""

import argparse
import json
import sys
from contextlib import closing
from pathlib import Path

import torch
from equal_games import settings_of

sys.path.insert(0, str(Path(__file__).parents[1]))
from recording import record

from zerofleet import config, nets
from zerofleet.errors import ZerofleetError
from zerofleet.games import Episode
from zerofleet.infer import pick_device
from zerofleet.replay import EpisodeLog, ReplayBuffer, Sampler
from zerofleet.replay.replay import derive_rows
from zerofleet.runs.folder import find
from zerofleet.training import Trainer
from zerofleet.training.loss import PackedBatch, Unpacker, compute_losses

HELD_OUT_SAMPLES = 6_000
CHECK_SAMPLES = 1_000
NUM_CHECKS = 4


def games_of(run):
    replay = config.read(run.config_path).replay
    with closing(EpisodeLog(run.episodes, run.game(), replay)) as log:
        return [Episode.decode(data) for data in log.episodes()]


def sampler_of(game, episodes, replay):
    packed = derive_rows(game, episodes, replay)
    buffer = ReplayBuffer(game, int(packed.num_rows.sum()))
    buffer.add(packed)
    return Sampler(buffer, game, replay, seed=1), len(buffer)


@torch.no_grad()
def losses_of(network, batches, device):
    """Mean losses over batches of equal size, by name."""
    network.eval()
    unpack = Unpacker(batches[0].format, device)
    found = []
    for batch in batches:
        rows = unpack(PackedBatch(*(tensor.to(device) for tensor in PackedBatch.of(batch))))
        found.append(compute_losses(network, network(rows.observations_BN, True), rows))
    network.train()
    return {
        name: sum(float(means[name].value) for means in found) / len(found)
        for name in found[0]
        if name.startswith("loss/")
    }


def learn(text, game, learnt, held_out, times, device):
    """Trains one network; returns its losses after each quarter of the steps."""
    settings = ["train.schedule=cosine", *settings_of(text)]
    chosen = config.load(game.name, "standard", overrides=settings)
    sampler, num_rows = sampler_of(game, learnt, chosen.replay)
    testing, _ = sampler_of(game, held_out, chosen.replay)
    batches = [testing.sample(CHECK_SAMPLES) for _ in range(HELD_OUT_SAMPLES // CHECK_SAMPLES)]
    torch.manual_seed(1)
    network = nets.build(game, chosen.network.preset, **chosen.network.options)
    trainer = Trainer(network, chosen.train, device, chosen.run.compile_training)
    num_steps = int(times * num_rows / chosen.train.batch_size)
    checks = {num_steps * part // NUM_CHECKS for part in range(1, NUM_CHECKS + 1)}
    found = {}
    for step in range(1, num_steps + 1):
        trainer.step(sampler.sample(chosen.train.batch_size), step / num_steps)
        if step in checks:
            trainer.wait()
            found[step] = losses_of(trainer.network, batches, device)
            print(text, step, json.dumps(found[step]), flush=True)
    num_parameters = sum(parameter.numel() for parameter in network.parameters())
    return {"parameters": num_parameters, "losses_after_steps": found}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run")
    parser.add_argument("networks", nargs="+", help="PRESET[,SETTING=VALUE...]")
    parser.add_argument("--times", type=float, default=4, help="samples per row")
    parser.add_argument("--held-out", type=int, default=500, help="games, the last of the run")
    parser.add_argument("--device", default="auto")
    arguments = parser.parse_args()
    try:
        run = find(arguments.run)
        episodes = games_of(run)
        if len(episodes) <= arguments.held_out:
            parser.error(f"{arguments.run} has only {len(episodes)} games; hold out fewer")
        learnt, held_out = episodes[: -arguments.held_out], episodes[-arguments.held_out :]
        device = pick_device(arguments.device)
        found = {
            text: learn(text, run.game(), learnt, held_out, arguments.times, device)
            for text in arguments.networks
        }
    except ZerofleetError as error:
        sys.exit(f"held_out.py: {error}")
    result = {"games_learnt": len(learnt), "games_held_out": len(held_out), "networks": found}
    record("held-out", " ".join(["bench/strength/held_out.py", *sys.argv[1:]]), result)


if __name__ == "__main__":
    main()
