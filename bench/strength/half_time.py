"""The lines of docs/strength.md about a run against its own half-time weights."""

from plan import PLANS, self_step
from series import search_of


def half_time_lines(result, newest):
    """From records of the newest weights; empty if half time was not measured."""
    matches = [
        record
        for record in newest
        if self_step(record["opponent"]) not in (None, 0, record["step"])
    ]
    if not matches:
        return []
    half = self_step(matches[0]["opponent"])
    ways = {}
    for record in matches:
        ways.setdefault(standing(record), []).append(record["how"])
    results = "; ".join(f"{' and '.join(how)} {where}" for where, how in ways.items())
    lines = [f"Against its own half time (step {half:,}): {results}."]
    return [*lines, *perfect_lines(result, half), ""]


def standing(match):
    if match["low"] > 0.5:
        return "above it"
    return "below it" if match["high"] < 0.5 else "level with it"


def perfect_lines(result, half):
    """If a solver scores the moves and the half-time weights already pass the marks."""
    marks, search = PLANS[result["variant"]].marks, search_of(result)
    for record in result["measured"]:
        if (record["kind"], record["step"], record["how"]) == ("perfect", half, search):
            shares = {mark: record["perfect"][mark.series]["score"] for mark in marks}
            if all(share > mark.value for mark, share in shares.items()):
                scores = ", ".join(
                    f"{share:.1%} on {mark.series}" for mark, share in shares.items()
                )
                yield f"With {search} half time already passes the marks ({scores}):"
                yield "both are close to perfect play."
