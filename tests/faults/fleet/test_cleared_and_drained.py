"""An operator clears the queue of a trainer; a worker is asked to end while Redis is away."""

import re
import time
from collections import Counter
from contextlib import closing

from command_line import ran_in
from fleet_processes import RUN
from redis_server import needs_redis

from zerofleet.bus import Sender
from zerofleet.bus.keys import Keys
from zerofleet.bus.redis import RedisBus

pytestmark = needs_redis
DRAIN_S = 3.0


def test_what_an_operator_clears_is_not_sent_again_and_marks_pass_it(fleet, tmp_path):
    """Of what waits while the trainer stands still, some entries were lost on their way."""
    trainer = fleet.trainer()
    worker = fleet.worker()
    fleet.wait_for_games()
    trainer.pause()
    fleet.wait_for_unread(at_least=120)
    worker.pause()
    stream = Keys(RUN).episodes("a")
    with closing(fleet.server.client()) as client:
        waiting = client.xrange(stream)
        assert len(waiting) > 100
        gap = waiting[len(waiting) // 2 :][:5]
        client.xdel(stream, *(entry for entry, _ in gap))
    cleared = {int(fields[b"number"]) for _, fields in waiting}
    cleared -= {int(fields[b"number"]) for _, fields in gap}
    ran = ran_in(tmp_path, "queue", "clear", "--run", RUN, REDIS_URL=fleet.url)
    print(ran.stderr)
    assert (ran.returncode, fleet.waiting()) == (2, len(cleared))
    assert f"add --yes {RUN}" in ran.stderr
    ran = ran_in(tmp_path, "queue", "clear", "--run", RUN, "--yes", RUN, REDIS_URL=fleet.url)
    print(ran.stdout)
    assert f"cleared {len(cleared)} games" in ran.stdout
    in_hand = len(fleet.logged())

    worker.resume()
    trainer.resume()
    fleet.wait_for_games()
    worker.stop()
    trainer.stop()
    print(worker.output, trainer.output)
    logged = fleet.logged()
    assert max(Counter(logged).values()) == 1
    # Games that the trainer was taking in when it was stopped may be logged as well.
    missing = {game.spool_number for game in fleet.spooled() - set(logged)}
    assert missing <= cleared
    assert len(missing) > 50
    assert {game.spool_number for game in logged[in_hand:]} >= {
        int(fields[b"number"]) for _, fields in gap
    } - {game.spool_number for game in logged[:in_hand]}
    with closing(RedisBus(fleet.server.address(), RUN)) as bus:
        assert bus.mark(Sender("a", logged[0].incarnation)) == len(fleet.spooled())
    assert "lost" not in trainer.output
    assert "wait in the spool" not in worker.output


def test_a_worker_that_drains_while_redis_is_away_ends_in_time_and_keeps_its_spool(fleet):
    trainer = fleet.trainer()
    worker = fleet.worker(options=["--finish-games", "--drain-seconds", str(DRAIN_S)])
    fleet.wait_for_games()
    trainer.pause()
    fleet.wait_for_flight(20)
    fleet.server.kill()
    fleet.wait_for(lambda: "games stay on this disk" in worker.output, "a worker without Redis")
    start_s = time.monotonic()
    worker.stop()
    took_s = time.monotonic() - start_s
    num_left = len(fleet.in_flight())
    print(f"{took_s:.1f} s, {num_left} games left\n{worker.output}")
    assert took_s < 2 * DRAIN_S
    assert "finishing games, at most 3 s" in worker.output
    kept = re.search(r"([\d,]+) wait in the spool for the next start", worker.output)[1]
    assert int(kept.replace(",", "")) >= num_left >= 20

    fleet.server.start()
    trainer.resume()
    again = fleet.worker()
    fleet.wait_for(lambda: "games of 1 earlier starts" in again.output, "what it drains")
    fleet.wait_for_games()
    fleet.finish()
