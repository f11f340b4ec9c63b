"""The shipped plans carry every number of the published ones, as far as this design has it."""

import math
from pathlib import Path

import pytest

from zerofleet import config, nets
from zerofleet.config import Config
from zerofleet.config.cluster import ClusterConfig, read_cluster
from zerofleet.games import get

CONFIGS = Path(__file__).parents[2] / "configs"
ROWS_PER_POSITION = 2
"""Where hands are hidden; an example of the plans is a position."""
EXAMPLES_PER_GAME = 23
LAYERS = {
    "hidden_dim": 256,
    "num_heads": 8,
    "queue_layers": 6,
    "bar_layers": 2,
    "hand_layers": 2,
    "fusion_layers": 4,
    "use_dueling": True,
    "use_auxiliary_heads": True,
    "species_embedding_dim": 64,
    "dropout": 0.1,
    "feed_forward": 4,
}


@pytest.fixture(scope="module")
def cluster() -> ClusterConfig:
    return read_cluster(CONFIGS / "cluster.yaml")


@pytest.fixture(scope="module")
def trained(cluster: ClusterConfig) -> Config:
    return cluster.training_config("cluster.yaml")


def options_of(cluster: ClusterConfig, kind: str) -> dict[str, str]:
    words = cluster.roles[kind].options
    return dict(zip(words[::2], words[1::2], strict=True))


def assert_searches_as_planned(planned: Config) -> None:
    search = planned.search
    assert (search.root, search.num_simulations, search.c_puct) == ("puct", 200, 1.5)
    assert (search.dirichlet_alpha, search.dirichlet_epsilon) == (0.3, 0.25)


def assert_has_the_layers(planned: Config) -> None:
    network = nets.build(get("beastybar"), planned.network.preset, **planned.network.options)
    assert {name: network.spec.options[name] for name in LAYERS} == LAYERS
    assert 12_000_000 < network.num_parameters < 13_000_000  # plan: 12.86 million


def test_the_cluster_plays_and_infers_as_planned(cluster: ClusterConfig, trained: Config) -> None:
    assert_searches_as_planned(trained)
    assert trained.selfplay.games_per_group == 64  # leaves_per_worker_batch
    worker, server = cluster.roles["worker"], cluster.roles["inference"]
    assert (worker.per_node, worker.num_cpus) == (1, 150)  # selfplay_workers_per_node
    assert options_of(cluster, "worker") == {"--evaluator": "remote"}
    assert (server.total, server.num_gpus) == (2 * 8, 1)  # two machines of 8 A10G
    assert options_of(cluster, "inference") == {"--max-batch-rows": "512", "--max-wait-ms": "1"}


def test_the_cluster_trains_as_planned(cluster: ClusterConfig, trained: Config) -> None:
    train, replay = trained.train, trained.replay
    assert cluster.roles["trainer"].num_gpus == 8
    assert (train.batch_size, trained.stop.steps) == (16_384, 2000)
    assert (train.learning_rate, train.weight_decay) == (1e-4, 1e-4)
    assert train.publish_every_steps == 100  # weight_sync_every_steps
    assert (train.checkpoint_every_steps, train.checkpoint_every_minutes) == (100, None)
    assert replay.capacity_rows == 5_000_000 * ROWS_PER_POSITION
    assert replay.min_rows == 50_000 * ROWS_PER_POSITION
    examples = 220_000 * 0.75 * EXAMPLES_PER_GAME
    per_row = 2000 * 16_384 / examples / ROWS_PER_POSITION
    assert replay.samples_per_row == pytest.approx(per_row, rel=0.1)
    minutes = [60 * hours * 200 / 2000 for hours in (0.5, 0.75)]  # evaluate_every
    assert minutes[0] <= trained.rating.interval_minutes <= minutes[1]
    assert_has_the_layers(trained)


@pytest.mark.parametrize(
    ("preset", "hours"), [("h100_maxout", (10, 12)), ("h100_8gpu_maxout", (3, 4))]
)
def test_the_plans_of_one_node_are_carried(preset: str, hours: tuple[int, int]) -> None:
    planned = config.load("beastybar", preset)
    assert_searches_as_planned(planned)
    selfplay, train, replay = planned.selfplay, planned.train, planned.replay
    assert (selfplay.temperature, selfplay.temperature_drop_move) == (1.0, 12)
    assert (selfplay.final_temperature, selfplay.games_per_group) == (0.1, 512)
    assert planned.stop.games == 1500 * 2048
    assert (train.batch_size, train.learning_rate, train.weight_decay) == (16_384, 1e-4, 1e-4)
    assert (train.max_grad_norm, train.value_loss_weight) == (0.5, 1.0)
    assert (train.auxiliary_loss_weight, train.schedule) == (0.1, "cosine")
    iteration_steps = 2048 * EXAMPLES_PER_GAME * 4 / 16_384  # of four epochs
    assert train.warmup_steps == math.floor(15 * iteration_steps)
    assert train.publish_every_steps == math.ceil(iteration_steps)
    assert replay.samples_per_row == 4 / ROWS_PER_POSITION
    assert replay.capacity_rows == 3_000_000 * ROWS_PER_POSITION
    assert replay.min_rows == 30_000 * ROWS_PER_POSITION
    minutes = [60 * each * 25 / 1500 for each in hours]
    assert minutes[0] <= planned.rating.interval_minutes <= minutes[1]
    assert planned.rating.games == 200
    assert_has_the_layers(planned)


def test_eight_gpus_are_seven_for_inference_and_one_for_training() -> None:
    run = config.load("beastybar", "h100_8gpu_maxout").run
    assert run.inference_devices == [f"cuda:{number}" for number in range(1, 8)]
    assert run.training_devices == ["cuda:0"]
