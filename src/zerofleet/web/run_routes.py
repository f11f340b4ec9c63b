"""Routes about runs: lists, curves, events, games, the ladder and the fleet."""

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query

from zerofleet.web.play_schema import AnalysisAnswer, EpisodeAnalysisRequest, EpisodeDetail
from zerofleet.web.schema import (
    EpisodeList,
    FleetAnswer,
    Ladder,
    Metrics,
    RatingPoint,
    RunDetail,
    RunEvent,
    RunLine,
)
from zerofleet.web.services import Services

RunName = Annotated[str, Path(max_length=100, description="Name of a run.")]
EpisodeId = Annotated[
    str, Path(max_length=40, description="Id of an episode (worker and sequence), or its number.")
]
View = Literal["all", "0", "1"]


def run_routes(services: Services) -> APIRouter:
    router = APIRouter()

    @router.get("/runs", tags=["runs"])
    def list_runs() -> list[RunLine]:
        """All runs, newest first. A damaged one is listed with its fault."""
        return services.runs.lines()

    @router.get("/runs/{run}", tags=["runs"])
    def get_run(run: RunName) -> RunDetail:
        """Settings, progress and stages of a run."""
        return services.runs.detail(run)

    @router.get("/runs/{run}/metrics", tags=["runs"])
    def get_metrics(
        run: RunName,
        kind: Literal["train", "status"] = "train",
        after_step: Annotated[int, Query(ge=-1, le=2**53)] = -1,
        max_points: Annotated[int, Query(ge=2, le=5000)] = 500,
    ) -> Metrics:
        """Curves of a run, thinned by keeping the mean of neighbouring records."""
        return services.runs.metrics(run, kind, after_step, max_points)

    @router.get("/runs/{run}/ratings", tags=["runs"])
    def get_ratings(run: RunName) -> list[RatingPoint]:
        """All ratings in the order in which they were made."""
        return services.runs.ratings(run)

    @router.get("/runs/{run}/events", tags=["runs"])
    def get_events(
        run: RunName, limit: Annotated[int, Query(ge=1, le=1000)] = 200
    ) -> list[RunEvent]:
        """What happened, newest first: starts, checkpoints, weights, ratings, refused games."""
        return services.runs.events(run, limit)

    @router.get("/runs/{run}/episodes", tags=["episodes"])
    def list_episodes(
        run: RunName,
        order: Literal["newest", "longest", "surprising", "upset"] = "newest",
        version: Annotated[int | None, Query(ge=0, le=2**53)] = None,
        worker: Annotated[str | None, Query(pattern="^[0-9a-f]{1,16}$")] = None,
        offset: Annotated[int, Query(ge=0, le=2**40)] = 0,
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
    ) -> EpisodeList:
        """A page of the run's games."""
        return services.episodes.page(run, order, version, worker, offset, limit)

    @router.get("/runs/{run}/episodes/{episode}", tags=["episodes"])
    def get_episode(run: RunName, episode: EpisodeId, view: View = "all") -> EpisodeDetail:
        """A whole game, ply by ply, as one player or a spectator sees it."""
        return services.episodes.detail(run, episode, view)

    @router.post("/runs/{run}/episodes/{episode}/analysis", tags=["episodes"])
    async def analyse_episode(
        run: RunName, episode: EpisodeId, asked: EpisodeAnalysisRequest
    ) -> AnalysisAnswer:
        """Searches a position of a game."""
        position = await services.in_thread(services.episodes.position, run, episode, asked.ply)
        return await services.searches.analyse(position, asked, default=f"run:{run}")

    @router.get("/ladder", tags=["ladder"])
    def get_ladder(
        game: Annotated[str | None, Query(max_length=200)] = None,
        run: Annotated[str | None, Query(max_length=100)] = None,
    ) -> list[Ladder]:
        """A ladder per game and options, over all runs or one."""
        return services.runs.ladders(game, run)

    @router.get("/fleet", tags=["fleet"])
    def get_fleet(run: Annotated[str, Query(max_length=100)]) -> FleetAnswer:
        """Roles, queue and throughput of a run's fleet."""
        return services.fleets.look(run)

    return router
