"""The page of a report: one self-contained HTML file."""

import base64
from collections.abc import Iterator
from html import escape
from typing import Any

from zerofleet.arena.match_result import reward_unit
from zerofleet.config import game_text
from zerofleet.games import Episode, Game
from zerofleet.metrics import Record
from zerofleet.printing import duration_text, size_text, value_text
from zerofleet.program import program_name
from zerofleet.report.data import RunData, exploit_text

STYLE = """
:root { color-scheme: light dark; --ground: #fbfaf8; --text: #1d1c1a; --faint: #5b5851;
        --line: #e4e1da; --card: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --ground: #161614; --text: #ecebe6;
        --faint: #aeaba1; --line: #34332f; --card: #1e1e1b; } }
body { background: var(--ground); color: var(--text); margin: 0 auto; max-width: 62rem;
       padding: 1.5rem; font: 16px/1.5 system-ui, sans-serif; }
h1 { margin-bottom: 0; } h2 { margin-top: 2.2rem; border-bottom: 1px solid var(--line); }
p.faint, figcaption, td.faint { color: var(--faint); }
figure { margin: 0; } .wide { overflow-x: auto; } img { width: 100%; min-width: 36rem; }
table { border-collapse: collapse; } th, td { text-align: left; padding: .2rem 1.2rem .2rem 0;
       border-bottom: 1px solid var(--line); } td + td { overflow-wrap: anywhere; }
td.number, th.number { text-align: right; white-space: nowrap; }
.boards { display: flex; flex-wrap: wrap; gap: .8rem; max-height: 40rem; overflow-y: auto; }
.boards div { background: var(--card); border: 1px solid var(--line); border-radius: .4rem;
       padding: .5rem .7rem; max-width: 100%; overflow-x: auto; box-sizing: border-box; }
pre { margin: .3rem 0 0; font: 12px/1.25 ui-monospace, monospace; }
.columns { columns: 24rem; column-gap: 2rem; }
.columns table { break-inside: avoid; width: 100%; table-layout: fixed; margin-bottom: 1rem; }
.columns td { vertical-align: top; padding-right: .6rem; font-size: .85rem;
       overflow-wrap: anywhere; } .columns td:first-child { width: 65%; }
"""

SECTIONS = (
    (
        "strength",
        "Strength",
        "Top: Elo over training time and over games. Dotted lines are opponents; the curve begins "
        "at start, the run's initial weights. Bottom: score against each opponent; 1 means every "
        "game won, 0.5 (dotted) means even. Bars and bands are 95 % intervals.",
        "This run has no ratings yet; rating.interval_minutes sets how often it is rated.",
    ),
    (
        "losses",
        "Losses",
        "Total loss and its terms over training steps; each point is the mean since the previous "
        "one. The policy loss is target entropy plus KL to target.",
        "No training step yet.",
    ),
    (
        "game-length",
        "Game length",
        "Plies (actions and dice rolls) per game, over the time at which the game ended. Dots are "
        "games, the line is their mean.",
        "The log has no games.",
    ),
    (
        "openings",
        "Openings",
        "The first plies of the newest games. A column is a ply, a box is a move; its height is "
        "the share of games that began with the moves to its left and then this one. Labels: move, "
        "share, mean reward of the player who moved first (blue: good, orange: bad). Shares below "
        "1 % are blank.",
        "The log has no finished game.",
    ),
    (
        "throughput",
        "Throughput",
        "From the top: games/s, training steps/s, and the share of time that self-play and the "
        "trainer wait for each other, which the replay ratio decides (docs/5-training.md). With a "
        "GPU: its utilisation and memory.",
        "Fewer than two status records.",
    ),
)


def page(data: RunData, plots: dict[str, bytes]) -> str:
    name = escape(data.run.name)
    figures = "".join(
        section(title, figure(title, caption, plots[key]) if key in plots else faint(missing))
        for key, title, caption, missing in SECTIONS
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{name}: zerofleet</title><style>{STYLE}</style></head><body>"
        f"<h1>{name}</h1>{faint(game_text(data.run.facts.game, data.run.facts.options))}"
        + facts(data)
        + "".join(faint(f"Damaged and skipped: {fault}.") for fault in data.faults)
        + section("Last ratings", last_ratings(data))
        + figures
        + section("A game", sample_game(data.sample, data.game))
        + section("Settings", settings(data))
        + "</body></html>\n"
    )


