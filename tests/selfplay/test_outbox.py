"""The outbox of a fleet's worker: each game is logged once, whatever fails in transit."""

import signal
import subprocess
import sys
import time

import pytest
from played_games import played
from redis_server import needs_redis
from redis_users import bus_of, server_with_users
from troubled_bus import LoggingTrainer

from zerofleet.bus import BusRefused, Pace, Sender
from zerofleet.config import Config, FleetConfig, GameConfig, ReplayConfig
from zerofleet.games import Episode
from zerofleet.selfplay import outbox
from zerofleet.selfplay.outbox import SpooledOutbox
from zerofleet.selfplay.spool import older_spools

GAME, EPISODES = played("connect4", 40)
GAMES = [each.encode() for each in EPISODES]
ROWS = [len(each.events) for each in EPISODES]
RUN = "run-1"
TIMEOUT_S = 20


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    for name in ("POLL_S", "POLL_TO_END_S", "SEND_INTERVAL_S", "FIRST_RETRY_S", "LONGEST_RETRY_S"):
        monkeypatch.setattr(outbox, name, 0.02)


class Starting:
    """Starts outboxes and closes what is open at the end."""

    def __init__(self, bus, root):
        self.bus, self.root = bus, root
        self.said, self.faults, self.open = [], [], []

    def __call__(self, incarnation=1, worker="box", game=GAME, **settings):
        config = Config(
            game=GameConfig(name="connect4"),
            fleet=FleetConfig(**{"resend_after_s": 0.1} | settings),
            replay=ReplayConfig(fsync_interval_s=0),
        )
        sender = Sender(worker, incarnation)
        made = SpooledOutbox(
            self.bus, sender, RUN, game, config, self.root, self.said.append, self.faults.append
        )
        made.start()
        self.open.append(made)
        return made

    def close(self, made, timeout_s=0.0):
        self.open.remove(made)
        return made.close(timeout_s)


@pytest.fixture
def start(bus, tmp_path):
    starting = Starting(bus, tmp_path)
    yield starting
    for made in starting.open:
        made.close(0)
    assert starting.faults == []


def until(condition, do=lambda: None):
    end_s = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < end_s
        do()
        time.sleep(0.005)


def confirmed(made, count):
    return lambda: made.values()["confirmed"] == count


def settle(bus):
    """Waits until the outbox has asked the bus several times."""
    target = bus.num_calls + 12
    until(lambda: bus.num_calls >= target)


# ---- each game once


def test_games_arrive_in_order_and_leave_the_disk_when_they_are_confirmed(
    bus, trainer, start, tmp_path
):
    made = start()
    for game in GAMES:
        made.send([game])
    until(confirmed(made, 40), trainer.take_in)
    assert trainer.logged == {Sender("box", 1): dict(enumerate(GAMES))}
    assert trainer.num_repeated == 0
    values = made.values()
    assert (values["games"], values["rows"], values["sent"]) == (40, sum(ROWS), 40)
    assert (values["resent"], values["unconfirmed_rows"], values["spool_bytes"]) == (0, 0, 0)
    assert start.close(made) == 0
    assert list(tmp_path.glob("*/*")) == []


@pytest.mark.parametrize("name", ["beastybar", "backgammon"])
def test_rows_are_those_that_training_derives(start, name):
    game, episodes = played(name, 3)
    made = start(game=game)
    made.send([each.encode() for each in episodes])
    rows = sum(len(each.rows(game).observer) for each in episodes)
    assert made.values()["unconfirmed_rows"] == rows > 0


def test_what_the_bus_lost_is_sent_again_and_counts_once(bus, trainer, start):
    made = start()
    made.send(GAMES[:20])
    until(lambda: made.values()["sent"] == 20)
    assert bus.wipe() == 20
    made.send(GAMES[20:])
    until(confirmed(made, 40), trainer.take_in)
    assert trainer.logged[Sender("box", 1)] == dict(enumerate(GAMES))
    assert made.values()["resent"] >= 20


