"""What the API answers about lending: the run that takes games, accounts, and the community."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from zerofleet.web.schema import Answer, Options, RatingPoint, Share

AccountState = Literal["active", "paused", "quarantined", "revoked"]
"""paused, revoked: by an operator. quarantined: its games were found to be forged or selected."""

AccountName = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=2, max_length=40, pattern=r"^[\w .'-]+$"),
]


class Consent(Answer):
    """What a person agrees to before the first game."""

    version: str
    """Sent back with the sign-up; another text has another version."""
    text: str


class LendLimits(Answer):
    """What the operator allows."""

    min_simulations: int
    """Per search; equal to the next where a browser may not choose."""
    max_simulations: int
    max_games_at_once: int
    refresh_minutes: float
    """Between new weights."""
    deadline_minutes: float
    """For the games of an assignment."""
    max_games_per_day: int
    """Of an account."""


class LentRun(Answer):
    """The run that browsers play for."""

    run: str
    game: str
    options: Options
    signatures: dict[str, str]
    """Of the game, by name: what a tab must compute too."""
    version: int
    """Of the weights that browsers play with."""
    limits: LendLimits
    paused: str
    """Why no games are given out now; empty where they are."""


class LendStatus(Answer):
    """Whether lending is on."""

    is_on: bool
    reason: str
    """Why there is no run; empty where there is one."""
    protocol: int
    socket: str
    """Path of the WebSocket."""
    consent: Consent
    lent: LentRun | None
    """None where lending is off or waits for a trainer."""


class SignUp(Answer):
    """A new account."""

    name: AccountName
    """As the community page shows it."""
    consent: Annotated[str, Field(max_length=40)]
    """The version of the text that was agreed to."""


class NewAccount(Answer):
    id: int
    name: str
    token: str
    """Told once: the server keeps its hash alone."""


class LentDevice(Answer):
    """A browser of an account."""

    device: str
    """The beginning of a hash of its id."""
    backend: str
    num_games: int
    num_samples: int
    last_seen: float
    """Unix time."""


class LendAccount(Answer):
    """An account as its owner sees it."""

    id: int
    name: str
    state: AccountState
    reason: str
    """Of a state other than active."""
    created: float
    """Unix time."""
    num_games: int
    """Accepted and not withdrawn."""
    num_samples: int
    num_simulations: int
    num_unreturned: int
    """Games that were given out and did not come back by their deadline."""
    reliability: Share
    """The share of games that came back."""
    contribution: float
    """Games times reliability."""
    rank: int | None
    """By contribution; None without a game."""
    devices: list[LentDevice]


class CommunityTotals(Answer):
    num_games: int
    num_samples: int
    num_users: int
    """With a game."""
    num_devices: int
    num_online: int
    """Tabs that are connected now."""
    games_per_hour: float
    """Over the last hour."""
    version: int | None
    rating: RatingPoint | None
    """The newest of the run, where its folder is on the server's machine."""


class CommunityUser(Answer):
    rank: int
    name: str
    num_games: int
    num_samples: int
    reliability: Share
    contribution: float


class CommunityDevice(Answer):
    rank: int
    name: str
    """Of its user."""
    device: str
    backend: str
    num_games: int
    num_samples: int


class CommunityHour(Answer):
    time: float
    """Unix time of its beginning."""
    num_games: int
    num_samples: int


class Community(Answer):
    run: str
    totals: CommunityTotals
    users: list[CommunityUser]
    devices: list[CommunityDevice]
    history: list[CommunityHour]
    """Of the last days, oldest first; hours without a game are left out."""


class OperatorAccount(Answer):
    """An account as an operator sees it."""

    account: LendAccount
    num_online: int
    """Its tabs."""
    num_valid: int
    """Consecutive games in which nothing was found."""
    num_checked: int
    """Games whose decisions were searched again."""
    suspicion: float
    """Of the sequential test; at `alarm` the account is quarantined."""
    alarm: float
    num_refused: int
    num_withdrawn: int


OperatorAction = Literal["pause", "resume", "revoke"]
