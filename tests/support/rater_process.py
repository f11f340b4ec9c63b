"""A rater as a separate process: PORT RUN ID LEASE_S [halts]

It prints what it does after each round of moves. One that halts does so during its first block, for
good.
"""

import sys
import time

from rated_run import rater_of

from zerofleet.bus.connect import RedisAddress
from zerofleet.bus.redis import RedisBus

port, run, rater_id, lease_s, *halts = sys.argv[1:]
bus = RedisBus(RedisAddress("127.0.0.1", int(port)), run)
rater = rater_of(bus, rater_id, float(lease_s))


def stop() -> bool:
    print(rater.doing, flush=True)
    if halts and "block" in rater.doing:
        time.sleep(3600)
    return False


rater.rate_blocks(stop)
bus.close()
