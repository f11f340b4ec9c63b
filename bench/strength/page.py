"""The page docs/strength.md: the measurements of the newest run of each variant, as tables, and of
the weights in weights/ where they are of another run."""

import json

from half_time import half_time_lines
from plan import PLANS, self_step
from series import ERROR, commit_of, named_values, search_of

HEAD = """# Strength

Strength of trained runs, measured on CPUs. Bands and brackets are 95 % intervals over pairs of
games ([Arena](6-arena.md#matches)). A mark bounds the value itself; against its own weights a run
passes when the whole interval is above 50 %.

`bench/strength/rate.py` measures, `bench/strength/plot.py` plots and writes this page. The results
are in `bench/results/strength-*.json`; names that end in `h200` are runs trained on one H200.
"""
TITLES = {
    "connect4": "Connect Four",
    "beastybar": "Beasty Bar",
    "backgammon": "Backgammon",
    "gomoku-9": "Gomoku 9x9",
    "gomoku-15": "Gomoku 15x15",
}


def page_text(results, weights):
    """`weights` is the folder of the shipped weights."""
    return "\n".join([HEAD, *(section(result, weights) for result in results.values())])


def section(result, weights):
    """One variant: its run, its plot, and a row per measurement."""
    variant, run = result["variant"], result["run"]
    newest = [each for each in result["measured"] if each["step"] == run["step"]]
    rows = [row for record in newest for row in rows_of(record, result)]
    return "\n".join(
        [
            f"## {TITLES[variant]}",
            "",
            f"![strength of {TITLES[variant]} over time](strength/{variant}.svg)",
            "",
            f"{run['minutes']:g} minutes, {run['run_games']:,} games, {run['step']:,} steps.",
            f"Network: {run['parameters']:,} parameters,",
            f"{run['network']}.",
            f"Measured on {result['date'][:10]} at {commits_text(result)}.",
            "",
            *half_time_lines(result, newest),
            "| player | against | games | result | mark | |",
            "|---|---|---|---|---|---|",
            *rows,
            "",
            *shipped_lines(weights / variant / "about.json", result),
        ]
    )


def shipped_lines(path, result):
    """The measurements of the shipped weights, where they are of another run."""
    if not path.exists():
        return []
    about = json.loads(path.read_text())
    if about["run_id"] == result["run"]["id"]:
        return []
    of_run = result | {"run": {"step": about["steps"]}, "measured": about["measured"]}
    start = f", from {about['from']}" if "from" in about else ""
    return [
        f"The shipped weights are of another run: {about['minutes']:g} minutes, "
        f"{about['games']:,} games,",
        f"{about['steps']:,} steps{start}.",
        "",
        "| player | against | games | result | mark | |",
        "|---|---|---|---|---|---|",
        *(row for record in about["measured"] for row in rows_of(record, of_run)),
        "",
    ]


def rows_of(record, result):
    marks = PLANS[result["variant"]].marks if record["how"] == search_of(result) else ()
    for name, point in named_values(record):
        is_error = name == ERROR
        count = record["perfect"][name]["positions"] if "perfect" in record else record["count"]
        shown = "{:.2f}" if is_error else "{:.1%}"
        value, low, high = (shown.format(each) for each in (point.value, point.low, point.high))
        text = f"{value} ({low} to {high})"
        if name == "gnubg-0":
            ends = f"{record['points_low']:+.3f} to {record['points_high']:+.3f}"
            text += f", {record['points']:+.3f} points/game ({ends})"
        against = {"perfect": f"positions {name}", "judge": "GnuBG, 2 plies, as judge"}
        opponent = against.get(record["kind"], opponent_text(name, result))
        asked = list(asked_of(name, point, marks, shown))
        mark_text = "; ".join(mark for mark, _ in asked)
        verdict_text = "; ".join(verdict for _, verdict in asked)
        cells = (record["how"], opponent, f"{count:,}", text, mark_text, verdict_text)
        yield f"| {' | '.join(cells)} |"


def asked_of(name, point, marks, shown):
    """Each mark of a series, and whether it is passed."""
    if self_step(name) is not None:
        yield "interval above 50 %", verdict(point.low > 0.5)
    for mark in marks:
        if mark.series == name and mark.kind != "comparison":
            goal = "goal: " if mark.kind == "goal" else ""
            value = shown.format(mark.value)
            if name == ERROR:
                yield f"{goal}below {value}", goal + verdict(point.value < mark.value)
            else:
                yield f"{goal}above {value}", goal + verdict(point.value > mark.value)


def verdict(passed):
    return "passed" if passed else "missed"


def commits_text(result):
    """The commits of the measurements, in order: commit 1a2b3c4."""
    commits = dict.fromkeys(commit_of(record, result) for record in result["measured"])
    return f"commit{'s' if len(commits) > 1 else ''} {', '.join(commits or [result['commit']])}"


def opponent_text(name, result):
    """self@900,sims=200 in words."""
    step, how = self_step(name), name.partition(",")[2]
    if step is None:
        return name
    if step == result["run"]["step"]:
        return f"its own {how}"
    return "its start" if step == 0 else f"{how} of step {step:,} (half time)"
