"""What the gateway must remember: accounts, devices, assignments, and what became of each game.

One SQLite file. A call that has returned survives the death of the machine. All methods may be
called from any thread. Tokens and device ids are kept as hashes; addresses are not kept.
"""

import sqlite3
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, replace
from pathlib import Path

from zerofleet.web.lend.ledger_rows import (
    ACCEPTED,
    ACCOUNT,
    ASSIGNMENT,
    GAME,
    SCHEMA,
    TOLD,
    WITHDRAWN,
    Account,
    Assignment,
    Contribution,
    LedgerGame,
)
from zerofleet.web.lend.trust import Standing


class NameTaken(Exception):
    """Another account has it."""


class Ledger:
    """See above."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.RLock()
        self._database = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        path.chmod(0o600)
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON"):
            self._database.execute(f"PRAGMA {pragma}")
        self._database.executescript(SCHEMA)

    def close(self) -> None:
        with self._lock:
            self._database.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield self._database
            except BaseException:
                self._database.execute("ROLLBACK")
                raise
            self._database.execute("COMMIT")

    def _rows(self, text: str, *values: object) -> list[tuple[object, ...]]:
        with self._lock:
            return self._database.execute(text, values).fetchall()

    # ---- accounts

    def add_account(self, name: str, token_hash: bytes, consent: str) -> int:
        with self._transaction() as database:
            try:
                made = database.execute(
                    "INSERT INTO accounts (name, token_hash, consent, created) VALUES (?, ?, ?, ?)",
                    (name, token_hash, consent, time.time()),
                )
            except sqlite3.IntegrityError:
                raise NameTaken(name) from None
            return int(made.lastrowid or 0)

    def account(self, account: int) -> Account | None:
        return self._account("id = ?", account)

    def account_of(self, token_hash: bytes) -> Account | None:
        return self._account("token_hash = ?", token_hash)

    def _account(self, where: str, *values: object) -> Account | None:
        rows = self._rows(f"SELECT {ACCOUNT} FROM accounts WHERE {where}", *values)
        return Account(*rows[0]) if rows else None  # type: ignore[arg-type]

    def accounts(self) -> list[Account]:
        """Newest first."""
        rows = self._rows(f"SELECT {ACCOUNT} FROM accounts ORDER BY id DESC")
        return [Account(*row) for row in rows]  # type: ignore[arg-type]

    def set_state(self, account: int, state: str, reason: str) -> None:
        with self._transaction() as database:
            database.execute(
                "UPDATE accounts SET state = ?, reason = ? WHERE id = ?", (state, reason, account)
            )

    def set_standing(self, account: int, standing: Standing, num_refused: int = 0) -> None:
        with self._transaction() as database:
            self._set_standing(database, account, standing)
            database.execute(
                "UPDATE accounts SET num_refused = num_refused + ? WHERE id = ?",
                (num_refused, account),
            )

    def _set_standing(self, database: sqlite3.Connection, account: int, standing: Standing) -> None:
        database.execute(
            "UPDATE accounts SET num_valid = ?, num_checked = ?, suspicion = ? WHERE id = ?",
            (*astuple(standing), account),
        )

    def delete_account(self, account: int) -> None:
        """Forgets a person; games and assignments stay without an owner."""
        with self._transaction() as database:
            for table in ("games", "assignments"):
                database.execute(
                    f"UPDATE {table} SET account = NULL, device = NULL WHERE account = ?",
                    (account,),
                )
            database.execute("DELETE FROM devices WHERE account = ?", (account,))
            database.execute("DELETE FROM accounts WHERE id = ?", (account,))

    def see_device(self, account: int, device_hash: str, backend: str) -> int:
        """The number of a device that is here now."""
        with self._transaction() as database:
            row = database.execute(
                "INSERT INTO devices (account, hash, backend, last_seen) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (account, hash) DO UPDATE SET backend = excluded.backend, "
                "last_seen = excluded.last_seen RETURNING id",
                (account, device_hash, backend, time.time()),
            ).fetchone()
            return int(row[0])

    def num_devices(self, account: int) -> int:
        rows = self._rows("SELECT COUNT(*) FROM devices WHERE account = ?", account)
        return int(str(rows[0][0]))

    def devices(self, account: int | None = None) -> dict[int, tuple[int, str, str, float]]:
        """Account, hash, backend and last sight, by number; of all accounts or one."""
        where, values = ("WHERE account = ?", (account,)) if account is not None else ("", ())
        rows = self._rows(
            f"SELECT id, account, hash, backend, last_seen FROM devices {where}", *values
        )
        return {row[0]: row[1:] for row in rows}  # type: ignore[misc]

    # ---- assignments

    def assign(
        self,
        run: str,
        account: int,
        device: int,
        backend: str,
        worker: int,
        version: int,
        count: int,
        seed: int,
        simulations: int,
        deadline: float,
    ) -> Assignment:
        """Gives out the next `count` numbers of a run's lent games."""
        with self._transaction() as database:
            after = database.execute(
                "INSERT INTO sequences (run, next) VALUES (?, ?) ON CONFLICT (run) "
                "DO UPDATE SET next = next + excluded.next RETURNING next",
                (run, count),
            ).fetchone()[0]
            first = int(after) - count
            values = (run, account, device, backend, f"{worker:016x}", version, first, count, seed)
            made = database.execute(
                "INSERT INTO assignments (run, account, device, backend, worker, version, "
                "first_sequence, count, seed, simulations, deadline) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*values, simulations, deadline),
            )
            return Assignment(
                int(made.lastrowid or 0), run, account, device, backend, worker, version, first,
                count, seed, simulations, deadline,
            )  # fmt: skip

    def assignment(self, assignment: int) -> Assignment | None:
        found = self._assignments("id = ?", assignment)
        return found[0] if found else None

    def overdue(self, run: str, before: float) -> list[Assignment]:
        """Unsettled ones whose deadline was before this time."""
        return self._assignments(
            "run = ? AND is_settled = 0 AND deadline < ? ORDER BY id LIMIT 100", run, before
        )

    def _assignments(self, where: str, *values: object) -> list[Assignment]:
        rows = self._rows(f"SELECT {ASSIGNMENT} FROM assignments WHERE {where}", *values)
        return [Assignment(*row[:5], int(str(row[5]), 16), *row[6:]) for row in rows]  # type: ignore

    def num_open_games(self, account: int) -> int:
        """Of assignments that are not settled."""
        row = self._rows(
            "SELECT COALESCE(SUM(count), 0) FROM assignments WHERE account = ? AND is_settled = 0",
            account,
        )[0]
        return int(str(row[0]))

    def complete(self, assignment: int) -> None:
        """Settles an assignment if all its games are recorded; one that was refused is not."""
        with self._transaction() as database:
            settled = database.execute(
                "UPDATE assignments SET is_settled = 1 WHERE id = ? AND is_settled = 0 "
                "AND count = (SELECT COUNT(*) FROM games WHERE games.run = assignments.run "
                "AND sequence >= first_sequence "
                "AND sequence < first_sequence + assignments.count) "
                "RETURNING account, count",
                (assignment,),
            ).fetchone()
            if settled is not None:
                account, count = settled
                database.execute(
                    "UPDATE accounts SET num_due = num_due + ? WHERE id = ?", (count, account)
                )

    def settle(self, assignment: Assignment) -> list[int]:
        """Counts what came back of an assignment whose time is over; returns what did not."""
        states = self.game_states(assignment.run, assignment.sequences)
        missing = [each for each in assignment.sequences if each not in states]
        with self._transaction() as database:
            database.execute("UPDATE assignments SET is_settled = 1 WHERE id = ?", (assignment.id,))
            database.execute(
                "UPDATE accounts SET num_due = num_due + ?, num_unreturned = num_unreturned + ? "
                "WHERE id = ?",
                (assignment.count, len(missing), assignment.account),
            )
        return missing

    # ---- games

    def game_states(self, run: str, sequences: Iterable[int]) -> dict[int, str]:
        found: dict[int, str] = {}
        for sequence in sequences:
            for row in self._rows(
                "SELECT state FROM games WHERE run = ? AND sequence = ?", run, sequence
            ):
                found[sequence] = str(row[0])
        return found

    def take(
        self,
        games: Sequence[LedgerGame],
        account: int | None = None,
        standing: Standing | None = None,
        confirmed: int | None = None,
    ) -> None:
        """Records games that are on the disk. `standing` is the sender's after them; `confirmed`
        is the sequence number of the last game up to which nothing is suspect."""
        self.take_all([(games, account, standing, confirmed)])

    def take_all(
        self,
        taken: Iterable[tuple[Sequence[LedgerGame], int | None, Standing | None, int | None]],
    ) -> None:
        """Of several senders, in one transaction."""
        with self._transaction() as database:
            for games, account, standing, confirmed in taken:
                for each in games:
                    now = as_it_counts_now(database, each)
                    database.execute(
                        f"INSERT OR IGNORE INTO games ({GAME}) "
                        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                        (now.run, now.sequence, f"{now.worker:016x}", *astuple(now)[3:]),
                    )
                if account is not None and standing is not None:
                    self._set_standing(database, account, standing)
                if confirmed is not None:
                    database.execute(
                        "UPDATE accounts SET confirmed = "
                        "(SELECT id FROM games WHERE run = ? AND sequence = ?) WHERE id = ?",
                        (games[0].run, confirmed, account),
                    )

    def withdraw_since_confirmed(self, account: int) -> int:
        """Marks what an account sent since its last confirmed check; returns how many."""
        with self._transaction() as database:
            return database.execute(
                "UPDATE games SET state = ? WHERE account = ? AND state = ? AND id > "
                "(SELECT confirmed FROM accounts WHERE id = ?)",
                (WITHDRAWN, account, ACCEPTED, account),
            ).rowcount

    def untold(self, run: str) -> list[tuple[int, int]]:
        """Ids of withdrawn games that the trainer does not know of."""
        rows = self._rows(
            "SELECT worker, sequence FROM games WHERE run = ? AND state = ?", run, WITHDRAWN
        )
        return [(int(str(worker), 16), int(str(sequence))) for worker, sequence in rows]

    def tell(self, run: str, sequences: Collection[int]) -> None:
        with self._transaction() as database:
            database.executemany(
                "UPDATE games SET state = ? WHERE run = ? AND sequence = ? AND state = ?",
                [(TOLD, run, each, WITHDRAWN) for each in sequences],
            )

    def results(self, account: int, state: str) -> list[tuple[bool, int]]:
        """Of an account's games: whether the first player won, and plies."""
        rows = self._rows(
            "SELECT first_won, num_plies FROM games WHERE account = ? AND state = ?",
            account,
            state,
        )
        return [(bool(won), int(str(plies))) for won, plies in rows]

    def num_games_since(self, account: int, since: float) -> int:
        row = self._rows(
            "SELECT COUNT(*) FROM games WHERE account = ? AND state = 'accepted' AND time >= ?",
            account,
            since,
        )[0]
        return int(str(row[0]))

    def num_withdrawn(self) -> dict[int, int]:
        """By account."""
        rows = self._rows(
            "SELECT account, COUNT(*) FROM games WHERE state IN ('withdrawn', 'told') "
            "AND account IS NOT NULL GROUP BY account"
        )
        return dict(rows)  # type: ignore[arg-type]

    def contributions(self, account: int | None = None) -> list[Contribution]:
        """Per account and device, of all accounts or one."""
        where, values = ("AND account = ?", (account,)) if account is not None else ("", ())
        rows = self._rows(
            "SELECT account, device, COUNT(*), SUM(num_rows), SUM(num_simulations) FROM games "
            f"WHERE state = 'accepted' AND account IS NOT NULL {where} GROUP BY account, device",
            *values,
        )
        return [Contribution(*row) for row in rows]  # type: ignore[arg-type]

    def totals(self, run: str, since: float = 0) -> tuple[int, int]:
        """Games and rows of a run that browsers played."""
        row = self._rows(
            "SELECT COUNT(*), COALESCE(SUM(num_rows), 0) FROM games "
            "WHERE run = ? AND state = 'accepted' AND time >= ?",
            run,
            since,
        )[0]
        return int(str(row[0])), int(str(row[1]))

    def hours(self, run: str, since: float) -> list[tuple[float, int, int]]:
        """Games and rows by the hour of their arrival, oldest first."""
        rows = self._rows(
            "SELECT CAST(time / 3600 AS INTEGER) * 3600.0 AS hour, COUNT(*), SUM(num_rows) "
            "FROM games WHERE run = ? AND state = 'accepted' AND time >= ? "
            "GROUP BY hour ORDER BY hour",
            run,
            since,
        )
        return list(rows)  # type: ignore[arg-type]


def as_it_counts_now(database: sqlite3.Connection, game: LedgerGame) -> LedgerGame:
    """Its sender may have been quarantined or deleted since the game was checked."""
    if game.account is None or game.state != ACCEPTED:
        return game
    row = database.execute("SELECT state FROM accounts WHERE id = ?", (game.account,)).fetchone()
    if row is None:
        return replace(game, account=None, device=None)
    return replace(game, state=WITHDRAWN) if row == ("quarantined",) else game
