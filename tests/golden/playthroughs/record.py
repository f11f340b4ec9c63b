"""Plays a random game of each kind and records everything that its rules state, ply by ply.

Every ply is a line: who acts, what is played, and a checksum of all that can be asked of the
position before it. Some plies, the first and the last among them, are written out in full. So a
rule, a text, an observation or a deal that changes shows in the files here, and can be read there.

    scripts/record-playthroughs        rewrites the files, on purpose
"""

import json
import random
import re
import textwrap
import zlib
from dataclasses import dataclass, field
from pathlib import Path

import zerofleet as zf

FOLDER = Path(__file__).parent
WIDTH = 100


@dataclass(frozen=True)
class Playthrough:
    """One file: a game with its options, and how often a ply is written out in full."""

    game: str
    options: dict[str, int | str] = field(default_factory=dict)
    seed: int = field(kw_only=True)
    full_every: int = field(kw_only=True)
    """In plies. Larger keeps the file short, smaller shows more of the game to a reader."""


# The seeds were chosen: short games in which much happens.
PLAYTHROUGHS = {
    # Checkers are hit, and a backgammon is won.
    "backgammon": Playthrough("backgammon", seed=279, full_every=15),
    "backgammon-3": Playthrough("backgammon", {"checkers": 3}, seed=28, full_every=8),
    # The same game twice: by points player 0 wins, by animals player 1.
    "beastybar": Playthrough("beastybar", seed=25, full_every=3),
    "beastybar-animals": Playthrough("beastybar", {"scoring": "animals"}, seed=25, full_every=3),
    "connect4": Playthrough("connect4", seed=1, full_every=4),
    "gomoku": Playthrough("gomoku", seed=68, full_every=10),
    # The 22nd stone makes five in a row, which is one too many to win.
    "gomoku-exact": Playthrough(
        "gomoku", {"size": 6, "line": 4, "rule": "exact"}, seed=18, full_every=3
    ),
}


def text_of(playthrough: Playthrough) -> str:
    """The whole file."""
    game = zf.games.get(playthrough.game, **playthrough.options)
    lines = header(game, playthrough.seed)
    # Only random() is promised to give the same numbers in every version of Python.
    rng = random.Random(playthrough.seed)
    position = game.new_position(playthrough.seed)
    ply = 0
    while position.to_move != zf.OVER:
        chosen = choose(position, rng)
        if ply % playthrough.full_every == 0:
            lines += ["", *in_full(position), ""]
        mover = "chance" if position.to_move == zf.CHANCE else f"player {position.to_move}"
        played = f"{mover} plays {position.action_text(chosen)} ({chosen})"
        lines.append(f"ply {ply}: {checksum(position)} {played}")
        position.play(chosen)
        ply += 1
    lines += ["", *in_full(position), "", f"over after {ply} plies: {checksum(position)}"]
    return "\n".join([*lines, f"rewards: {position.rewards()}", ""])


def header(game: zf.games.Game, seed: int) -> list[str]:
    outcomes = [f"{each.name} {each.reward:+g}" for each in game.outcomes]
    symmetries = [(actions.tobytes(), places.tobytes()) for actions, places in game.symmetries]
    return [
        f"game: {game.name}",
        f"options: {json.dumps(game.options)}",
        f"num_actions: {game.num_actions}",
        f"num_chance_outcomes: {game.num_chance_outcomes}",
        f"observation_bytes: {game.observation_bytes}",
        f"max_plies: {game.max_plies}",
        f"hidden: {game.hidden}",
        f"outcomes: {', '.join(outcomes)}",
        f"symmetries: {len(symmetries)}, {crc(repr(symmetries))}",
        f"seed: {seed}",
    ]


def choose(position: zf.games.Position, rng: random.Random) -> int:
    """A legal action, or an outcome with its probability."""
    point = rng.random()
    if position.to_move != zf.CHANCE:
        legal = position.legal_actions()
        return legal[int(point * len(legal))]
    outcomes = position.chance_outcomes()
    for outcome, probability in outcomes:
        point -= probability
        if point < 0:
            return outcome
    return outcomes[-1][0]


def in_full(position: zf.games.Position) -> list[str]:
    """All that can be asked of a position."""
    lines = [f"text: {position.to_text()}", *str(position).rstrip("\n").split("\n")]
    actions = [f"{action}:{position.action_text(action)}" for action in position.legal_actions()]
    rolls = [
        f"{roll}:{position.action_text(roll)}={probability:.6f}"
        for roll, probability in position.chance_outcomes()
    ]
    if actions:
        lines += wrapped("legal: " + "  ".join(actions))
    if rolls:
        lines += wrapped("chance: " + "  ".join(rolls))
    for player in (0, 1):
        lines += wrapped(f"observation of {player}: {hex_of(position.observe(player).tobytes())}")
    lines += wrapped(f"description: {json.dumps(position.describe())}")
    if position.game.hidden:  # else it is the same for all
        for player in (0, 1):
            lines += wrapped(f"description for {player}: {json.dumps(position.describe(player))}")
    return [line.rstrip() for line in lines]


def checksum(position: zf.games.Position) -> str:
    """Of all that can be asked of a position, whether written out or not."""
    actions = [(action, position.action_text(action)) for action in position.legal_actions()]
    rolls = [
        (roll, position.action_text(roll), f"{probability:.9f}")
        for roll, probability in position.chance_outcomes()
    ]
    observations = [position.observe(player).tobytes() for player in (0, 1)]
    descriptions = [json.dumps(position.describe(player)) for player in (None, 0, 1)]
    text = position.to_text()
    return crc(repr((text, str(position), actions, rolls, observations, descriptions)))


def crc(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


def hex_of(row: bytes) -> str:
    """Bytes as hex, four together; a byte that comes five times in a row or more as 00x112."""
    parts = []
    for run in re.finditer(rb"(.)\1{4,}|(?:(.)(?!\2{4})){1,4}", row, re.DOTALL):
        same = len(run[0]) > 4
        parts.append(f"{run[0][:1].hex()}x{len(run[0])}" if same else run[0].hex())
    return " ".join(parts)


def wrapped(line: str) -> list[str]:
    return textwrap.wrap(line, WIDTH, subsequent_indent="    ", break_on_hyphens=False)


def record() -> None:
    """Writes all files anew, and says which have changed."""
    for name, playthrough in PLAYTHROUGHS.items():
        path = FOLDER / f"{name}.txt"
        before = path.read_text(encoding="utf-8") if path.exists() else None
        text = text_of(playthrough)
        path.write_text(text, encoding="utf-8")
        print(f"{'as before' if text == before else 'rewritten'}: {path.name}")


if __name__ == "__main__":
    record()
