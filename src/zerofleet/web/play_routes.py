"""Routes about games, players, positions and play."""

from typing import Annotated

from fastapi import APIRouter, Path, Query

from zerofleet.web.play_schema import (
    ActionRequest,
    AnalysisAnswer,
    AnalysisRequest,
    EpisodeAnalysisRequest,
    EpisodeDetail,
    GameLine,
    PlayAnswer,
    PlayerLine,
    PlayRequest,
    PositionAnalysisRequest,
    PositionAnswer,
    PositionRequest,
    SavedGame,
)
from zerofleet.web.run_routes import View
from zerofleet.web.services import Services

PlayId = Annotated[str, Path(pattern="^[A-Za-z0-9_-]{1,40}$")]
SavedId = Annotated[str, Path(pattern="^[a-z0-9-]{1,80}$")]
GameQuery = Annotated[str, Query(max_length=200, description="Name of a game.")]


def play_routes(services: Services) -> APIRouter:
    router = APIRouter()

    @router.get("/games", tags=["games"])
    def list_games() -> list[GameLine]:
        """The games that can be played here, with options and rules."""
        return services.games.lines()

    @router.get("/players", tags=["games"])
    def list_players(
        game: GameQuery,
        option: Annotated[
            list[str] | None, Query(max_length=16, description="Options: NAME=VALUE.")
        ] = None,
    ) -> list[PlayerLine]:
        """Opponents of a game, strongest kinds first."""
        return services.games.players(game, option or [])

    @router.post("/positions", tags=["games"])
    def read_position(asked: PositionRequest) -> PositionAnswer:
        """Reads a position that a person pasted."""
        return services.games.position(asked)

    @router.post("/analysis", tags=["games"])
    async def analyse_position(asked: PositionAnalysisRequest) -> AnalysisAnswer:
        """Searches a position by its text."""
        position = services.games.read(asked.game, asked.options, asked.position)[0]
        return await services.searches.analyse(position, asked)

    @router.post("/plays", tags=["play"], status_code=201)
    async def start_play(asked: PlayRequest) -> PlayAnswer:
        """Starts a game."""
        return await services.in_thread(services.plays.start, asked)

    @router.get("/plays/{play}", tags=["play"])
    def get_play(play: PlayId) -> PlayAnswer:
        """A game in play."""
        return services.plays.answer(play)

    @router.post("/plays/{play}/actions", tags=["play"])
    async def play_action(play: PlayId, asked: ActionRequest) -> PlayAnswer:
        """Plays an action of the human to move."""
        return await services.in_thread(services.plays.act, play, asked)

    @router.post("/plays/{play}/agent", tags=["play"])
    async def let_agent_move(play: PlayId) -> PlayAnswer:
        """Lets the agent to move take its whole turn; answers when it has."""
        return await services.plays.let_agent_move(play)

    @router.post("/plays/{play}/take-back", tags=["play"])
    async def take_back(play: PlayId) -> PlayAnswer:
        """Takes back the human's last turn and all that followed."""
        return await services.in_thread(services.plays.take_back, play)

    @router.post("/plays/{play}/analysis", tags=["play"])
    async def analyse_play(play: PlayId, asked: AnalysisRequest) -> AnalysisAnswer:
        """A hint: searches the position. With hidden information only on the human's own turn."""
        position, default = services.plays.position_to_analyse(play)
        return await services.searches.analyse(position, asked, default)

    @router.post("/plays/{play}/episode", tags=["play"], status_code=201)
    async def save_play(play: PlayId) -> SavedGame:
        """Saves a finished game, for the viewer and for `zerofleet review`."""
        return await services.in_thread(services.plays.save, play)

    @router.get("/played", tags=["play"])
    def list_played() -> list[SavedGame]:
        """Saved games, newest first."""
        return services.saved.lines()

    @router.get("/played/{saved}", tags=["play"])
    def get_played(saved: SavedId, view: View = "all") -> EpisodeDetail:
        """A saved game, ply by ply."""
        return services.saved.detail(saved, view)

    @router.post("/played/{saved}/analysis", tags=["play"])
    async def analyse_played(saved: SavedId, asked: EpisodeAnalysisRequest) -> AnalysisAnswer:
        """Searches a position of a saved game."""
        position = await services.in_thread(services.saved.position, saved, asked.ply)
        return await services.searches.analyse(position, asked)

    return router
