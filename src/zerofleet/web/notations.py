"""Positions as people paste them: our own texts and the notations of other programs.

Backgammon    GnuBG position IDs, alone or with the match ID, which has the dice
Gomoku        move lists in any spelling (H8 I9, h8,i9, 1. h8 i9), SGF
any game      what Position.to_text writes, and games that `zerofleet play` saved
"""

import base64
import re

from zerofleet.errors import BadText
from zerofleet.games import Game, Position, games_from_text
from zerofleet.games.registry import as_utf8

ID = r"[A-Za-z0-9+/]{14}"
MATCH_ID = r"[A-Za-z0-9+/]{12}"
PASTED_ID = re.compile(rf"(?:^|.*?\bID\s*:\s*|.*?\s)?({ID})(?:\s*:\s*|[\s\S]*?)({MATCH_ID})\s*")
GOMOKU_MOVES = re.compile(r"(?:(?:\d+\.)|[a-z]\d{1,2}|[\s,;-])+")
MOVE = re.compile(r"[a-z]\d{1,2}(?!\.)")


def position_from(game: Game, text: str) -> tuple[Position, str]:
    """The position, and what it was read as."""
    text = as_utf8(text).strip()
    if re.match(r"game\s*:", text):
        return last_position(game, text, "text"), "a saved game"
    if game.name == "gomoku":
        if text.startswith("("):
            return last_position(game, text, "sgf"), "SGF"
        return game.from_text(gomoku_moves(text)), "a list of moves"
    if game.name == "backgammon" and (found := PASTED_ID.fullmatch(text)):
        position_id, match_id = found.groups()
        dice = dice_of(match_id)
        return game.from_text(f"{position_id} {dice}".strip()), "GnuBG position and match ID"
    words = {"backgammon": "a GnuBG position ID", "connect4": "a list of columns"}
    return game.from_text(text), words.get(game.name, "a position")


def last_position(game: Game, text: str, file_format: str) -> Position:
    try:
        records = games_from_text(text, file_format, game)
    except RecursionError:
        raise BadText("the text is nested too deeply") from None
    if len(records) != 1:
        raise BadText(f"the text has {len(records)} games; paste one")
    if records[0].game != game:
        raise BadText(f"it is a game of {records[0].game!r}, not of {game!r}")
    return records[0].positions()[-1]


def gomoku_moves(text: str) -> str:
    """A move list in our spelling; a text that is none is left as it is, for its error."""
    lowered = text.lower()
    if not GOMOKU_MOVES.fullmatch(lowered):
        return text
    return " ".join(MOVE.findall(re.sub(r"\b\d+\.", " ", lowered)))


def dice_of(match_id: str) -> str:
    """The roll in a GnuBG match ID, as our texts write it; empty before the roll."""
    try:
        bits = int.from_bytes(base64.b64decode(match_id, validate=True), "little")
    except ValueError:
        raise BadText(f"{match_id!r} is no match ID; one has 12 characters") from None
    high, low = sorted(((bits >> 15) & 7, (bits >> 18) & 7), reverse=True)
    if low == 0:
        return ""
    if high > 6:
        raise BadText(f"{match_id!r} is no match ID: it has a die of {high}")
    return f"{high}{low}" if high != low else str(high) * 4
