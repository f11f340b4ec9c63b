"""What the routes call: one object of each kind, made once per server."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from zerofleet.web.episodes import Episodes
from zerofleet.web.fleets import Fleets
from zerofleet.web.games import Games
from zerofleet.web.lend.lending import Lending
from zerofleet.web.plays import Plays
from zerofleet.web.runs import Runs
from zerofleet.web.saved import SavedGames
from zerofleet.web.searches import Searches

NUM_THREADS = 4
"""For requests that read files."""

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Services:
    """Everything that the pages show and do."""

    def __init__(self, custom_games: Sequence[str] = (), lending: Lending | None = None) -> None:
        self._threads = ThreadPoolExecutor(NUM_THREADS, "web")
        self.games = Games(custom_games)
        self.runs = Runs(self.games)
        self.episodes = Episodes(self.games)
        self.fleets = Fleets()
        self.searches = Searches(self.games)
        self.saved = SavedGames(self.games)
        self.plays = Plays(self.games, self.searches, self.saved)
        self.lending = lending
        """None where it is off."""

    async def in_thread(
        self,
        work: Callable[Arguments, Result],
        *arguments: Arguments.args,
        **named: Arguments.kwargs,
    ) -> Result:
        """Runs something that reads files, outside the event loop."""
        return await asyncio.get_running_loop().run_in_executor(
            self._threads, lambda: work(*arguments, **named)
        )

    def close(self) -> None:
        if self.lending is not None:
            self.lending.close()
        self.searches.close()
        self._threads.shutdown(wait=False, cancel_futures=True)
