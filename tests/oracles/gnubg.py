"""Real GNU Backgammon: the plays that it knows in a position, and matches as it writes them."""

import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from zerofleet.arena.gnubg import SETTINGS, command, plies_setting, program


def all_plays(ids_and_dice: Sequence[tuple[str, tuple[int, int]]]) -> list[list[str]]:
    """Every play that GnuBG knows in each position, given by its ID for the player on roll."""
    commands = [*SETTINGS, plies_setting(0), "new game", "set turn 1"]
    for position_id, (die, other_die) in ids_and_dice:
        commands += [f"set board {position_id}", f"set dice {die} {other_die}", "hint 9999"]
    answers = output_of(commands).split("The dice have been set to ")[1:]
    if len(answers) != len(ids_and_dice):
        raise RuntimeError(f"GnuBG answered {len(answers)} of {len(ids_and_dice)} questions")
    return [re.findall(r"^ *\d+\. Cubeless 0-ply +(\S.*?) +Eq\.:", text, re.M) for text in answers]


def output_of(commands: Sequence[str]) -> str:
    """What GnuBG says when it obeys these commands."""
    with tempfile.TemporaryDirectory() as home:
        script = Path(home) / "commands"
        script.write_text("\n".join(commands) + "\n")
        return subprocess.run(
            command(program(), script),
            env={"HOME": home},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
        ).stdout


def read_and_written_again(match: Path, out: Path) -> str:
    """A match as GnuBG writes it after it has read it."""
    output_of(["set confirm new off", f"import mat {match}", f"export match mat {out}"])
    return out.read_text()


def match_with_itself(out: Path, seed: int, cube: bool, num_turns: int = 300) -> str:
    """A session that GnuBG plays with itself, as it writes it."""
    levels = [
        f"set player {player} {kind} evaluation plies 0"
        for player in (0, 1)
        for kind in ("chequerplay", "cubedecision")
    ]
    settings = [
        *("set player 0 gnubg", "set player 1 gnubg", *levels),
        *("set threads 1", "set jacoby off", "set confirm new off", "set display off"),
        *("set automatic game on", "set automatic roll on", f"set rng mersenne {seed}"),
        f"set cube use {'on' if cube else 'off'}",
    ]
    output_of([*settings, "new session", *["play"] * num_turns, f"export match mat {out}"])
    return out.read_text()
