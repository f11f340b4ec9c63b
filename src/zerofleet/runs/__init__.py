"""Training runs and their games, for analysis.

    for run in zf.runs.list():
        print(run.name, run.num_games)
    for played in reversed(zf.runs.games("c4")):  # newest first
        print(played.id, played.result, played.num_plies)

A run may be training meanwhile: readers see what is complete on disk.
"""

from zerofleet.runs.folder import find
from zerofleet.runs.logged_games import Decision, LoggedGame, LoggedGames
from zerofleet.runs.summaries import RunSummary
from zerofleet.runs.summaries import list_runs as list  # noqa: A004  # read as zf.runs.list

__all__ = ["Decision", "LoggedGame", "LoggedGames", "RunSummary", "games", "list"]


def games(run: str) -> LoggedGames:
    """The games in a run's episode log."""
    found = find(run)
    return LoggedGames(found.episodes, found.game(), found.name)
