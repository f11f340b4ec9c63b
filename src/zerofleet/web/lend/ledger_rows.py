"""What the ledger stores: its tables, and their rows as types."""

from dataclasses import dataclass, fields

from zerofleet.web.lend.trust import Standing

SCHEMA = """
CREATE TABLE IF NOT EXISTS accounts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE COLLATE NOCASE,
    token_hash BLOB NOT NULL UNIQUE,
    consent TEXT NOT NULL,
    created REAL NOT NULL,
    state TEXT NOT NULL DEFAULT 'active',
    reason TEXT NOT NULL DEFAULT '',
    num_valid INTEGER NOT NULL DEFAULT 0,
    num_checked INTEGER NOT NULL DEFAULT 0,
    suspicion REAL NOT NULL DEFAULT 0,
    num_refused INTEGER NOT NULL DEFAULT 0,
    confirmed INTEGER NOT NULL DEFAULT 0,
    num_due INTEGER NOT NULL DEFAULT 0,
    num_unreturned INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS devices (
    id INTEGER PRIMARY KEY,
    account INTEGER NOT NULL,
    hash TEXT NOT NULL,
    backend TEXT NOT NULL,
    last_seen REAL NOT NULL,
    UNIQUE (account, hash)
);
CREATE TABLE IF NOT EXISTS sequences (run TEXT PRIMARY KEY, next INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS assignments (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run TEXT NOT NULL,
    account INTEGER,
    device INTEGER,
    backend TEXT NOT NULL,
    worker TEXT NOT NULL,
    version INTEGER NOT NULL,
    first_sequence INTEGER NOT NULL,
    count INTEGER NOT NULL,
    seed INTEGER NOT NULL,
    simulations INTEGER NOT NULL,
    deadline REAL NOT NULL,
    is_settled INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS unsettled ON assignments (is_settled, deadline);
CREATE INDEX IF NOT EXISTS open ON assignments (account, is_settled);
CREATE TABLE IF NOT EXISTS games (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    worker TEXT NOT NULL,
    account INTEGER,
    device INTEGER,
    time REAL NOT NULL,
    num_rows INTEGER NOT NULL,
    num_simulations INTEGER NOT NULL,
    num_plies INTEGER NOT NULL,
    first_won INTEGER NOT NULL,
    state TEXT NOT NULL,
    UNIQUE (run, sequence)
);
CREATE INDEX IF NOT EXISTS by_account ON games (account, state, time);
CREATE INDEX IF NOT EXISTS by_time ON games (run, state, time);
CREATE INDEX IF NOT EXISTS by_state ON games (state) WHERE state IN ('withdrawn', 'replayed');
"""
ACCEPTED, WITHDRAWN, TOLD, REPLAYED = "accepted", "withdrawn", "told", "replayed"
"""States of a game. told: withdrawn, and the trainer knows. replayed: a browser did not return it,
so the gateway played it; its `account` is who did not."""


@dataclass(frozen=True)
class Account:
    id: int
    name: str
    consent: str
    created: float
    state: str
    reason: str
    num_valid: int
    num_checked: int
    suspicion: float
    num_refused: int
    confirmed: int
    """The id of the last game up to which everything was confirmed by a check."""
    num_due: int
    """Games that were given out and returned or missed their deadline."""
    num_unreturned: int

    @property
    def standing(self) -> Standing:
        return Standing(self.num_valid, self.num_checked, self.suspicion)

    @property
    def reliability(self) -> float:
        return 1 - self.num_unreturned / self.num_due if self.num_due else 1.0


ACCOUNT = ", ".join(field.name for field in fields(Account))


@dataclass(frozen=True)
class Assignment:
    """Games that one browser was given. `account` is None where it was deleted."""

    id: int
    run: str
    account: int | None
    device: int | None
    backend: str
    worker: int
    version: int
    first_sequence: int
    count: int
    seed: int
    simulations: int
    deadline: float

    @property
    def sequences(self) -> range:
        return range(self.first_sequence, self.first_sequence + self.count)


ASSIGNMENT = ", ".join(field.name for field in fields(Assignment))


@dataclass(frozen=True)
class LedgerGame:
    """A game that counts."""

    run: str
    sequence: int
    worker: int
    """Under which it is in the run."""
    account: int | None
    device: int | None
    time: float
    num_rows: int
    num_simulations: int
    num_plies: int
    first_won: bool
    state: str = ACCEPTED


GAME = ", ".join(field.name for field in fields(LedgerGame))


@dataclass(frozen=True)
class Contribution:
    """Of an account or a device."""

    account: int
    device: int | None
    num_games: int
    num_rows: int
    num_simulations: int
