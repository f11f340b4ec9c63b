"""A client of the dashboard's server."""

import time
from collections.abc import Callable
from typing import Any

import httpx

Post = Callable[..., Any]
"""Posts a JSON body and returns the answer."""


def wait_until_up(client: httpx.Client) -> None:
    end_s = time.monotonic() + 10
    while True:
        try:
            client.get("/games")
            return
        except httpx.TransportError:
            assert time.monotonic() < end_s, "the server does not answer"
            time.sleep(0.05)
