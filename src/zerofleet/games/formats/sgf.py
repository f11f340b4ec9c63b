"""Gomoku as SGF: FF[4], GM[4], boards of any size that Gomoku has.

The reader takes the main line, the first child of every node. It omits variations with a note, and
comments and markup without one. Points are written as in Go, two letters with aa in the upper left
corner; the reader also accepts h8. Setup stones are refused: games start from the empty board. RU
is freestyle or exact (Gomocup's standard rule); without RU it is freestyle or the caller's variant.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from zerofleet._core import OVER, Game, Position
from zerofleet.errors import BadText, IllegalAction, Inconsistent, Unsupported, ZerofleetError
from zerofleet.games.record import GameRecord
from zerofleet.games.registry import get

GOMOKU = "4"
COLOURS = "BW"
"""Of player 0 and player 1."""

SETUP = ("AB", "AW", "AE")
RULES = {"freestyle": "freestyle", "exact": "exact", "standard": "exact"}
BEGINNING = re.compile(r"\(\s*;")
TOKEN = re.compile(r"\s*(?:([();])|([A-Za-z]+)|\[((?:\\.|[^\]\\])*)\])", re.DOTALL)
RESULTS = {1.0: "B+", 0.0: "0", -1.0: "W+"}
"""RE by the reward of player 0."""
MOVES_PER_LINE = 10

Node = dict[str, list[str]]


# ---- the tree


@dataclass
class Tree:
    """The main line of one game."""

    nodes: list[Node] = field(default_factory=list)
    num_variations: int = 0


@dataclass
class Branch:
    """An open parenthesis."""

    is_main: bool
    num_children: int = 0


def trees(text: str) -> Iterator[Tree]:
    """The games of a collection. Text around them is skipped, as SGF specifies."""
    beginning = BEGINNING.search(text)
    if beginning is None:
        raise BadText("it is not SGF: it contains no game, which starts with (;")
    while beginning is not None:
        tree, end = tree_at(text, beginning.start())
        yield tree
        beginning = BEGINNING.search(text, end)


def tree_at(text: str, at: int) -> tuple[Tree, int]:
    """The game that starts there, and its end."""
    tree, branches, name = Tree(), [Branch(is_main=True)], ""
    at += 1
    while branches:
        found = TOKEN.match(text, at)
        if found is None:
            rest = text[at : at + 20].strip()
            fault = f"{rest!r} is not SGF" if rest else "the game is not closed: ) is missing"
            raise BadText(f"{place(text, at)}: {fault}")
        at = found.end()
        mark, word, value = found.groups()
        if mark == "(":
            open_branch(tree, branches)
        elif mark == ")":
            branches.pop()
        elif not branches[-1].is_main:
            continue
        elif branches[-1].num_children:
            raise BadText(f"{place(text, at)}: a node follows a closed variation")
        elif mark == ";":
            tree.nodes.append({})
            name = ""
        elif word is not None:
            # FF[3] allows lower-case letters in between: Black is B.
            name = re.sub("[a-z]", "", word)
        elif not name:
            raise BadText(f"{place(text, at)}: [{value[:20]}] has no property name before it")
        else:
            tree.nodes[-1].setdefault(name, []).append(value)
    return tree, at


def open_branch(tree: Tree, branches: list[Branch]) -> None:
    parent = branches[-1]
    is_main = parent.is_main and parent.num_children == 0
    tree.num_variations += parent.is_main and not is_main
    parent.num_children += 1
    branches.append(Branch(is_main))


def place(text: str, at: int) -> str:
    return f"line {text.count(chr(10), 0, at) + 1}"


def simple_text(value: str) -> str:
    """A value without escapes and line breaks."""
    joined = re.sub(r"\\(\r\n|\n\r|\n|\r)", "", value)
    return re.sub(r"\s", " ", re.sub(r"\\(.)", r"\1", joined)).strip()


def escaped(text: str) -> str:
    return re.sub(r"([\\\]])", r"\\\1", " ".join(text.split()))


# ---- reading


def read(text: str, game: Game | None = None) -> list[GameRecord]:
    found = list(trees(text))
    records = []
    for number, tree in enumerate(found, start=1):
        try:
            records.append(record_of(tree, game))
        except ZerofleetError as error:
            where = f"game {number}, " if len(found) > 1 else ""
            raise type(error)(f"{where}{error}") from None
    return records


def record_of(tree: Tree, given: Game | None) -> GameRecord:
    facts = {name: simple_text(values[0]) for name, values in tree.nodes[0].items() if values}
    game = game_of(facts, given)
    start = game.new_position()
    position = start.copy()
    actions: list[int] = []
    for node in tree.nodes:
        for name in SETUP:
            if name in node:
                raise Unsupported(
                    f"setup stones ({name}) after move {len(actions)}: games are read from the "
                    "empty board; write the stones as moves"
                )
        moves = [(colour, value) for colour in COLOURS for value in node.get(colour, [])]
        if len(moves) > 1:
            raise BadText(f"a node after move {len(actions)} has {len(moves)} moves; one is right")
        for colour, value in moves:
            try:
                actions.append(action_of(position, colour, simple_text(value)))
            except ZerofleetError as error:
                raise type(error)(f"move {len(actions) + 1}: {error}") from None
            position.play(actions[-1])
    notes = []
    if tree.num_variations:
        notes.append(f"variations left out: {tree.num_variations}; the main line is read")
    result = reward_of(facts.get("RE", ""))
    if position.to_move == OVER and result not in (None, position.rewards()[0]):
        notes.append(f"RE[{facts['RE']}] contradicts the board, which counts")
    return GameRecord(
        start,
        tuple(actions),
        (facts.get("PB", ""), facts.get("PW", "")),
        result if position.to_move != OVER else None,
        tuple(notes),
    )


def game_of(facts: dict[str, str], given: Game | None) -> Game:
    if given is not None:
        checked(given)
    if facts.get("GM", GOMOKU if given else "1") != GOMOKU:
        raise Unsupported(
            f"it is a game GM[{facts.get('GM', '1')}]; Gomoku is GM[{GOMOKU}]"
            + ("" if "GM" in facts else ", and a file without GM is Go unless the game is named")
        )
    options: dict[str, str] = dict(given.options) if given else {}
    if "SZ" in facts:
        width, _, height = facts["SZ"].partition(":")
        if height not in ("", width):
            raise Unsupported(f"SZ[{facts['SZ']}]: a board of Gomoku is square")
        options["size"] = width
    elif given is None:
        raise BadText("SZ is missing: the file does not say how large its board is; name the game")
    if "RU" in facts:
        if facts["RU"].lower() not in RULES:
            raise Unsupported(f"RU[{facts['RU']}]: known rules are {', '.join(RULES)}")
        options["rule"] = RULES[facts["RU"].lower()]
    game = get("gomoku", **options)
    if given is not None and game != given:
        raise Inconsistent(f"it is a game of {game!r}, not of {given!r}")
    return game


def action_of(position: Position, colour: str, value: str) -> int:
    if position.to_move == OVER:
        raise IllegalAction(f"{colour}[{value}]: the game is over")
    if colour != COLOURS[position.to_move]:
        raise IllegalAction(f"{colour}[{value}]: it is {COLOURS[position.to_move]}'s turn")
    if not re.fullmatch("[a-z]{2}", value):
        return position.action_from_text(value.lower())
    size = int(position.game.options["size"])
    column, row = (ord(letter) - ord("a") for letter in value)
    if max(column, row) >= size:
        raise IllegalAction(f"{colour}[{value}]: that is off a board of size {size}")
    action = row * size + column
    return position.action_from_text(position.action_text(action))  # its error names a taken cell


def reward_of(result: str) -> float | None:
    """Black's reward by RE; None if RE has no result."""
    if result in ("0", "Draw"):
        return 0.0
    return {"B+": 1.0, "W+": -1.0}.get(result[:2])


