"""Training from Python: zf.train("connect4", preset="fast", run="c4", minutes=30)."""

from collections.abc import Sequence

from zerofleet import games, nets
from zerofleet.config import Config
from zerofleet.errors import Inconsistent
from zerofleet.fleet.devices import plan_devices
from zerofleet.fleet.group_sizes import refuse_unsaid_size
from zerofleet.fleet.local import train as train_here
from zerofleet.fleet.screen import PlainScreen, Screen
from zerofleet.metrics import Tracker, open_sinks
from zerofleet.run_folders import Run, config_for, create_or_open
from zerofleet.run_games import default_name
from zerofleet.weights import WeightsStore


def train(
    game: str,
    preset: str | None = None,
    run: str | None = None,
    *,
    minutes: float | None = None,
    steps: int | None = None,
    settings: Sequence[str] = (),
    **options: int | str,
) -> Run:
    """Trains a network by self-play, or goes on with a run that exists; gives the run.

    `settings` are texts such as "search.num_simulations=64", `options` those of the game. A run
    that exists keeps its settings, but for those given here.
    """
    limits = {"stop.minutes": minutes, "stop.steps": steps}
    given = [f"{name}={value}" for name, value in limits.items() if value is not None]
    name = run or default_name(game, preset or "fast")
    return train_run(name, config_for(name, game, preset, None, [*settings, *given], options))


def train_run(
    name: str, config: Config, trackers: Sequence[Tracker] = (), screen: Screen | None = None
) -> Run:
    """Makes or opens the run of that name and trains it. TensorBoard has its curves in any case."""
    # A run cannot change its network, so a wrong one is refused before there is a run; and so are
    # devices that are not there, and settings that do not go together.
    plan_devices(config)
    refuse_unsaid_size(config)
    game = games.get(config.game.name, **config.game.options)
    nets.build(game, config.network.preset, **config.network.options)
    screen = screen or PlainScreen()
    with create_or_open(name, config, screen.say) as run:
        refuse_without_checkpoints(run)
        sinks = open_sinks(
            ["tensorboard", *trackers], run.folder, run.name, run.facts.id, config.model_dump()
        )
        train_here(config, run, sinks, screen)
    return run


def refuse_without_checkpoints(run: Run) -> None:
    """Raises Inconsistent for a run that has learnt something and came without its checkpoints."""
    if not run.checkpoints.exists() and any(WeightsStore(run.weights).versions()):
        raise Inconsistent(
            f"{run.folder} came here without checkpoints, so it can be played and rated but not "
            "gone on with; pack it again with them, or use another name"
        )
