"""Runs a command until it ends or standard input does: python guard.py COMMAND …

The parent process holds the other end of the guard's standard input. When the parent dies, in
whatever way, the pipe closes and the guard ends its command, so no process is left behind. SIGTERM
is passed on. Output is passed on too, and dropped once it has no reader, so that the command can
shut down normally. The command's own standard input stays open until the guard dies, so a guard can
be the command of another guard: then the command also shuts down when the outer one is killed. The
script does not import zerofleet, so it starts fast and takes little memory.
"""

import os
import signal
import subprocess
import sys
import threading

PATIENCE_S = 30.0
"""Time for a command to end after SIGTERM once its parent is gone."""


def main() -> int:
    child = subprocess.Popen(
        sys.argv[1:],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    signal.signal(signal.SIGTERM, lambda number, frame: child.terminate())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with_input, args=(child,), daemon=True).start()
    pass_on_output(child)
    return child.wait()


def pass_on_output(child: "subprocess.Popen[bytes]") -> None:
    assert child.stdout is not None
    while piece := os.read(child.stdout.fileno(), 1 << 16):
        try:
            while piece:
                piece = piece[os.write(sys.stdout.fileno(), piece) :]
        except BrokenPipeError:
            continue


def end_with_input(child: "subprocess.Popen[bytes]") -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    child.terminate()
    try:
        child.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        child.kill()


if __name__ == "__main__":
    sys.exit(main())
