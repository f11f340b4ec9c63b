"""zerofleet sweep"""

import itertools
import json
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from zerofleet import plugins
from zerofleet.arena import GateResult, Hypotheses
from zerofleet.arena import gate as play_gate
from zerofleet.arena.players import SearchText
from zerofleet.cli.arguments import GameOptions, NumThreads, Seed, option_values, refuse_unwritable
from zerofleet.cli.output import print_table
from zerofleet.cli.progress import games_progress
from zerofleet.cli.train_arguments import (
    Device,
    NumGames,
    Preset,
    RunSeed,
    Settings,
    Steps,
    TrainedGame,
    override_of,
)
from zerofleet.config import Config, differences, load, read
from zerofleet.config import override_of as parsed
from zerofleet.errors import BadText, Inconsistent
from zerofleet.fleet.machine import preset_here
from zerofleet.printing import say
from zerofleet.runs.folder import check_name, find, run_names
from zerofleet.runs.game import default_name


@dataclass(frozen=True)
class Variant:
    """One of the settings that are compared, and its run."""

    run: str
    settings: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join(self.settings)


def sweep(
    game: TrainedGame,
    vary: Annotated[
        list[str],
        typer.Option(
            "--vary",
            metavar="NAME=A,B,…",
            help="A setting and the values to compare; several make all combinations. The first "
            "value of each is the baseline.",
        ),
    ],
    name: Annotated[
        str | None,
        typer.Option(
            "--name", metavar="NAME", help="Runs are NAME-0, NAME-1, … Default: GAME-sweep."
        ),
    ] = None,
    preset: Preset = None,
    settings: Settings = None,
    option: GameOptions = None,
    steps: Steps = None,
    num_games: NumGames = None,
    device: Device = None,
    seed: RunSeed = None,
    fleet: Annotated[
        bool,
        typer.Option("--fleet", help="Train each as a fleet of local processes."),
    ] = False,
    elo0: Annotated[float, typer.Option(help="H0: a variant is stronger by at most this.")] = 0,
    elo1: Annotated[float, typer.Option(help="H1: a variant is stronger by at least this.")] = 30,
    max_games: Annotated[
        int, typer.Option(min=2, help="Games of a gate; then it is undecided.")
    ] = 2_000,
    player: Annotated[
        str, typer.Option(metavar="TEXT", help="Settings of the players, such as sims=64.")
    ] = "",
    gate_seed: Seed = 1,
    num_threads: NumThreads = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="FILE", help="Also write the results as JSON."),
    ] = None,
) -> None:
    """Train with several settings and compare them by `gate`.

    Each combination is an ordinary run with the same stop; each is then tested against the first
    (SPRT). The same command continues a sweep that was interrupted: finished runs are not trained
    again, unless the stop is later now. `zerofleet cloud cost --runs N` estimates the price of one
    on rented machines.

    Example: zerofleet sweep connect4 --preset fast --steps 300 --vary search.num_simulations=16,32
    """
    refuse_unwritable(output)
    if steps is None and num_games is None:
        raise BadText("say when a run stops, the same for all: --steps N, --games N or both")
    hypotheses = Hypotheses(elo0, elo1)
    stem = check_name(name or default_name(game, "sweep"))
    variants = [
        Variant(f"{stem}-{number}", combination)
        for number, combination in enumerate(combinations(vary))
    ]
    SearchText.of(player_of(variants[0], player))
    given = {"stop.steps": steps, "stop.games": num_games, "run.device": device, "run.seed": seed}
    options = [override_of(each, value) for each, value in given.items() if value is not None]
    overrides = [*map(parsed, settings or []), *options]
    if preset is None:
        preset, machine = preset_here(game, overrides)
        say(f"no preset given: using {preset}, which fits {machine}")
    for variant in variants:
        varied = [replace(parsed(each), source=f"--vary {each}") for each in variant.settings]
        config = load(game, preset, None, [*overrides, *varied], option_values(option))
        refuse_what_cannot_train(variant.run, config, fleet)
    common = ["--preset", preset]
    common += [part for each in options for part in each.source.split()]  # such as --steps 300
    for flag, values in (("--set", settings), ("--option", option), ("--plugin", plugins.loaded())):
        common += [part for each in values or [] for part in (flag, each)]
    say(f"{len(variants)} runs: {', '.join(each.run for each in variants)}", flush=True)
    for number, variant in enumerate(variants, start=1):
        say(f"{number} of {len(variants)}: {variant.run}: {variant}", flush=True)
        train_variant(game, variant, common, fleet)
    results = [None, *gates(variants, player, hypotheses, max_games, gate_seed, num_threads)]
    print_results(variants, results)
    if output is not None:
        found = [result_of(each, result) for each, result in zip(variants, results, strict=True)]
        output.write_text(json.dumps(found, indent=1) + "\n")


