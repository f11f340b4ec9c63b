"""Training from Python: zf.train("connect4", preset="fast", run="c4", minutes=30)."""

import difflib
import inspect
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from zerofleet import games, nets
from zerofleet.arena.players import refuse_unknown
from zerofleet.arena.ratings import FROZEN, START
from zerofleet.config import Config, Override
from zerofleet.errors import Inconsistent
from zerofleet.fleet.callbacks import NO_CALLBACKS, Callbacks, OnStep, OnVersion
from zerofleet.fleet.embedded import train as train_here
from zerofleet.fleet.first_check import check_first, remember
from zerofleet.fleet.group_sizes import refuse_measured_size
from zerofleet.fleet.hardware import plan_devices, refuse_too_large
from zerofleet.fleet.machine import name_and_preset
from zerofleet.fleet.opponents import frozen_weights, keep_frozen
from zerofleet.fleet.screen import PlainScreen, Screen
from zerofleet.games import Game
from zerofleet.infer.load import network_of, weights_named
from zerofleet.metrics import Sink, Tracker, open_sinks
from zerofleet.nets import NetworkSpec
from zerofleet.runs.folder import Run, config_for, create_or_open, run_names
from zerofleet.training import LossTerm, find_loss_terms, register_loss_term
from zerofleet.weights import Weights, WeightsStore

TrainBy = Callable[[Config, Run, Sequence[Sink], Screen, Callbacks], None]


def train(
    game: str,
    preset: str | None = None,
    run: str | None = None,
    *,
    minutes: float | None = None,
    steps: int | None = None,
    start_from: str | None = None,
    restart: bool = False,
    device: str | None = None,
    seed: int | None = None,
    settings: Sequence[str] = (),
    check: bool = True,
    loss_terms: Mapping[str, LossTerm] | None = None,
    on_step: OnStep | None = None,
    on_version: OnVersion | None = None,
    **options: int | str,
) -> Run:
    """Trains a network by self-play, or resumes an existing run; returns the run.

    Without a preset, a new run takes the one that fits this machine. `settings` are texts such as
    "search.num_simulations=64"; `options` are options of the game. An existing run keeps its
    settings except those given here. A new run starts from random weights, or from those that
    `start_from` names: "best", "run:NAME", "run:NAME@STEP" or "file:PATH". `restart` starts an
    existing run again at step 0: it keeps its games and loses its checkpoints and later weights.
    A custom game is checked first, unless `check` is False.

    `loss_terms` are custom losses by name, see `zf.training.register_loss_term`. Their weight is 1
    unless the setting `train.loss_terms` says otherwise.

    `on_step(StepInfo)` is called after each step. If it returns False, the run ends as if it had
    reached `stop.steps`: checkpoint, then final rating; a deterministic run first completes the
    steps of its round. `on_version(VersionInfo)` is called after each publication, every
    `train.publish_every_steps` steps. If a callback raises, the run writes a checkpoint and raises
    the exception again. See zerofleet.fleet.callbacks.
    """
    overrides: list[str | Override] = [
        *settings,
        *(
            Override(place, value, f"{place[1]}={value}")
            for place, value in (
                (("stop", "minutes"), minutes),
                (("stop", "steps"), steps),
                (("run", "device"), device),
                (("run", "seed"), seed),
            )
            if value is not None
        ),
        *(
            Override(("game", "options", name), value, option_source(name, value))
            for name, value in options.items()
        ),
    ]
    name, preset = name_and_preset(game, run, preset, overrides)
    checked = check_first(game, options, name, print) if check else ""
    config = with_loss_terms(config_for(name, game, preset, None, overrides), loss_terms or {})
    callbacks = Callbacks(on_step, on_version)
    return train_run(
        name,
        config,
        start_from=start_from,
        restart=restart,
        callbacks=callbacks,
        checked=checked,
    )


def with_loss_terms(config: Config, terms: Mapping[str, LossTerm]) -> Config:
    """Registers the terms and adds them to the settings."""
    for name, term in terms.items():
        register_loss_term(name)(term)
    weights = dict.fromkeys(terms, 1.0) | config.train.loss_terms
    return config.model_copy(
        update={"train": config.train.model_copy(update={"loss_terms": weights})}
    )


def option_source(name: str, value: int | str) -> str:
    """What an error calls a game option; a likely typo of an argument says so."""
    near = difflib.get_close_matches(name, inspect.signature(train).parameters, n=1)
    proposal = f" is not an argument of train, did you mean {near[0]}? As an option" if near else ""
    return f"{name}={value}{proposal}"


