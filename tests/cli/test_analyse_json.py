"""`zerofleet analyse --json` as a program that another program talks to over pipes."""

import json
import signal
import subprocess

from command_line import ZEROFLEET

COMMAND = [ZEROFLEET, "analyse", "connect4", "--json", "--player", "playout"]


def test_it_answers_each_line_while_its_input_is_open_and_drains_at_its_end() -> None:
    with subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        print('{"id": "first", "position": "121212"}', file=process.stdin, flush=True)
        assert json.loads(process.stdout.readline())["best"] == "1"
        print("rubbish", file=process.stdin, flush=True)
        assert json.loads(process.stdout.readline())["error"]["code"] == "bad_text"
        lines = "".join(f'{{"id": {number}, "seconds": 0.05}}\n' for number in range(40))
        written, errors = process.communicate(lines, timeout=60)
    assert sorted(json.loads(line)["id"] for line in written.splitlines()) == list(range(40))
    assert errors == ""
    assert process.returncode == 0


def test_ctrl_c_ends_it_cleanly_while_it_waits_and_while_it_searches() -> None:
    for request in ("", '{"id": 1, "seconds": 1000}\n'):
        with subprocess.Popen(
            COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            print('{"id": 0}', file=process.stdin, flush=True)
            process.stdout.readline()  # it has begun
            print(request, end="", file=process.stdin, flush=True)
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)
            assert process.stderr is not None
            assert process.stderr.read() == ""
        assert process.returncode == 130


def test_an_input_that_cannot_be_read_is_one_clear_line() -> None:
    command = f'"{ZEROFLEET}" analyse connect4 --json <&-'
    ran = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 2
    assert ran.stderr == "zerofleet: standard input cannot be read: Bad file descriptor\n"
