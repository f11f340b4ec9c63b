"""The page of a validation: what each check promises, its verdict and its figures."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Literal

from zerofleet.report.page import STYLE, faint, figure, section, table

Verdict = Literal["pass", "fail", "skipped"]
VERDICTS: tuple[Verdict, ...] = ("pass", "fail", "skipped")

CHECKS_STYLE = """
:root { --pass: #1a7f4b; --fail: #c2362b; --skipped: #8a6d1a; }
@media (prefers-color-scheme: dark) { :root { --pass: #57c98a; --fail: #ff8177;
        --skipped: #d6b656; } }
.verdict { display: inline-block; min-width: 4.2rem; padding: .05rem .5rem; border-radius: 1rem;
       border: 1px solid currentColor; text-align: center; font-size: .85rem; font-weight: 600; }
.pass { color: var(--pass); } .fail { color: var(--fail); } .skipped { color: var(--skipped); }
.summary { font-size: 1.15rem; font-weight: 600; margin: 1rem 0 .2rem; }
table.checks { width: 100%; } table.checks td { vertical-align: top; padding: .55rem .9rem .55rem 0;
       overflow-wrap: anywhere; } table.checks td:nth-child(2) { width: 36%; }
table.checks p { margin: 0; } table.checks p.faint { font-size: .88rem; }
table.checks p.name { font-weight: 600; }
table.checks td.figures p { font-size: .92rem; } td.figures p + p { margin-top: .3rem; }
@media (max-width: 40rem) { table.checks td { display: block; border: 0; padding: .15rem 0; }
       table.checks tr { display: block; border-bottom: 1px solid var(--line); padding: .6rem 0; }
       table.checks td:nth-child(2) { width: auto; } table.checks tr:first-child { display: none; }
       table.checks td.number { text-align: left; }
       table.checks td.number::after { content: " s"; } }
"""

SECONDS = "The seconds of a check include the runs that it is the first to need."
CURVE = (
    "Loss of the weights of each side on the same games, the newest of both runs, at equal "
    "training steps. Both sides begin with the same weights."
)


@dataclass(frozen=True)
class CheckResult:
    """One check of a validation."""

    name: str
    promise: str
    """What holds where it passes."""
    verdict: Verdict
    figures: Sequence[str]
    """What was measured; the reason where it was skipped."""
    seconds: float
    curves: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    """Losses by step, to draw."""


def summary(results: Sequence[CheckResult]) -> str:
    """8 passed, 1 failed, 1 skipped."""
    counts = Counter(each.verdict for each in results)
    words = {"pass": "passed", "fail": "failed", "skipped": "skipped"}
    return ", ".join(f"{counts[verdict]} {words[verdict]}" for verdict in VERDICTS)


def validation_page(
    title: str,
    facts: Mapping[str, str],
    results: Sequence[CheckResult],
    curve: bytes | None = None,
) -> str:
    """One self-contained HTML page. `curve` is a picture of the learning curves."""
    failed = any(each.verdict == "fail" for each in results)
    skipped = any(each.verdict == "skipped" for each in results)
    worst: Verdict = "fail" if failed else "skipped" if skipped else "pass"
    rows = "".join(map(row, results))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}: zerofleet</title><style>{STYLE}{CHECKS_STYLE}</style></head>"
        f"<body><h1>{escape(title)}</h1>"
        f'<p class="summary {worst}">{escape(summary(results))}</p>'
        + section(
            "Checks",
            '<table class="checks"><tr><th>verdict</th><th>check</th><th>figures</th>'
            f'<th class="number">seconds</th></tr>{rows}</table>{faint(SECONDS)}',
        )
        + (section("Learning curves", figure("Learning curves", CURVE, curve)) if curve else "")
        + section("Where and how", table(["", " "], [list(each) for each in facts.items()], set()))
        + "</body></html>\n"
    )


def row(result: CheckResult) -> str:
    figures = "".join(f"<p>{escape(each)}</p>" for each in result.figures)
    return (
        f'<tr><td><span class="verdict {result.verdict}">{result.verdict}</span></td>'
        f'<td><p class="name">{escape(result.name)}</p>{faint(result.promise)}</td>'
        f'<td class="figures">{figures}</td><td class="number">{result.seconds:.1f}</td></tr>'
    )
