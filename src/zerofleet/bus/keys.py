"""Every key of a run in Redis, named once.

All begin with `zf:{RUN}:`. The braces are a hash tag: Redis Cluster keeps the keys of a run on one
node, so that one script may use several of them.

Each worker has its own stream. XADD can also trim, and can use the largest id, after which nothing
can be appended: in a shared stream, one worker could discard the games of the others or block them.
"""

import re

from zerofleet.errors import BadText

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
GROUP = "trainer"
"""The consumer group of every stream, and its only consumer."""


def checked_name(kind: str, name: str) -> str:
    """Returns the name if it can be part of a key and of an ACL pattern, else raises BadText."""
    if not NAME.fullmatch(name):
        raise BadText(
            f"{kind} {name!r} cannot be named in Redis: use up to 100 letters, digits, '.', '_' "
            "and '-', and begin with a letter or digit"
        )
    return name


class Keys:
    """The keys of one run."""

    def __init__(self, run: str) -> None:
        self.prefix = f"zf:{{{checked_name('run', run)}}}:"
        self.run = self.prefix + "run"
        """String: the facts of the run."""
        self.graph = self.prefix + "graph"
        """Hash data, sha256: the network as ONNX without weights."""
        self.trainer = self.prefix + "trainer"
        """Hash token, epoch, host, until: the lease, in milliseconds of Redis time."""
        self.pace = self.prefix + "pace"
        """String: JSON with the time at which the trainer wrote it."""
        self.announce = self.prefix + "announce"
        """Channel. Everything announced can also be polled."""
        self.ended = self.prefix + "ended"
        """String: exists once the run has ended."""
        self.held = self.prefix + "held"
        """Hash worker to reason; the empty worker is all of them."""
        self.senders = self.prefix + "senders"
        """Set of workers whose streams have entries."""
        self.cleared = self.prefix + "cleared"
        """List of worker, incarnation and number, for the trainer's log."""
        self.withdrawals = self.prefix + "withdrawals"
        """List of incarnation and sequence number."""
        self.weights = self.prefix + "weights"
        """Hash version, step, sha256, size, at: the weights that play."""
        self.recent = self.prefix + "weights-recent"
        """List of published versions that are still there, newest first."""
        self.kept = self.prefix + "weights-kept"
        """Set of versions that stay because a rating needs them."""
        self.roles = self.prefix + "roles"
        """Set of the ids of all roles."""
        self.servers = self.prefix + "servers"
        """Set of the ids of all inference servers."""
        self.ratings = self.prefix + "ratings"
        """Sorted set of open matches, oldest first."""
        self.leases = self.prefix + "lease:"

    def episodes(self, worker: str) -> str:
        """Stream, one entry per episode: incarnation, number, episode."""
        return f"{self.prefix}episodes:{worker}"

    def marks(self, worker: str) -> str:
        """Hash incarnation to number: all of lower numbers are in the trainer's log."""
        return f"{self.prefix}marks:{worker}"

    def weights_of(self, version: int | str) -> str:
        """Hash step, sha256, data."""
        return f"{self.prefix}weights:{version}"

    def role(self, role_id: str) -> str:
        """String: registry entry as JSON, expires without a heartbeat."""
        return f"{self.prefix}role:{role_id}"

    def server(self, server_id: str) -> str:
        """String: where an inference server takes requests, as JSON; expires without a heartbeat.
        Apart from `role`, since workers may read it."""
        return f"{self.prefix}server:{server_id}"

    def blocks(self, rating: str) -> str:
        """Hash number to task."""
        return f"{self.prefix}blocks:{rating}"

    def lease(self, rating: str, number: int | str) -> str:
        """String that exists while somebody plays the block."""
        return f"{self.leases}{rating}:{number}"

    def results(self, rating: str) -> str:
        """Hash number to result."""
        return f"{self.prefix}results:{rating}"

    def returns(self, rating: str) -> str:
        """Set of reasons for which blocks were returned."""
        return f"{self.prefix}returns:{rating}"