def test_a_batch_lost_between_others_is_sent_again(bus, trainer, start, monkeypatch):
    monkeypatch.setattr(outbox, "BATCH_EPISODES", 10)
    made = start(resend_after_s=0.2)
    made.send(GAMES)
    until(lambda: made.values()["sent"] == 40)
    deliveries = bus.receive_episodes()
    bus.acknowledge(deliveries)
    bus.send_episodes([each for each in deliveries if not 10 <= each.number < 20])
    trainer.take_in()
    assert bus.mark(Sender("box", 1)) == 10
    until(confirmed(made, 40), trainer.take_in)
    assert trainer.logged[Sender("box", 1)] == dict(enumerate(GAMES))


def test_what_still_waits_in_the_bus_is_not_sent_again(bus, trainer, start):
    made = start(resend_after_s=0.05)
    bus.is_without_trainer = True
    made.send(GAMES)
    time.sleep(0.5)
    assert (made.values()["sent"], made.values()["resent"]) == (40, 0)
    until(confirmed(made, 40), trainer.take_in)
    assert trainer.num_repeated == 0


def test_a_missing_mark_confirms_nothing(bus, trainer, start):
    made = start()
    made.send(GAMES)
    until(confirmed(made, 40), trainer.take_in)
    bus._marks.clear()
    made.send(GAMES[:1])
    settle(bus)
    assert made.values()["confirmed"] == 40
    assert made.values()["unconfirmed_rows"] == ROWS[0]


def test_a_log_restored_from_an_older_copy_with_an_empty_bus_does_not_block_a_spool_forever(
    bus, trainer, start
):
    made = start()
    made.send(GAMES[:30])
    until(confirmed(made, 30), trainer.take_in)
    older = dict(enumerate(GAMES[:10]))
    trainer.logged = {Sender("box", 1): dict(older)}
    bus._marks.clear()
    made.send(GAMES[30:])
    until(confirmed(made, 40), trainer.take_in)
    # What it does not have any more arrives as no bytes, which a trainer counts as done.
    lost = dict.fromkeys(range(10, 30), b"")
    newer = {number: GAMES[number] for number in range(30, 40)}
    assert trainer.logged == {Sender("box", 1): older | lost | newer}
    assert trainer.runs == {RUN}
    assert start.said == [
        "the trainer lacks games 10 to 29 of box, which it had confirmed: its log is an older copy"
    ]


# ---- the server fails


def test_a_server_that_stays_away_is_reported_once_though_nothing_new_is_to_be_sent(bus, start):
    made = start()
    made.send(GAMES)
    until(lambda: made.values()["sent"] == 40)
    bus.is_down = True
    settle(bus)
    assert start.said == ["games stay on this disk: redis://box: connection refused"]


def test_without_redis_it_plays_up_to_its_bound_and_catches_up_by_itself(bus, trainer, start):
    bus.is_down = True
    made = start(play_ahead_rows=sum(ROWS))
    made.send(GAMES[:39])
    assert made.wait_to_play(0)
    made.send(GAMES[39:])
    assert not made.wait_to_play(0)
    assert made.why_paused == f"Redis out of reach, {sum(ROWS)} rows ahead (fleet.play_ahead_rows)"
    assert made.values()["trainer_away"] == 1
    until(lambda: start.said)
    bus.is_down = False
    until(confirmed(made, 40), trainer.take_in)
    assert trainer.logged[Sender("box", 1)] == dict(enumerate(GAMES))
    assert made.wait_to_play(0)
    assert start.said == [
        "games stay on this disk: redis://box: connection refused",
        "games are sent again",
    ]


def test_after_a_break_it_looks_at_once_for_what_was_sent_before(bus, trainer, start):
    made = start(resend_after_s=3600)
    made.send(GAMES)
    until(lambda: made.values()["sent"] == 40)
    bus.is_down = True
    until(lambda: start.said)
    bus.wipe()
    bus.is_down = False
    until(confirmed(made, 40), trainer.take_in)
    assert made.values()["resent"] == 40


def test_it_retries_a_dead_server_at_growing_intervals(bus, start, monkeypatch):
    monkeypatch.setattr(outbox, "LONGEST_RETRY_S", 60)
    monkeypatch.setattr(outbox.random, "random", lambda: 1.0)
    bus.is_down = True
    start()
    time.sleep(0.5)
    assert 1 <= bus.num_calls <= 6  # after 0.02, 0.06, 0.14, 0.3, 0.62 s