def train_run(
    name: str,
    config: Config,
    trackers: Sequence[Tracker] = (),
    screen: Screen | None = None,
    start_from: str | None = None,
    restart: bool = False,
    callbacks: Callbacks = NO_CALLBACKS,
    checked: str = "",
    train_by: TrainBy | None = None,
    frozen: Weights | None = None,
) -> Run:
    """Creates or opens a run and trains it. It always writes TensorBoard events.

    `checked` is the digest of the custom game that zerofleet.fleet.first_check has passed. `frozen`
    are the weights that the run exploits, see `zerofleet.fleet.exploit`.
    `train_by` trains from the games of a fleet; None: in this process alone.
    """
    # A run cannot change its network, so a bad one is rejected before the run exists; so are
    # missing devices, unknown opponents and inconsistent settings.
    if train_by is None and config.run.evaluator == "remote":
        raise Inconsistent(
            "run.evaluator=remote is for the workers of a fleet (zerofleet trainer, worker and "
            "inference); a run in one process evaluates by itself: use auto"
        )
    plan_devices(config)
    refuse_measured_size(config)
    game = games.get(config.game.name, **config.game.options)
    refuse_too_large(config, game)
    network = nets.build(game, config.network.preset, **config.network.options)
    find_loss_terms(config.train.loss_terms)
    for opponent in config.rating.opponents:
        if opponent == FROZEN and not config.opponent.source:
            raise Inconsistent(
                f"rating.opponents: {FROZEN} is for runs that `zerofleet exploit` starts: the "
                "weights that they exploit"
            )
        if opponent not in (START, FROZEN) and not opponent.startswith(f"run:{name}@"):
            refuse_unknown(game, opponent)
    first = None
    if start_from is not None:
        if name in run_names():
            raise Inconsistent(
                f"run {name} already exists, and --from starts a new one; use another name"
            )
        first = first_weights(start_from, game, network.spec)
    screen = screen or PlainScreen()
    with create_or_open(name, config) as run:
        if restart:
            forget_training(run)
        refuse_without_checkpoints(run)
        remember(run, checked)
        if frozen is not None:
            keep_frozen(run, frozen)
        if config.opponent.source:
            frozen_weights(run, config)  # refuses a run without them, or with others
        if first is not None:
            WeightsStore(run.weights).publish(first)
        sinks = open_sinks(
            ["tensorboard", *trackers], run.folder, run.name, run.facts.id, config.model_dump()
        )
        (train_by or train_here)(config, run, sinks, screen, callbacks)
    return run


def first_weights(source: str, game: Game, wanted: NetworkSpec) -> Weights:
    """The weights that a source names, as step 0 of a new run. They must fit its network.

    Network options that are newer than the weights take their defaults.
    """
    weights = weights_named(source, game)
    network, _ = network_of(weights, game)
    if network.spec != wanted:
        raise Inconsistent(
            f"--from {source}: its network is {network.spec.network_text}, the run's is "
            f"{wanted.network_text}; {fitting_settings(game, network.spec)}"
        )
    return replace(weights, version=0, spec=network.spec.to_dict())


def fitting_settings(game: Game, spec: NetworkSpec) -> str:
    """The command-line options that select the network of a spec."""
    sets = [f"{name}: {value}" for name, value in spec.options.items()]
    for preset in nets.presets(game.name):
        if nets.build(game, preset).spec.kind == spec.kind:
            options = f"{{{', '.join(sets)}}}"
            return f"--set network.preset={preset} --set 'network.options={options}' fits"
    return "no preset has such a network"


def refuse_without_checkpoints(run: Run) -> None:
    """Raises Inconsistent for a trained run without a checkpoint to resume from."""
    trained = [version for version in WeightsStore(run.weights).versions() if version > 0]
    if trained and not any(path.stem.isdecimal() for path in run.checkpoints.glob("*.json")):
        raise Inconsistent(
            f"{run.folder} has weights of step {trained[-1]} but no checkpoints, so it can be "
            "played and rated but not resumed; pack it again with them, use another name, or start "
            "again at step 0 with --restart, which removes these weights and keeps the games"
        )


def forget_training(run: Run) -> None:
    """Removes checkpoints and trained weights; settings, games and the initial weights stay.
    Checkpoints go first: after a crash in between, the run cannot be resumed by mistake."""
    if run.checkpoints.exists():
        shutil.rmtree(run.checkpoints)
    WeightsStore(run.weights).forget_after(0)
