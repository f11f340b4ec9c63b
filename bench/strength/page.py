"""The page docs/strength.md: what was measured of the newest run of each variant, as tables."""

from plan import PLANS, SELF
from series import ERROR, commit_of, named_values, search_of

HEAD = """# Strength

How strong runs became, measured on CPUs after training. Made by `bench/strength/plot.py` of what
`bench/strength/rate.py` wrote into `bench/results`. Bands and brackets are 95 % intervals; matches
are paired, from both seats ([Arena](6-arena.md)).
"""
TITLES = {
    "connect4": "Connect Four",
    "beastybar": "Beasty Bar",
    "backgammon": "Backgammon",
    "gomoku-9": "Gomoku 9x9",
    "gomoku-15": "Gomoku 15x15",
}


def page_text(results):
    return "\n".join([HEAD, *(section(result) for result in results.values())])


def section(result):
    """One variant: its run, its picture, and a row for each thing that was measured."""
    variant, run = result["variant"], result["run"]
    newest = [each for each in result["measured"] if each["step"] == run["step"]]
    rows = [row for record in newest for row in rows_of(record, result)]
    return "\n".join(
        [
            f"## {TITLES[variant]}",
            "",
            f"![strength of {TITLES[variant]} over time](strength/{variant}.svg)",
            "",
            f"{run['minutes']:g} minutes, {run['run_games']:,} games, {run['step']:,} steps; "
            f"{run['parameters']:,} parameters, {run['network']}. Measured on "
            f"{result['date'][:10]} at {commits_text(result, newest)}.",
            "",
            "| player | against | games | result | mark | |",
            "|---|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


def rows_of(record, result):
    marks = {mark.series: mark.value for mark in reversed(PLANS[result["variant"]].marks)}
    for name, point in named_values(record):
        is_error = name == ERROR
        count = record["perfect"][name]["positions"] if "perfect" in record else record["count"]
        shown = "{:.2f}" if is_error else "{:.1%}"
        value, low, high = (shown.format(each) for each in (point.value, point.low, point.high))
        text = f"{value} ({low} to {high})"
        if name == "gnubg-0":
            ends = f"{record['points_low']:+.3f} to {record['points_high']:+.3f}"
            text += f", {record['points']:+.3f} points a game ({ends})"
        mark, passed = "", ""
        if name in marks and record["how"] == search_of(result):
            mark = f"{'below' if is_error else 'above'} {shown.format(marks[name])}"
            passed = (point.value < marks[name]) if is_error else (point.value > marks[name])
        elif name.startswith(SELF):
            mark, passed = "interval above 50 %", point.low > 0.5
        verdict = {True: "passed", False: "missed", "": ""}[passed]
        against = {"perfect": f"positions {name}", "judge": "GnuBG, 2 plies, as judge"}
        opponent = against.get(record["kind"], opponent_text(name, result))
        yield f"| {record['how']} | {opponent} | {count:,} | {text} | {mark} | {verdict} |"


def commits_text(result, records):
    """commit 1a2b3c4, or several, the first first."""
    commits = dict.fromkeys(commit_of(record, result) for record in records)
    return f"commit{'s' if len(commits) > 1 else ''} {', '.join(commits or [result['commit']])}"


def opponent_text(name, result):
    """self@900,sims=200 as a person says it."""
    if not name.startswith(SELF):
        return name
    step, how = name.removeprefix(f"{SELF}@").split(",")
    if int(step) == result["run"]["step"]:
        return f"its own {how}"
    return "its start" if int(step) == 0 else f"{how} of step {int(step):,} (half time)"
