"""What a stranger may send to any port, and what it costs the role that listens there."""

import re
import socket
from contextlib import suppress
from pathlib import Path

MAX_GROWTH_BYTES = 64 << 20
"""Of the memory of a role, under all requests of all strangers."""

REQUESTS = {
    "nothing": b"",
    "rubbish": bytes(range(256)) * 64,
    "half a request": b"GET /healthz HTTP/1.1\r\nHost: x",
    "an endless line": b"GET /" + b"a" * (8 << 20),
    "endless headers": b"GET /metrics HTTP/1.1\r\n" + b"X: y\r\n" * 500_000,
    "another protocol": b"*1\r\n$1000000000\r\n",
    "a method": b"DELETE /metrics HTTP/1.1\r\n\r\n",
    "a path": b"GET /../../etc/passwd HTTP/1.1\r\n\r\n",
}


def sent_to(address, request):
    """A connection that has sent as much of a request as the other side takes."""
    connection = socket.create_connection(address, timeout=1)
    with suppress(OSError):
        connection.sendall(request)
    return connection


def memory_of(role):
    text = Path(f"/proc/{role.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", text).group(1)) << 10
