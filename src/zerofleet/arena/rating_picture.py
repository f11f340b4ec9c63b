"""A plot of ratings, as PNG."""

from io import BytesIO
from pathlib import Path

from zerofleet.arena.ratings import ANCHOR, Ratings
from zerofleet.config import game_text
from zerofleet.storage import write_output


def draw_ratings(ratings: Ratings, path: Path) -> None:
    """Writes a PNG with one line per player: Elo and 95 % interval."""
    # Imported here: it takes a second to load.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rated = ratings.ratings
    figure = Figure(figsize=(8, 1.2 + 0.4 * len(rated)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    lines = range(len(rated))
    axes.errorbar(
        [rating.elo for rating in rated],
        lines,
        xerr=[rating.error for rating in rated],
        fmt="o",
        capsize=4,
    )
    for line, rating in zip(lines, rated, strict=True):
        axes.annotate(
            f"{rating.elo:+.0f}",
            (rating.elo, line),
            (0, 7),
            textcoords="offset points",
            ha="center",
        )
    axes.set_yticks(lines, [rating.player for rating in rated])
    axes.set_ylim(len(rated) - 0.5, -0.7)
    axes.grid(axis="x", alpha=0.3)
    axes.set_xlabel(f"Elo, {ANCHOR} = 0; bars are 95 % intervals")
    axes.set_title(game_text(ratings.game.name, ratings.game.options))
    png = BytesIO()
    figure.savefig(png, dpi=120, format="png")
    write_output(path, png.getvalue())
