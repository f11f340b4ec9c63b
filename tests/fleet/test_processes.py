"""Child processes of a fleet end with their parent, however it ends."""

import os
import signal
import subprocess
import sys
import time

import pytest

from zerofleet.fleet.processes import Process, end

SLEEPS = [sys.executable, "-S", "-c", "import time; print('up', flush=True); time.sleep(60)"]
DEAF = [
    sys.executable,
    "-S",
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    "print('up', flush=True); time.sleep(60)",
]
PARENT = """
import sys, time
from zerofleet.fleet.processes import Process, guarded
command = guarded([sys.executable, "-S", *sys.argv[1:]])
process = Process("child", command, lambda name, line: print(line, flush=True))
print("guard", process._process.pid, flush=True)
time.sleep(60)
"""
CHILD = """
import os, pathlib, signal, sys, time
def end(number, frame):
    print("ending: nobody reads this", flush=True)
    pathlib.Path(sys.argv[1]).write_text("in order")
    sys.exit()
signal.signal(signal.SIGTERM, end)
print("child", os.getpid(), flush=True)
time.sleep(60)
"""


def wait_until(condition, timeout_s=20):
    end_s = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end_s, "timed out"
        time.sleep(0.02)


def test_lines_carry_the_name_and_the_exit_status_is_passed_on():
    lines = []
    script = "import sys; print('one'); print('two', file=sys.stderr); sys.exit(3)"
    process = Process(
        "trainer", [sys.executable, "-S", "-c", script], lambda *line: lines.append(line)
    )
    assert process.wait(20) == 3
    assert sorted(lines) == [("trainer", "one"), ("trainer", "two")]


@pytest.mark.parametrize("command", [SLEEPS, DEAF])
def test_processes_end_when_asked_and_are_killed_when_they_do_not(command):
    lines = []
    processes = [Process(f"p{i}", command, lambda *line: lines.append(line)) for i in range(2)]
    wait_until(lambda: len(lines) == 2)
    end(processes, patience_s=0.5)
    assert all(process.exit_status is not None for process in processes)


@pytest.mark.parametrize("killed", ["parent", "guard"])
def test_a_child_under_two_guards_ends_in_order_when_its_parent_or_the_outer_guard_is_killed(
    tmp_path, killed
):
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, "-c", CHILD, str(tmp_path / "ended")],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    pids = {"parent": parent.pid}
    for _ in range(2):
        name, pid = parent.stdout.readline().split()
        pids[name] = int(pid)
    os.kill(pids[killed], signal.SIGKILL)

    def is_gone():
        try:
            os.kill(pids["child"], 0)
        except ProcessLookupError:
            return True
        return False

    wait_until(is_gone)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert (tmp_path / "ended").read_text() == "in order"