def test_a_full_server_keeps_games_on_this_disk_until_it_has_room(bus, trainer, start):
    bus.is_full = True
    made = start()
    made.send(GAMES)
    until(lambda: start.said)
    assert start.said == ["games stay on this disk: redis://box: out of memory"]
    assert (made.values()["sent"], made.wait_to_play(0)) == (0, True)
    bus.is_full = False
    until(confirmed(made, 40), trainer.take_in)


def test_it_stops_sending_where_enough_waits_for_the_trainer(bus, trainer, start):
    made = start(max_backlog_bytes=2**20)
    games = GAMES * 250  # 2.2 MiB
    made.send(games)
    until(lambda: bus.backlog().num_bytes >= 2**20)
    settle(bus)
    assert bus.backlog().num_bytes < 2**20 + outbox.BATCH_BYTES
    assert made.values()["sent"] == bus.backlog().num_episodes < len(games)
    until(confirmed(made, len(games)), trainer.take_in)
    assert trainer.num_repeated == 0


# ---- why it pauses


def test_a_pace_decides_as_long_as_there_is_a_trainer(bus, start):
    made = start(play_ahead_rows=0)
    assert made.wait_to_play(0)
    bus.set_pace(Pace(rows_inserted=9, rows_allowed=8))
    assert (made.wait_to_play(0), made.why_paused) == (False, "waits for training")
    bus.set_pace(Pace(rows_inserted=9, rows_allowed=9, paused="the disk is full"))
    assert made.why_paused == "trainer paused: the disk is full"
    bus.is_without_trainer = True
    assert made.why_paused == "trainer away, 0 rows ahead (fleet.play_ahead_rows)"
    assert not made.wait_to_play(0.01)


def test_a_new_pace_ends_the_wait(bus, start):
    made = start()
    bus.set_pace(Pace(rows_inserted=9, rows_allowed=8))
    assert not made.wait_to_play(0.01)
    bus.set_pace(Pace(rows_inserted=9, rows_allowed=9))
    assert made.wait_to_play(0.01)


def test_an_operator_holds_one_worker(bus, start):
    made = start()
    bus.hold("box", "new fans")
    until(lambda: made.why_paused == "held: new fans")
    assert (made.wait_to_play(0), made.values()["held"]) == (False, 1)
    bus.hold("box", "")
    until(lambda: made.wait_to_play(0))


def test_a_full_spool_pauses_play_until_games_are_confirmed(bus, trainer, start):
    made = start(max_spool_bytes=2**20)
    games = GAMES * 125  # 1.1 MiB with their headers
    made.send(games)
    assert not made.wait_to_play(0)
    assert made.why_paused.startswith("spool full: 1")
    assert made.why_paused.endswith(" unconfirmed (fleet.max_spool_bytes)")
    until(confirmed(made, len(games)), trainer.take_in)
    assert made.wait_to_play(0)


# ---- the end and the next start


def test_closing_sends_the_rest_and_waits_for_its_marks(bus, trainer, start, tmp_path):
    made = start()
    made.send(GAMES)
    taking = trainer.take_in
    bus.send_episodes = lambda sent: (type(bus).send_episodes(bus, sent), taking())
    assert start.close(made, timeout_s=TIMEOUT_S) == 0
    assert trainer.logged[Sender("box", 1)] == dict(enumerate(GAMES))
    assert made.why_paused == "draining"
    assert list(tmp_path.glob("*/*")) == []


def test_one_that_was_never_started_keeps_its_games_for_the_next_start(bus, tmp_path):
    config = Config(game=GameConfig(name="connect4"))
    made = SpooledOutbox(bus, Sender("box", 1), RUN, GAME, config, tmp_path, print, print)
    made.send(GAMES)
    assert made.close(TIMEOUT_S) == 40


def test_what_is_unconfirmed_at_the_end_is_sent_by_the_next_start(bus, trainer, start):
    bus.is_down = True
    first = start(incarnation=1)
    first.send(GAMES[:30])
    assert start.close(first, timeout_s=0.1) == 30
    bus.is_down = False
    second = start(incarnation=2)
    second.send(GAMES[30:])
    assert "spool: sends 30 games of 1 earlier starts" in start.said
    until(confirmed(second, 40), trainer.take_in)
    assert trainer.logged == {
        Sender("box", 1): dict(enumerate(GAMES[:30])),
        Sender("box", 2): dict(enumerate(GAMES[30:])),
    }
    assert older_spools(start.root, RUN) == ([], [])


