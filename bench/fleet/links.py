"""A host of its own for a worker: a network namespace that reaches a Redis through a slow link.

    with Link(address, delay_s=0.02) as link:
        subprocess.Popen([*link.prefix, "program", link.host, str(link.port)])

The kernel here has no netem, so a relay in user space delays every byte, each way. Where nothing
is delayed Redis itself listens there. `tc tbf` bounds the bandwidth, each way. Needs root.
"""

import asyncio
import os
import subprocess
import threading
import time
from contextlib import closing, suppress

OWN = os.getpid() % 2**14
"""So that several benchmarks at once have links of their own."""
NAMESPACE, NEAR, FAR = f"zf-bench-{OWN}", f"zf-near-{OWN}", f"zf-far-{OWN}"
NEAR_ADDRESS, FAR_ADDRESS = (f"10.199.{OWN >> 6}.{(OWN & 63) * 4 + end}" for end in (1, 2))
CHUNK_BYTES = 1 << 16
MAX_QUEUED = 256
"""Chunks in flight in each direction, so that a relay never fills memory."""


class Link:
    """A namespace with a way to a Redis on this machine's loopback, as long as it is open."""

    def __init__(self, address, delay_s=0.0, rate=None):
        self._redis = address
        self._delay_s = delay_s
        self._rate = rate
        self.host = NEAR_ADDRESS
        self.port = None
        self.prefix = ["ip", "netns", "exec", NAMESPACE]

    def __enter__(self):
        ip("netns", "add", NAMESPACE)
        ip("link", "add", NEAR, "type", "veth", "peer", "name", FAR, "netns", NAMESPACE)
        ip("addr", "add", f"{NEAR_ADDRESS}/30", "dev", NEAR)
        ip("link", "set", NEAR, "up")
        ip("-n", NAMESPACE, "addr", "add", f"{FAR_ADDRESS}/30", "dev", FAR)
        for device in ("lo", FAR):
            ip("-n", NAMESPACE, "link", "set", device, "up")
        if self._rate:
            shape = ["root", "tbf", "rate", self._rate, "burst", "64kbit", "latency", "400ms"]
            run("tc", "qdisc", "add", "dev", NEAR, *shape)
            run("tc", "-n", NAMESPACE, "qdisc", "add", "dev", FAR, *shape)
        if not self._delay_s:
            self.port = self._redis.port
            self._listen("127.0.0.1", NEAR_ADDRESS)
            return self
        opened = threading.Event()
        self._thread = threading.Thread(target=asyncio.run, args=[self._serve(opened)], daemon=True)
        self._thread.start()
        opened.wait(10)
        return self

    def __exit__(self, *fault):
        if self._delay_s:
            self._loop.call_soon_threadsafe(self._closing.set)
            self._thread.join(5)
        else:
            self._listen("127.0.0.1")
        ip("netns", "delete", NAMESPACE)  # and the devices with it

    def _listen(self, *addresses):
        """Where Redis takes connections. No other host reaches the link."""
        with closing(self._redis.client()) as client:
            client.config_set("bind", " ".join(addresses))

    async def _serve(self, opened):
        self._loop, self._closing = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._relay, NEAR_ADDRESS, 0)
        self.port = server.sockets[0].getsockname()[1]
        opened.set()
        await self._closing.wait()

    async def _relay(self, reader, writer):
        there, back = await asyncio.open_connection("127.0.0.1", self._redis.port)
        with suppress(asyncio.CancelledError):  # the link is closed
            await asyncio.gather(self._pump(reader, back), self._pump(there, writer))

    async def _pump(self, reader, writer):
        """Passes bytes on, each chunk so much later than it came."""
        queue = asyncio.Queue(MAX_QUEUED)

        async def read():
            while data := await reader.read(CHUNK_BYTES):
                await queue.put((time.monotonic() + self._delay_s, data))
            await queue.put((0.0, b""))

        reading = asyncio.ensure_future(read())
        try:
            while (item := await queue.get())[1]:
                due_s, data = item
                await asyncio.sleep(max(0.0, due_s - time.monotonic()))
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            reading.cancel()
            writer.close()


def ip(*arguments):
    run("ip", *arguments)


def run(*command):
    subprocess.run(command, check=True)