def combinations(vary: Sequence[str]) -> list[tuple[str, ...]]:
    """All combinations of settings, those of the first values first."""
    choices = []
    for text in vary:
        setting, equals, values = text.partition("=")
        listed = values.split(",")
        if not equals or not setting or len(listed) < 2 or not all(listed):
            raise BadText(
                f"--vary must be a setting and at least two values, such as "
                f"search.c_puct=1.0,1.5; got {text}"
            )
        if len(set(listed)) < len(listed):
            raise BadText(f"--vary {text} names a value twice")
        choices.append([f"{setting}={value}" for value in listed])
    return list(itertools.product(*choices))


def player_of(variant: Variant, settings: str) -> str:
    """The text of the player that a gate asks."""
    return f"run:{variant.run},{settings}" if settings else f"run:{variant.run}"


def refuse_what_cannot_train(run: str, config: Config, fleet: bool) -> None:
    """Raises for a run that would fail, or that is there with other settings: a sweep must not
    train for hours before it says so, nor compare runs by settings that they do not have."""
    if fleet:
        # Imported here: it loads redis and torch.
        from zerofleet.fleet.trainer_role import refuse_embedded_only

        refuse_embedded_only(config)
    if run not in run_names():
        return
    for name, (old, new) in differences(read(find(run).config_path), config).items():
        if not name.startswith("stop."):  # a sweep may go on to a later stop
            raise Inconsistent(
                f"run {run} exists with {name}={old}, and this sweep has {new}; choose another "
                "--name"
            )


def train_variant(game: str, variant: Variant, common: Sequence[str], fleet: bool) -> None:
    """Trains a run to its stop, in a process of its own; one that has reached it ends at once."""
    verb = ["fleet", "local"] if fleet else ["train"]
    command = [sys.executable, "-m", "zerofleet", *verb, game, "--run", variant.run, *common]
    command += [part for each in variant.settings for part in ("--set", each)]
    command += [] if fleet else ["--no-dash"]
    process = subprocess.Popen(command)
    try:
        status = process.wait()
    except KeyboardInterrupt:
        # The terminal sent it to the process too, which saves a checkpoint.
        process.wait()
        raise
    if status:
        raise Inconsistent(
            f"{variant.run} ended with status {status}; the same sweep continues it. Its command: "
            f"{shlex.join(['zerofleet', *command[3:]])}"
        )


def gates(
    variants: Sequence[Variant],
    player: str,
    hypotheses: Hypotheses,
    max_games: int,
    seed: int,
    num_threads: int | None,
) -> Iterator[GateResult]:
    """Every variant but the first against the first."""
    baseline = player_of(variants[0], player)
    game = find(variants[0].run).game()
    for variant in variants[1:]:
        first = player_of(variant, player)
        with games_progress() as show:

            def show_test(num_games: int, ratio: float, first: str = first) -> None:
                show(f"{first} against {baseline}, ratio {ratio:+.2f}", num_games, max_games)

            yield play_gate(
                game, first, baseline, hypotheses, max_games, seed, num_threads, show_test
            )


def print_results(variants: Sequence[Variant], results: Sequence[GateResult | None]) -> None:
    rows = []
    for variant, result in zip(variants, results, strict=True):
        if result is None:
            rows.append((variant.run, str(variant), "baseline", "", ""))
        else:
            score = result.match.score
            rows.append(
                (
                    variant.run,
                    str(variant),
                    result.verdict,
                    f"{score:.1%}",
                    f"{result.match.num_games:,}",
                )
            )
    print_table(
        ("run", "settings", "stronger than the first?", "score", "games"),
        rows,
        numbers=("score", "games"),
    )


def result_of(variant: Variant, result: GateResult | None) -> dict[str, object]:
    found: dict[str, object] = {"run": variant.run, "settings": list(variant.settings)}
    if result is not None:
        found |= {"verdict": result.verdict, "text": str(result)}
    return found
