"""The project uses the field's words, not paraphrases of them.

Ordinary words (average, rate, deal, found, told) stay where they mean the ordinary thing. A phrase
is found across lines and comment marks too.
"""

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent
PLACES = ["README.md", "CONTRIBUTING.md", "configs", "cpp", "docs", "src"]
KINDS = {".cc", ".h", ".md", ".py", ".yaml"}

NAMES = {
    r"\w*Lane": "stream, slot",
    r"SegmentText": "SegmentHeader",
    r"add_up": "all_reduce",
    r"attend_by_products": "attend_by_matmul",
    r"average_decay": "ema_decay",
    r"cheap_simulations": "fast_simulations",
    r"fates?": "exit status, card destination",
    r"full_search_share": "full_search_probability",
    r"least_positions": "min_rows",
    r"made\(": "inserted()",
    r"rating\.every": "rating.interval_minutes",
    r"samples_per_position": "samples_per_row",
    r"surprise_share": "policy_surprise_weight",
    r"value_target_decay": "value_target_lambda",
    r"value_target_search_share": "value_target_q_ratio",
    r"whole_turns": "afterstates",
    r"window_positions": "capacity_rows",
}
PHRASES = {
    "a wish not a blow": "graceful stop",
    "both ways": "forward and backward",
    "by heart": "overfit",
    "by turns": "lockstep",
    "cheap search": "fast search",
    "cut off": "truncated",
    "games a second": "games/s",
    "goes on": "resumes",
    "gone on with": "resumed",
    "leaves numbers out": "dropout",
    "own game": "custom game",
    "side by side": "concurrent",
    "the way back": "backward pass",
    "troubles and their cures": "troubleshooting",
    "under way": "in flight",
    "window of positions": "replay buffer",
}
GAP = r"[\s/#*>]+"  # also a line's end and the next line's comment mark
OFFENCES = {
    **{re.compile(rf"(?<![A-Za-z]){name}(?![A-Za-z])"): use for name, use in NAMES.items()},
    **{
        re.compile(rf"\b{GAP.join(phrase.split())}\b", re.IGNORECASE): use
        for phrase, use in PHRASES.items()
    },
}


def offences(path: Path) -> list[str]:
    text = path.read_text()
    return sorted(
        f"{path}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]!r}; write {use}"
        for pattern, use in OFFENCES.items()
        for match in pattern.finditer(text)
    )


@pytest.mark.parametrize("place", PLACES)
def test_only_the_words_of_the_field_are_used(place: str) -> None:
    root = PROJECT / place
    paths = [root] if root.is_file() else sorted(root.rglob("*"))
    found = [each for path in paths if path.suffix in KINDS for each in offences(path)]
    assert not found, "\n".join(found)


def test_names_within_names_and_phrases_across_lines_are_found(tmp_path: Path) -> None:
    text = tmp_path / "a.h"
    text.write_text("// rating.every, and what goes\n// on; limiter.made(3) {fate_of}\n")
    assert [each.split("; ")[1] for each in offences(text)] == [
        "write resumes",
        "write rating.interval_minutes",
        "write exit status, card destination",
        "write inserted()",
    ]
    text.write_text("an average rate; a fateful deal; made (of two)\n")
    assert offences(text) == []
