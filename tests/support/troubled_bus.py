"""A bus that fails on demand, and a trainer that only logs."""

from zerofleet.bus import BusFull, BusUnreachable, MemoryBus


class TroubledBus(MemoryBus):
    """A server that can be out of reach, full, without a trainer, or wiped."""

    def __init__(self):
        super().__init__()
        self.is_down = self.is_full = self.is_without_trainer = False
        self.num_calls = 0

    def _call(self):
        self.num_calls += 1
        if self.is_down:
            raise BusUnreachable("redis://box: connection refused")

    def send_episodes(self, deliveries):
        self._call()
        if self.is_full:
            raise BusFull("redis://box: out of memory")
        super().send_episodes(deliveries)

    def receipt(self, sender):
        self._call()
        return super().receipt(sender)

    def held(self, worker):
        self._call()
        return super().held(worker)

    def weights_version(self):
        self._call()
        return super().weights_version()

    def other_weights(self, version, fetch=None):
        self._call()
        return super().other_weights(version, fetch)

    def pace(self):
        return None if self.is_down or self.is_without_trainer else super().pace()

    @property
    def reachable(self):
        return not self.is_down

    def wipe(self):
        """The server lost all that was sent and is not acknowledged."""
        received = self.receive_episodes()
        self.acknowledge([*received, *self._pending.values()])
        return len(received)


class LoggingTrainer:
    """Takes in each number of each sender once, and counts repetitions."""

    def __init__(self, bus):
        self.bus = bus
        self.logged = {}
        self.num_repeated = 0
        self.runs = set()
        """That deliveries name."""

    def take_in(self):
        deliveries = self.bus.receive_episodes()
        for each in deliveries:
            self.runs.add(each.run)
            games = self.logged.setdefault(each.sender, {})
            self.num_repeated += each.number in games
            games.setdefault(each.number, each.episode)
        for sender, games in self.logged.items():
            mark = next(number for number in range(len(games) + 1) if number not in games)
            self.bus.set_marks({sender: mark})
        self.bus.acknowledge(deliveries)
        return deliveries
