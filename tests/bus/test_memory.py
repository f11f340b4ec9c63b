"""The in-memory bus: a signal may arrive during any call."""

import subprocess
import sys

HAMMER = """
import signal
from zerofleet.bus import Delivery, MemoryBus, Sender

bus, num_signals = MemoryBus(), 0

def stop(number, frame):
    global num_signals
    num_signals += 1
    bus.stop()

signal.signal(signal.SIGALRM, stop)
signal.setitimer(signal.ITIMER_REAL, 1e-4, 1e-4)
while num_signals < 2000:
    bus.send_episodes([Delivery(Sender("box", 1), 0, b"game")])
    bus.acknowledge(bus.receive_episodes())
signal.setitimer(signal.ITIMER_REAL, 0)
print(bus.stopping)
"""


def test_a_signal_handler_may_stop_it_while_its_thread_is_inside_a_call():
    ran = subprocess.run(
        [sys.executable, "-c", HAMMER], capture_output=True, text=True, timeout=20, check=True
    )
    assert ran.stdout == "True\n"
