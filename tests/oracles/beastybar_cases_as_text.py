"""Writes the cases of beastybar_cases.json as text that the C++ tests read without a JSON parser.

Each case is five lines: its title after "# ", the position as in `game.from_text`, the action, what
the turn makes of it, and an empty line. Run it after a change of the cases:

    python tests/oracles/beastybar_cases_as_text.py
"""

import json
from pathlib import Path
from typing import Any

CASES_JSON = Path(__file__).with_name("beastybar_cases.json")
CASES_TEXT = Path(__file__).with_name("beastybar_cases.txt")


def with_owners(cards: list[str]) -> str:
    return ",".join(cards)


def without_owners(cards: list[str]) -> str:
    return ",".join(card[:-1] for card in cards)


def position_text(case: dict[str, Any]) -> str:
    player = case["player"]
    hands, piles = {}, {}
    hands[player], piles[player] = case["hand"], case["pile"]
    hands[1 - player], piles[1 - player] = case["opponent_hand"], case["opponent_pile"]
    return (
        f"player={player} queue={with_owners(case['queue'])} bar={with_owners(case['bar'])} "
        f"thats_it={with_owners(case['thats_it'])} "
        f"hand0={without_owners(hands[0])} hand1={without_owners(hands[1])} "
        f"pile0={without_owners(piles[0])} pile1={without_owners(piles[1])}"
    )


def after_text(after: dict[str, Any]) -> str:
    return (
        f"queue={with_owners(after['queue'])} bar={with_owners(after['bar'])} "
        f"thats_it={with_owners(after['thats_it'])} hand={with_owners(after['hand'])} "
        f"pile={with_owners(after['pile'])} over={int(after['over'])} "
        f"points={after['points'][0]},{after['points'][1]}"
    )


def all_as_text() -> str:
    cases = json.loads(CASES_JSON.read_text(encoding="utf-8"))["cases"]
    blocks = [
        f"# {case['title']}\n{position_text(case)}\n{case['action']}\n{after_text(case['after'])}\n"
        for case in cases
    ]
    return "\n".join(blocks)


if __name__ == "__main__":
    CASES_TEXT.write_text(all_as_text(), encoding="utf-8")
