"""The curves in a result of rate.py: strength over minutes of training."""

from dataclasses import dataclass

from plan import PLANS

ERROR = "error"


@dataclass(frozen=True)
class Point:
    """A measurement of one step's weights, with its 95 % interval."""

    minutes: float
    value: float
    low: float
    high: float


def search_of(result):
    """The search budget of the newest weights: sims=200."""
    ways = [each["how"] for each in result["measured"] if each["step"] == result["run"]["step"]]
    return next(how for how in ways if how not in ("sims=0", "greedy"))


def commit_of(record, result):
    """The commit of a measurement; the result's first commit if the record has none."""
    return record.get("commit", result["commit"])


def curves(result):
    """Points by series, in order of time: the series with marks and those of the plan's curve. Of
    two measurements of the same series and step the larger one counts."""
    plan = PLANS[result["variant"]]
    names = dict.fromkeys([*(mark.series for mark in plan.marks), *plan.curve])
    search = search_of(result)
    found = {}
    for record in sorted(result["measured"], key=lambda each: each["count"]):
        if record["how"] == search:
            for name, values in named_values(record):
                found[name, record["step"]] = values
    series = {
        name: [found[at] for at in sorted(found, key=lambda at: at[1]) if at[0] == name]
        for name in names
    }
    return {name: points for name, points in series.items() if points}


def named_values(record):
    """The points of a measurement, each with the name of its series."""
    if record["kind"] == "perfect":
        for kind, share in record["perfect"].items():
            yield kind, point(record, share, "score")
    elif record["kind"] == "judge":
        yield ERROR, point(record, record, "error")
    else:
        yield record["opponent"], point(record, record, "score")


def point(record, values, name):
    return Point(record["minutes"], values[name], values["low"], values["high"])
