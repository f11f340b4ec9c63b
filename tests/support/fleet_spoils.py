"""Faults injected into the process of a role: `Fleet` calls them before the role starts."""

import ctypes
import functools
import importlib
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

CLONE_NEWNET = 0x40000000


def add_to_path(folder: Path) -> None:
    """Packages in this folder are found where they are not installed."""
    sys.path.append(str(folder))


def replace_method(name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replaces module:Class.method by what is made of it."""
    module, _, path = name.partition(":")
    class_name, method = path.split(".")
    owner = getattr(importlib.import_module(module), class_name)
    before = getattr(owner, method)
    setattr(owner, method, functools.wraps(before)(make(before)))


def die_at(name: str, when: str, count: int, note: Path) -> None:
    """From now on SIGKILLs its own process before or after the so-many-th call of a method. Calls
    that handle nothing do not count. Notes the point, and how much the call handles."""

    def make(method: Callable[..., Any]) -> Callable[..., Any]:
        num_calls = 0

        def count_call(handled: Sequence[Any]) -> None:
            nonlocal num_calls
            sizes = [len(each) for each in handled if hasattr(each, "__len__")]
            num_calls += not sizes or max(sizes) > 0
            if num_calls == count:
                in_hand = max(sizes, default=0)
                note.write_text(json.dumps({"point": f"{when} {name}", "in_hand": in_hand}))
                os.kill(os.getpid(), signal.SIGKILL)

        def call(*arguments: Any, **named: Any) -> Any:
            if when == "before":
                count_call(arguments[1:])
            answer = method(*arguments, **named)
            if when == "after":
                count_call([*arguments[1:], answer])
            return answer

        return call

    replace_method(name, make)


def kill_before(name: str, pid: int) -> None:
    """SIGKILLs another process before the first call of a method."""

    def make(method: Callable[..., Any]) -> Callable[..., Any]:
        waiting = [pid]

        def call(*arguments: Any, **named: Any) -> Any:
            if waiting:
                os.kill(waiting.pop(), signal.SIGKILL)
            return method(*arguments, **named)

        return call

    replace_method(name, make)


def enter_network(namespace: str) -> None:
    """Moves this process into a network namespace of `ip netns`."""
    libc = ctypes.CDLL(None, use_errno=True)
    with Path(f"/run/netns/{namespace}").open() as file:
        if libc.setns(file.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"setns {namespace}")


def name_host(name: str) -> None:
    """Gives this process's machine another name."""
    socket.gethostname = lambda: name


def send_thrice() -> None:
    """Sends every delivery three times."""

    def make(send: Callable[..., Any]) -> Callable[..., Any]:
        return lambda bus, deliveries: [send(bus, deliveries) for _ in range(3)]

    replace_method("zerofleet.bus.redis:RedisBus.send_episodes", make)


def take_slowly(game_s: float) -> None:
    """Takes so many seconds more for each game that comes in."""

    def make(take: Callable[..., Any]) -> Callable[..., Any]:
        def slow(intake: Any, deliveries: Sequence[Any]) -> None:
            time.sleep(game_s * len(deliveries))
            take(intake, deliveries)

        return slow

    replace_method("zerofleet.replay.intake:Intake.take", make)


def compile_until(over: Path) -> None:
    """Compiles until a file is there, before the first training step."""

    def make(compile_ahead: Callable[..., Any]) -> Callable[..., Any]:
        def slow(loop: Any) -> None:
            while not over.exists():
                time.sleep(0.05)
            compile_ahead(loop)

        return slow

    replace_method("zerofleet.training.loop:TrainingLoop.compile_ahead", make)


def answer_with_nan(after: int) -> None:
    """An inference server that is honest for so many answers, then ends each with NaN."""

    def lie(message: bytes) -> bytes:
        return message[:-2] + b"\xff\xff"

    _change_answers(after, lie)


def answer_with_version(version: int, after: int) -> None:
    """An inference server that is honest for so many answers, then names another version."""

    def lie(message: bytes) -> bytes:
        from zerofleet.infer.wire import ANSWER

        fields = list(ANSWER.unpack_from(message))
        fields[4] = version
        return ANSWER.pack(*fields) + message[ANSWER.size :]

    _change_answers(after, lie)


def keep_old_weights() -> None:
    """An inference server that never loads new weights."""

    def make(load: Callable[..., Any]) -> Callable[..., Any]:
        return lambda feed, pipeline: None

    replace_method("zerofleet.selfplay.fleet_feed:FleetWeightsFeed.load_newest", make)


def _change_answers(after: int, lie: Callable[[bytes], bytes]) -> None:
    from zerofleet.infer import server

    honest, num_answers = server.encode_answer, 0

    def encode(*arguments: Any) -> bytes:
        nonlocal num_answers
        num_answers += 1
        message: bytes = honest(*arguments)
        return message if num_answers <= after else lie(message)

    server.encode_answer = encode
