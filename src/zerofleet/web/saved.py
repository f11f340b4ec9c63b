"""Games that were played here and saved, in the runs folder under .played.

A game from the start is one encoded episode, NAME.zfe, which `zerofleet episodes` reads too. A game
that began at a pasted position has no seed that leads there: it is a text, NAME.txt, which
`zerofleet review` and `zerofleet play --load` read.
"""

import re
import secrets
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from zerofleet._core import OVER
from zerofleet.errors import BadBytes, Inconsistent, ZerofleetError
from zerofleet.games import Episode, Game, GameRecord, Position, games_from_text, games_to_text
from zerofleet.runs.folder import runs_folder
from zerofleet.runs.logged_games import TRUNCATED, LoggedGame
from zerofleet.storage import write_whole
from zerofleet.web.episodes import detail_of, outcomes_of, position_at
from zerofleet.web.errors import unknown
from zerofleet.web.games import Games, player_title
from zerofleet.web.play_schema import EpisodeDetail, SavedGame
from zerofleet.web.schema import Ply
from zerofleet.web.seen import View, player_of, player_or_chance, position_text, seen, steps

FOLDER = ".played"
MAX_SAVED = 2000
MAX_LISTED = 200


class SavedGames:
    """The folder of saved games. Beside each game, NAME.json has its SavedGame."""

    def __init__(self, games: Games) -> None:
        self._games = games

    @property
    def folder(self) -> Path:
        return runs_folder() / FOLDER

    def save(
        self,
        start: Position,
        actions: Sequence[int],
        players: Sequence[str],
        seed: int | None,
    ) -> SavedGame:
        """Saves a finished game; `seed` led to its start, if it began as a new game."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if sum(1 for _ in self.folder.glob("*.json")) >= MAX_SAVED:
            raise Inconsistent(f"{self.folder} has {MAX_SAVED:,} games; remove some")
        game = start.game
        word = re.sub("[^a-z0-9]", "", game.name.lower())[:40]
        name = f"{word or 'game'}-{int(time.time())}-{secrets.token_hex(4)}"
        record = GameRecord(start, tuple(actions), (players[0], players[1]))
        last = record.positions()[-1]
        reward = last.rewards()[0] if last.to_move == OVER else None
        found = SavedGame(
            id=name,
            game=game.name,
            options=game.options,
            players=list(players),
            num_plies=len(actions),
            result_first_player=result_text(game, reward),
            time=round(time.time(), 1),
        )
        if seed is not None:
            worker = secrets.randbits(63)
            episode = Episode.record(game, seed, list(actions), worker, 0)
            write_whole(self.folder / f"{name}.zfe", episode.encode())
        else:
            write_whole(self.folder / f"{name}.txt", games_to_text([record], "text").encode())
        write_whole(self.folder / f"{name}.json", found.model_dump_json().encode())
        return found

    def lines(self) -> list[SavedGame]:
        """Newest first."""
        found = []
        for path in self.folder.glob("*.json"):
            with suppress(OSError, ValueError):
                found.append(SavedGame.model_validate_json(path.read_bytes()))
        return sorted(found, key=lambda each: -each.time)[:MAX_LISTED]

    def detail(self, name: str, view: View) -> EpisodeDetail:
        about = self._about(name)
        played = self._read(about)
        if isinstance(played, LoggedGame):
            players = [player_title(text) for text in about.players]
            return detail_of(played, view, players).model_copy(update={"id": name})
        return record_detail(about, played, view)

    def position(self, name: str, ply: int) -> Position:
        return position_at(self._read(self._about(name)).positions(), ply)

    def _about(self, name: str) -> SavedGame:
        # The name has letters, digits and dashes only, and must be in the folder.
        known = {path.stem: path for path in self.folder.glob("*.json")}
        if name not in known:
            raise unknown(f"no saved game {name}")
        try:
            return SavedGame.model_validate_json(known[name].read_bytes())
        except (OSError, ValueError) as error:
            raise BadBytes(f"the saved game {name} is damaged: {error}") from None

    def _read(self, about: SavedGame) -> LoggedGame | GameRecord:
        game = self._game(about)
        episode, text = (self.folder / f"{about.id}{ending}" for ending in (".zfe", ".txt"))
        try:
            if episode.exists():
                decoded = Episode.decode(episode.read_bytes())
                decoded.verify(game)
                return LoggedGame(0, decoded, game, "")
            (record,) = games_from_text(text.read_text(), "text", game)
            return record
        except (OSError, ValueError) as error:
            if isinstance(error, ZerofleetError):
                raise
            raise BadBytes(f"the saved game {about.id} is damaged: {error}") from None

    def _game(self, about: SavedGame) -> Game:
        return self._games.get(about.game, about.options)


def result_text(game: Game, reward: float | None) -> str:
    """The outcome for player 0 by name, or `truncated`."""
    if reward is None:
        return TRUNCATED
    return next((each.name for each in game.outcomes if each.reward == reward), TRUNCATED)


def record_detail(about: SavedGame, record: GameRecord, view: View) -> EpisodeDetail:
    """A game without searches, as a player or a spectator sees it."""
    positions = record.positions()
    last = positions[-1]
    return EpisodeDetail(
        id=about.id,
        number=0,
        run="",
        game=about.game,
        options=about.options,
        view=view,
        players=[player_title(text) for text in about.players],
        policy_is=None,
        outcomes=outcomes_of(record.game),
        result_first_player=about.result_first_player,
        reward_first_player=last.rewards()[0] if last.to_move == OVER else None,
        plies=[
            Ply(
                player=player_or_chance(position),
                action=action,
                text=position.action_text(action),
                version=0,
                search="none" if position.to_move in (0, 1) else "chance",
                num_simulations=0,
                policy=[],
                value_first_player=None,
                outcomes_to_move={},
                surprise=None,
                steps=steps(position, action),
            )
            for position, action in zip(positions, record.actions, strict=False)
        ],
        positions=[seen(position, player_of(view)) for position in positions],
        position_texts=[position_text(position, player_of(view)) for position in positions],
    )
