"""Many simulated tabs at realistic rates beside one trainer: is anything lost, how long does an
acknowledgement take, what does a socket cost, how fast do new weights reach all?

A real Redis, a real trainer and `zerofleet dash --lend` are processes of their own. The tabs are
sockets of this process, from many addresses of the loopback device, so that all limits hold. Each
plays its assignments of tic-tac-toe itself, and sends them at the rate of a browser that takes
20 seconds for a game.

    .venv/bin/python bench/lend/sockets.py --sockets 1000 --minutes 10
"""

import argparse
import asyncio
import contextlib
import hashlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tests" / "support")]
import recording  # noqa: E402
from fleet_history import logged  # noqa: E402
from lending_client import evaluator_of, play, ready  # noqa: E402
from redis_server import RedisServer  # noqa: E402

from zerofleet import games  # noqa: E402
from zerofleet.fleet.local_redis import free_port  # noqa: E402
from zerofleet.web.lend import messages  # noqa: E402
from zerofleet.web.lend.accounts import CONSENT  # noqa: E402

RUN = "lent"
GAMES_PER_TASK = 2
GAME_S = 20.0
SAMPLE_S = 15.0
SETTINGS = [
    "search.num_simulations=2", "network.preset=tiny", "selfplay.games_per_group=16",
    "replay.min_rows=500", "replay.samples_per_row=0.5", "train.batch_size=64",
    "train.publish_every_steps=50", "rating.interval_minutes=0", "rating.final_games=0",
    "run.num_threads=1", "lend.refresh_minutes=1", f"lend.max_games_at_once={GAMES_PER_TASK}",
]  # fmt: skip
ZEROFLEET = str(Path(sys.executable).parent / "zerofleet")
GAME = games.get("tictactoe")


class Tabs:
    """What all tabs share, and what they saw."""

    def __init__(self, url, end_s):
        self.url, self.end_s = url, end_s
        self.evaluators = {}
        self.lock = asyncio.Lock()
        self.ack_s, self.accepted = [], []
        self.seen, self.loaded = {}, {}
        self.memory = []
        self.num_refused = self.num_closed = self.num_open = 0

    async def load(self, update, lender, address):
        """Fetches the file, as every tab does; the session is shared."""
        self.seen.setdefault(update.version, []).append(time.monotonic())
        body = await fetched(self.url, update.url, lender["token"], address)
        assert hashlib.sha256(body).hexdigest() == update.sha256
        self.loaded.setdefault(update.version, []).append(time.monotonic())
        if update.version not in self.evaluators:
            self.evaluators[update.version] = evaluator_of(body)

    async def lend(self, lender, address):
        """One tab until the end."""
        url = self.url.replace("http", "ws") + messages.SOCKET_PATH
        async with connect(
            url, local_addr=(address, 0), compression=None, max_size=None, open_timeout=120,
            ping_interval=None,
        ) as socket:  # fmt: skip
            self.num_open += 1
            try:
                await socket.send(messages.encode(ready(lender["token"], GAME)))
                await self._lend(socket, lender, address)
            except ConnectionClosed:
                self.num_closed += time.monotonic() < self.end_s
            finally:
                self.num_open -= 1

    async def _lend(self, socket, lender, address):
        tasks, sent = asyncio.Queue(), {}

        async def listen():
            while True:
                message = messages.decode_answer(await socket.recv())
                match message:
                    case messages.WeightsUpdate():
                        await self.load(message, lender, address)
                    case messages.PlayGames():
                        tasks.put_nowait(message)
                    case messages.GamesAccepted():
                        self.accepted += [tuple(each) for each in message.ids]
                        first = min(sequence for _, sequence in message.ids)
                        self.ack_s.append(time.monotonic() - sent.pop(first))
                    case messages.GamesRefused() | messages.Refused():
                        self.num_refused += 1
                        print(message, flush=True)

        async def beat():
            while True:
                await asyncio.sleep(30)
                await socket.send(messages.encode(messages.Heartbeat()))

        listening = asyncio.create_task(listen())
        beating = asyncio.create_task(beat())
        try:
            await asyncio.sleep(random.random() * GAMES_PER_TASK * GAME_S)
            while time.monotonic() < self.end_s:
                while tasks.empty() and not listening.done():
                    await asyncio.sleep(0.2)
                if listening.done():
                    listening.result()
                task = tasks.get_nowait()
                async with self.lock:  # one at a time: the machine has other things to do
                    played = await asyncio.to_thread(play, task, self.evaluators[task.version])
                sent[task.first_sequence] = time.monotonic()
                await socket.send(messages.encode(messages.GamesComplete(task.assignment, played)))
                await asyncio.sleep(GAMES_PER_TASK * GAME_S * random.uniform(0.5, 1.5))
            while sent and not listening.done():
                await asyncio.sleep(0.1)
        finally:
            listening.cancel()
            beating.cancel()


async def fetched(url, path, token, address):
    """The body of a GET, without a client that costs more than the server."""
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", int(url.rpartition(":")[2]), local_addr=(address, 0)
    )
    host = url.removeprefix("http://")
    writer.write(
        f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n"
        f"Authorization: Bearer {token}\r\n\r\n".encode()
    )
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    assert b" 200 " in head.partition(b"\r\n")[0], head
    return body


