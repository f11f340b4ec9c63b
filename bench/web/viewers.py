"""People who watch one run: each loads what the run page asks for, then listens.

    .venv/bin/python bench/web/viewers.py PORT RUN NUM_VIEWERS SECONDS

Prints what they got, as JSON. They come within the first seconds, as people do.
"""

import asyncio
import json
import sys

from websockets.asyncio.client import connect

PATHS = (
    "",
    "/ratings",
    "/events",
    "/metrics?kind=train&max_points=400",
    "/metrics?kind=status&max_points=400",
)
COME_S = 5.0
"""All have come after so long."""


async def get(port, path):
    """One request on a connection of its own; returns the bytes of the answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
    head += "Accept-Encoding: gzip\r\nConnection: close\r\n\r\n"
    writer.write(head.encode())
    answer = await reader.read()
    writer.close()
    if not answer.startswith(b"HTTP/1.1 200"):
        sys.exit(f"{path}: {answer[:200]!r}")
    return len(answer)


async def view(port, run, wait_s, until_s, counts):
    await asyncio.sleep(wait_s)
    for path in PATHS:
        counts["num_bytes"] += await get(port, f"/api/v1/runs/{run}{path}")
    origin = {"Origin": f"http://127.0.0.1:{port}"}
    address = f"ws://127.0.0.1:{port}/api/v1/live?run={run}"
    async with connect(address, additional_headers=origin, compression=None) as socket:
        try:
            async with asyncio.timeout_at(until_s):
                async for message in socket:
                    counts["num_messages"] += 1
                    counts["num_bytes"] += len(message)
        except TimeoutError:
            counts["num_stayed"] += 1


async def watch(port, run, num_viewers, seconds):
    counts = {"num_messages": 0, "num_bytes": 0, "num_stayed": 0}
    until_s = asyncio.get_running_loop().time() + seconds
    await asyncio.gather(
        *(
            view(port, run, COME_S * number / num_viewers, until_s, counts)
            for number in range(num_viewers)
        )
    )
    if counts["num_stayed"] != num_viewers:
        sys.exit(f"{num_viewers - counts['num_stayed']} viewers were sent away")
    print(json.dumps(counts))


if __name__ == "__main__":
    asyncio.run(watch(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4])))