# ---- writing


def write(records: Sequence[GameRecord]) -> str:
    return "".join(map(game_text, records))


def game_text(record: GameRecord) -> str:
    game = checked(record.game)
    size = int(game.options["size"])
    facts = {"FF": "4", "GM": GOMOKU, "CA": "UTF-8", "SZ": str(size), "RU": game.options["rule"]}
    facts |= {f"P{colour}": name for colour, name in zip(COLOURS, record.players, strict=True)}
    reward = record.reward_first_player
    if reward is not None:
        if reward not in RESULTS:
            raise Inconsistent(f"Gomoku is won, drawn or lost, so no result of {reward:g}")
        facts["RE"] = RESULTS[reward]
    text = "(;" + "".join(f"{name}[{escaped(value)}]" for name, value in facts.items() if value)
    # The text of a start with stones lists them as moves, in some order.
    position = game.new_position()
    stones = [position.action_from_text(cell) for cell in record.start.to_text().split()]
    for number, action in enumerate([*stones, *record.actions]):
        row, column = divmod(action, size)
        point = chr(ord("a") + column) + chr(ord("a") + row)
        text += ("\n" if number % MOVES_PER_LINE == 0 else "") + f";{COLOURS[number % 2]}[{point}]"
    return text + ")\n"


def checked(game: Game) -> Game:
    line = game.options.get("line") if game.name == "gomoku" else None
    if line != "5":
        variant = game.name + (f" line={line}" if line else "")
        raise Unsupported(f"SGF is for gomoku line=5, not for {variant}")
    return game