def section(title: str, body: str) -> str:
    return f"<h2>{escape(title)}</h2>{body}\n"


def faint(text: str) -> str:
    return f'<p class="faint">{escape(text)}</p>'


def figure(title: str, caption: str, png: bytes) -> str:
    source = f"data:image/png;base64,{base64.b64encode(png).decode()}"
    return (
        f'<figure><div class="wide"><img alt="{escape(title)}" src="{source}"></div>'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def table(header: list[str], rows: list[list[str]], numbers: set[str]) -> str:
    def cells(tag: str, row: list[str]) -> str:
        return "".join(
            f"<{tag}{' class=number' if name in numbers else ''}>{escape(cell)}</{tag}>"
            for name, cell in zip(header, row, strict=True)
        )

    head = f"<tr>{cells('th', header)}</tr>" if "".join(header).strip() else ""
    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f"<table>{head}{body}</table>"


def facts(data: RunData) -> str:
    status: dict[str, Any] = data.statuses[-1] if data.statuses else {}
    exploited = exploit_text(data.config, data.ratings)
    rows = [
        ["created", f"{data.run.facts.created:%Y-%m-%d %H:%M} UTC"],
        ["training time", duration_text(status.get("trained_s", 0))],
        ["steps", f"{max((each['step'] for each in [*data.losses, status] if each), default=0):,}"],
        ["games", f"{status.get('games', 0):,}"],
        ["rows", f"{status.get('rows', 0):,}"],
        *([["exploits", exploited]] if exploited else []),
        *gpu_facts(data.statuses),
        ["id", data.run.facts.id],
        ["play", f"{program_name()} play {data.run.facts.game} --against run:{data.run.name}"],
    ]
    return table(["", " "], rows, set())


def gpu_facts(statuses: list[Record]) -> list[list[str]]:
    """A row with means over the run, if the GPU driver reported any."""
    with_gpu = [each for each in statuses if "gpu_busy" in each]
    if not with_gpu:
        return []
    busy, watts, used, total = (
        sum(each[name] for each in with_gpu) / len(with_gpu)
        for name in ("gpu_busy", "gpu_watts", "gpu_memory_bytes", "gpu_memory_total_bytes")
    )
    memory = f"{size_text(used)} of {size_text(total)} in use"
    return [["GPU", f"{busy:.0%} busy, {watts:,.0f} W, {memory} (means)"]]


def last_ratings(data: RunData) -> str:
    if not data.ratings:
        return faint("None yet.")
    reward = f"{reward_unit(data.game)} per game"
    header = ["opponent", "score", "95 % interval", reward, "games", "at step"]
    rows = [
        [
            record["opponent"],
            f"{record['score']:.1%}",
            f"{record['low']:.1%} to {record['high']:.1%}",
            f"{record['points']:+.3f}",
            f"{record['games']:,}",
            f"{record['step']:,}",
        ]
        for record in data.last_ratings
    ]
    return f'<div class="wide">{table(header, rows, set(header[1:]))}</div>'


def sample_game(episode: Episode | None, game: Game) -> str:
    """The newest finished game, with the board after each move."""
    if episode is None:
        return faint("The log has no finished game.")
    positions = episode.positions(game)
    played = [
        position.action_text(event.id)
        for position, event in zip(positions, episode.events, strict=False)
    ]
    result = game.outcomes[episode.outcome_first_player].name
    version = max(event.version for event in episode.events)
    boards = "".join(
        f"<div>{escape(title)}<pre>{escape(str(position).rstrip())}</pre></div>"
        for title, position in zip(
            ["start", *(f"{ply}. {text}" for ply, text in enumerate(played, start=1))],
            positions,
            strict=True,
        )
    )
    about = (
        f"The newest finished game, with weights of step {version:,}. Result for the first player: "
        f"{result}."
    )
    return f'{faint(about)}<div class="boards">{boards}</div>'


def settings(data: RunData) -> str:
    """All settings, by section."""
    tables = []
    for name, values in data.config.model_dump().items():
        rows = [[setting, value_text(value)] for setting, value in flat(name, values)]
        tables.append(table(["", " "], rows, set()))
    return f'<div class="columns">{"".join(tables)}</div>'


def flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The settings below a name, each with its full name."""
    if isinstance(value, dict):
        for inner, each in value.items():
            yield from flat(f"{name}.{inner}", each)
    else:
        yield name, value
