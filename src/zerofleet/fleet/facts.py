"""The facts of a run, which a role must match to serve it.

The trainer publishes these facts. A worker or rater reads the settings from them, and refuses to
serve a run whose rules, episode format or signature differ from its own: its games would come from
other rules or another search.
"""

from importlib.metadata import version
from typing import Self

from pydantic import BaseModel, ConfigDict, ValidationError

from zerofleet import _core, games
from zerofleet.config import Config, from_yaml
from zerofleet.errors import BadBytes, Inconsistent, Unsupported, first_fault
from zerofleet.games import Game
from zerofleet.runs.folder import Run

FORMAT = 1


class FactsFormat(BaseModel):
    """What facts of every format have."""

    model_config = ConfigDict(strict=True)

    format: int
    program: str


class FleetFacts(BaseModel):
    """Frozen. `FleetFacts.decode(facts.encode(), …)` equals `facts`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    format: int = FORMAT
    run_id: str
    """Differs for a run that was deleted and created again under its name."""
    run_name: str
    game: str
    """A built-in game, or the short name of a custom one."""
    is_custom: bool
    options: dict[str, int | str]
    rules: str
    """Fingerprint of the rules."""
    episode_format: int
    signature: str
    """Hash of a fixed set of self-play games; see cpp/selfplay/signature.h."""
    program: str
    """The trainer's version of zerofleet."""
    settings: str
    """All settings of the run, as YAML."""

    @classmethod
    def of(cls, run: Run, config: Config, game: Game) -> Self:
        is_custom = games.is_source(config.game.name)
        return cls(
            run_id=run.facts.id,
            run_name=run.name,
            game=games.short_name(config.game.name) if is_custom else config.game.name,
            is_custom=is_custom,
            options=config.game.options,
            rules=games.fingerprint(game),
            episode_format=episode_format(),
            signature=_core.signature(game),
            program=program_version(),
            settings=config.to_yaml(),
        )

    def encode(self) -> bytes:
        return self.model_dump_json().encode()

    @classmethod
    def decode(cls, data: bytes, run_name: str) -> Self:
        try:
            written = FactsFormat.model_validate_json(data)
            if written.format != FORMAT:
                raise Unsupported(
                    f"what is published about run {run_name} has format {written.format}, by "
                    f"zerofleet {written.program}; this is {program_version()}, which reads format "
                    f"{FORMAT}"
                )
            return cls.model_validate_json(data)
        except ValidationError as error:
            raise BadBytes(
                f"what is published about run {run_name} cannot be read: {first_fault(error)}; "
                "its trainer may be of another version of zerofleet"
            ) from None

    def config(self) -> Config:
        return from_yaml(self.settings, f"the settings of run {self.run_name}")

    def played(self, source: str | None) -> Game:
        """The run's game. A custom one is loaded from `source`, since code never travels."""
        if self.is_custom and source is None:
            raise Unsupported(
                f"run {self.run_name} plays {self.game}, a custom game; name its file here: --game "
                "FILE"
            )
        if not self.is_custom and source is not None:
            raise Inconsistent(
                f"--game {source}: run {self.run_name} plays {self.game}, which comes with "
                "zerofleet; leave out --game"
            )
        return games.get(source or self.game, **self.options)

    def refuse_unlike(self, game: Game) -> None:
        """Raises Inconsistent, naming both sides, unless this program can serve the run."""
        for what, here, there in (
            ("episode format", str(episode_format()), str(self.episode_format)),
            ("fingerprint of the rules", games.fingerprint(game), self.rules),
            ("signature of self-play", _core.signature(game), self.signature),
        ):
            if here != there:
                fix = "use the trainer's file" if self.is_custom else "install that version"
                raise Inconsistent(
                    f"run {self.run_name} cannot be served here: the {what} of {self.game} is "
                    f"{here} here and {there} in the run (zerofleet {program_version()} here, "
                    f"{self.program} there); {fix}"
                )


def episode_format() -> int:
    """The version in every encoded episode; see cpp/record/episode.h."""
    return games.Episode.record(games.get("tictactoe"), 0, [0, 3, 1, 4, 2]).encode()[3]


def program_version() -> str:
    return version("zerofleet")
