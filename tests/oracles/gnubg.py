"""All plays that real GNU Backgammon knows in a position, as players write them."""

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
    with tempfile.TemporaryDirectory() as home:
        script = Path(home) / "commands"
        script.write_text("\n".join(commands) + "\n")
        output = subprocess.run(
            command(program(), script),
            env={"HOME": home},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    answers = output.split("The dice have been set to ")[1:]
    if len(answers) != len(ids_and_dice):
        raise RuntimeError(f"GnuBG answered {len(answers)} of {len(ids_and_dice)} questions")
    return [re.findall(r"^ *\d+\. Cubeless 0-ply +(\S.*?) +Eq\.:", text, re.M) for text in answers]