def test_a_spool_that_another_worker_left_waits_for_it_where_it_may_not_be_sent(
    bus, trainer, start, monkeypatch
):
    bus.is_down = True
    first = start(worker="other", incarnation=1)
    first.send(GAMES[:30])
    start.close(first)
    bus.is_down = False

    def receipt(sender):
        if sender.worker == "other":
            raise BusRefused("redis://box does not allow this")
        return type(bus).receipt(bus, sender)

    monkeypatch.setattr(bus, "receipt", receipt)
    second = start(incarnation=2)
    second.send(GAMES[30:])
    until(confirmed(second, 10), trainer.take_in)
    assert "is left for its own worker: redis://box does not allow this" in start.said[-1]
    ((spool,), faults) = older_spools(start.root, RUN)
    assert (spool.sender, spool.num_unconfirmed, faults) == (Sender("other", 1), 30, [])
    spool.close()


def test_games_of_earlier_starts_count_against_the_bounds(bus, start):
    bus.is_down = True
    first = start(incarnation=1)
    first.send(GAMES)
    start.close(first)
    second = start(incarnation=2, play_ahead_rows=sum(ROWS))
    assert not second.wait_to_play(0)


SENDING = """
import sys
from pathlib import Path
import zerofleet as zf
from zerofleet.bus import MemoryBus, Sender
from zerofleet.config import Config, GameConfig
from zerofleet.selfplay.outbox import SpooledOutbox

game = zf.games.get("connect4")
config = Config(game=GameConfig(name="connect4"))
outbox = SpooledOutbox(
    MemoryBus(), Sender("box", 9), "run-1", game, config, Path(sys.argv[1]), print, print
)
outbox.start()
for episode in zf.selfplay.play(
    game, "hash", num_episodes=10**9, num_threads=0, worker=9, num_simulations=2
):
    outbox.send([episode])
    sys.stdout.write(str(zf.games.Episode.decode(episode).sequence) + "\\n")
    sys.stdout.flush()
"""


def test_a_killed_worker_loses_no_game_that_was_sent_and_none_counts_twice(bus, trainer, start):
    """Its bus dies with it, so everything it sent is lost there."""
    process = subprocess.Popen(
        [sys.executable, "-c", SENDING, start.root], stdout=subprocess.PIPE, text=True
    )
    lines = [process.stdout.readline() for _ in range(20)]
    process.send_signal(signal.SIGKILL)
    rest, _ = process.communicate()
    sent = {int(line) for line in "".join([*lines, rest]).splitlines(keepends=True)[:-1]}
    made = start(incarnation=10)
    until(lambda: made.values()["confirmed"] > 0, trainer.take_in)
    until(lambda: made.values()["unconfirmed_rows"] == 0, trainer.take_in)
    ((sender, games),) = trainer.logged.items()
    assert (sender, sorted(games)) == (Sender("box", 9), list(range(len(games))))
    logged = [Episode.decode(each) for each in games.values()]
    sequences = [each.sequence for each in logged]
    assert {each.worker for each in logged} == {9}
    assert sent <= set(sequences)
    assert len(sequences) == len(set(sequences))


# ---- over Redis, with the rights of a worker


@needs_redis
def test_what_a_wiped_redis_lost_is_sent_again_with_the_rights_of_a_worker(tmp_path):
    server = server_with_users(tmp_path)
    bus, trainers = bus_of(server, "worker-box-1"), bus_of(server, "trainer")
    trainers.lead("this host", timeout_s=15)
    trainers.set_pace(Pace(rows_inserted=0, rows_allowed=0))
    trainer, start = LoggingTrainer(trainers), Starting(bus, tmp_path)
    made = start(worker="box-1", incarnation=2**64 - 1)
    made.send(GAMES[:20])
    until(lambda: made.values()["sent"] == 20)
    client = server.client()
    client.flushall()
    client.close()
    made.send(GAMES[20:])
    until(confirmed(made, 40), trainer.take_in)
    assert trainer.logged == {Sender("box-1", 2**64 - 1): dict(enumerate(GAMES))}
    assert made.values()["resent"] >= 20
    assert start.close(made) == 0
    assert start.faults == []
    bus.close()
    trainers.close()
    server.close()