def sign_up(url, number):
    """Five accounts per address, as the limits allow."""
    address = f"127.0.{1 + number // 1000}.{1 + number // 5 % 200}"
    with httpx.Client(transport=httpx.HTTPTransport(local_address=address), timeout=60) as http:
        asked = {"name": f"tab {number}", "consent": CONSENT.version}
        answer = http.post(f"{url}/api/v1/lend/accounts", json=asked)
        assert answer.status_code == 201, answer.text
    return answer.json(), address


def rss_bytes(pid):
    text = Path(f"/proc/{pid}/status").read_text()
    return 1024 * int(next(line.split()[1] for line in text.splitlines() if "VmRSS" in line))


def cpu_s(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def percentiles(values):
    cuts = statistics.quantiles(values, n=100, method="inclusive")
    return {"p50": round(cuts[49], 4), "p99": round(cuts[98], 4), "max": round(max(values), 4)}


def wait_for(holds, what, patience_s=180):
    end_s = time.monotonic() + patience_s
    while not (found := holds()):
        assert time.monotonic() < end_s, f"waited in vain for {what}"
        time.sleep(0.2)
    return found


def status(url):
    with contextlib.suppress(httpx.TransportError):
        return httpx.get(f"{url}/api/v1/lend", timeout=10).json()["lent"]


def measure(options, folder, redis, processes):
    environment = {
        **os.environ,
        "REDIS_URL": str(redis.address()),
        "ZEROFLEET_RUNS": str(folder / "runs"),
        "ZEROFLEET_SPOOL": str(folder / "spool"),
        "ZEROFLEET_LEND": str(folder / "lend"),
    }
    log = (folder / "log.txt").open("w")

    def start(*arguments):
        command = [ZEROFLEET, *arguments]
        made = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        processes.append(made)
        return made

    sets = [word for each in SETTINGS for word in ("--set", each)]
    trainer = ["trainer", "tictactoe", "--preset", "fast", "--run", RUN, "--no-check"]
    start(*trainer, "--device", "cpu", *sets)
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    gateway = start("dash", "--run", RUN, "--lend", "--port", str(port))
    wait_for(lambda: status(url), "the gateway")
    lenders = [sign_up(url, number) for number in range(options.sockets)]
    print(f"{len(lenders)} accounts", flush=True)
    before_bytes = rss_bytes(gateway.pid)

    async def lend():
        tabs = Tabs(url, time.monotonic() + 60 * options.minutes)
        running = []
        for lender, address in lenders:
            running.append(asyncio.create_task(tabs.lend(lender, address)))
            await asyncio.sleep(0.01)
        while tabs.num_open < len(lenders):
            await asyncio.sleep(0.1)
        tabs.connected_bytes, tabs.connected_cpu_s = rss_bytes(gateway.pid), cpu_s(gateway.pid)
        connected_s = time.monotonic()
        while time.monotonic() < tabs.end_s:
            await asyncio.sleep(SAMPLE_S)
            row = (
                round(time.monotonic() - connected_s),
                len(tabs.accepted),
                rss_bytes(gateway.pid),
            )
            tabs.memory.append(row)
            print(f"{tabs.num_open} open, {row[1]} games, {row[2] >> 20} MiB", flush=True)
        tabs.gateway_cores = (cpu_s(gateway.pid) - tabs.connected_cpu_s) / (
            time.monotonic() - connected_s
        )
        await asyncio.gather(*running)
        return tabs

    tabs = asyncio.run(lend())
    wanted = set(tabs.accepted)
    missing = wanted
    end_s = time.monotonic() + 120
    while missing and time.monotonic() < end_s:
        in_log = [(each.incarnation, each.sequence) for each in logged(folder / "runs" / RUN)]
        missing = wanted - set(in_log)
        time.sleep(1)
    spread = {
        version: percentiles([each - min(times) for each in tabs.loaded[version]])
        for version, times in list(tabs.seen.items())[1:]  # the first comes with the connection
        if len(tabs.loaded.get(version, [])) >= options.sockets * 0.99
    }
    return {
        "sockets": options.sockets,
        "minutes": options.minutes,
        "games_accepted": len(wanted),
        "accepted_twice": len(tabs.accepted) - len(wanted),
        "lost": len(missing),
        "in_log_twice": len(in_log) - len(set(in_log)),
        "refused": tabs.num_refused,
        "closed": tabs.num_closed,
        "acknowledgement_s": percentiles(tabs.ack_s),
        "gateway_bytes_before": before_bytes,
        "gateway_bytes_connected": tabs.connected_bytes,
        "bytes_per_socket": round((tabs.connected_bytes - before_bytes) / options.sockets),
        "gateway_bytes_at_end": rss_bytes(gateway.pid),
        "gateway_seconds_games_bytes": tabs.memory,
        "gateway_cores": round(tabs.gateway_cores, 3),
        "weights_to_all_s": spread,
        "load_average": os.getloadavg(),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sockets", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=10)
    options = parser.parse_args()
    processes = []
    with tempfile.TemporaryDirectory() as name, RedisServer(Path(name)) as redis:
        try:
            found = measure(options, Path(name), redis, processes)
        except BaseException:
            print((Path(name) / "log.txt").read_text()[-4000:])
            raise
        finally:
            for each in reversed(processes):
                each.terminate()
                each.wait(60)
    print(json.dumps(found, indent=1))
    arguments = f"--sockets {options.sockets} --minutes {options.minutes:g}"
    recording.record("lend", f"bench/lend/sockets.py {arguments}", found)


if __name__ == "__main__":
    main()
