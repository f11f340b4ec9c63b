"""A worker whose games come from browsers: what the gateway in `web` is to the bus.

    role = GatewayRole(bus, facts, "browsers", read_values, say, fail)
    role.send(episodes)      # on this disk (fsync), and on their way to the trainer

It has the spool, the outbox and the registry entry of every worker. The gateway checks the games.
"""

import secrets
from collections.abc import Callable, Sequence

from zerofleet.bus import Bus, EpisodeId, Sender
from zerofleet.errors import Unsupported
from zerofleet.fleet.facts import FleetFacts
from zerofleet.fleet.role import LOOPBACK_PORT, RolePresence
from zerofleet.fleet.role_metrics import Values, disk_values
from zerofleet.games import Episode
from zerofleet.selfplay.outbox import BATCH_BYTES, BATCH_EPISODES, SpooledOutbox
from zerofleet.selfplay.spool import older_spools, spool_root

DRAIN_S = 10.0
"""For the trainer to confirm what was sent, at the end."""


class GatewayRole:
    """One start of a gateway."""

    def __init__(
        self,
        bus: Bus,
        facts: FleetFacts,
        worker_id: str,
        read_values: Callable[[], Values],
        say: Callable[[str], None],
        on_fault: Callable[[BaseException], None],
    ) -> None:
        """Refuses a run that this program or a browser cannot play."""
        if facts.is_custom:
            raise Unsupported(
                f"run {facts.run_name} plays {facts.game}, a custom game; browsers have only the "
                "games that come with zerofleet"
            )
        self.bus, self.facts = bus, facts
        self.game = facts.played(None)
        facts.refuse_unlike(self.game)
        self.config = facts.config()
        self.sender = Sender(worker_id, secrets.randbits(64))
        self.earlier = earlier_games(facts.run_id, worker_id)
        """Ids of games that earlier starts spooled and the trainer may not have confirmed."""
        self._read_values = read_values
        self._spool_root = spool_root()
        self._outbox = SpooledOutbox(
            bus, self.sender, facts.run_id, self.game, self.config, self._spool_root, say, on_fault
        )
        self._presence = RolePresence(
            "worker", worker_id, bus, facts.run_name, "browsers", self._values, LOOPBACK_PORT
        )

    def start(self) -> None:
        self._outbox.start()
        self._presence.__enter__()

    def beat(self, doing: str) -> None:
        """Tells that the gateway makes progress."""
        self._presence.beat(doing)

    def send(self, episodes: Sequence[bytes]) -> None:
        """Returns when they are on the disk itself. DiskFull: they are not, and may come again."""
        self._outbox.send(episodes)
        self._outbox.sync()

    @property
    def why_paused(self) -> str:
        """Why no new games may be given out; empty while they may."""
        return self._outbox.why_paused

    @property
    def is_held(self) -> bool:
        """Whether an operator holds it, or it ends."""
        return self.bus.stopping or bool(self.bus.held(self.sender.worker))

    def close(self) -> int:
        """Returns how many games wait in the spool for the next start."""
        num_left = self._outbox.close(DRAIN_S if self.bus.pace() is not None else 0.0)
        self._presence.__exit__(None, None, None)
        return num_left

    def _values(self) -> Values:
        return {**self._outbox.values(), **self._read_values(), **disk_values(self._spool_root)}


def earlier_games(run_id: str, worker_id: str) -> list[EpisodeId]:
    """What the spools of earlier starts of a worker still hold."""
    found = []
    spools, _ = older_spools(spool_root(), run_id)
    for spool in spools:
        number = spool.first
        while spool.sender.worker == worker_id and number < spool.end:
            for data in spool.read(number, BATCH_EPISODES, BATCH_BYTES):
                number += 1
                if data:  # else the spool has lost it
                    episode = Episode.decode(data)
                    found.append((episode.worker, episode.sequence))
        spool.close()
    return found
