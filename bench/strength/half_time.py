"""What docs/strength.md says of a run against its own weights at half time."""

from plan import PLANS, self_step
from series import search_of


def half_time_lines(result, newest):
    """Of records of the newest weights; nothing where half time was not played."""
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
    told = "; ".join(f"{' and '.join(how)} {where}" for where, how in ways.items())
    lines = [f"Against its own half time (step {half:,}): {told}."]
    return [*lines, *perfect_lines(result, half), ""]


def standing(match):
    if match["low"] > 0.5:
        return "above it"
    return "below it" if match["high"] < 0.5 else "level with it"


def perfect_lines(result, half):
    """Where a solver knows perfect moves and half time passes their marks by search already."""
    marks, search = PLANS[result["variant"]].marks, search_of(result)
    for record in result["measured"]:
        if (record["kind"], record["step"], record["how"]) == ("perfect", half, search):
            shares = {mark: record["perfect"][mark.series]["score"] for mark in marks}
            if all(share > mark.value for mark, share in shares.items()):
                told = ", ".join(f"{share:.1%} on {mark.series}" for mark, share in shares.items())
                yield f"With {search} half time already passes the marks ({told}):"
                yield "both are close to perfect play."
