"""Fleets whose processes end with their test."""

from contextlib import ExitStack

import pytest
from fleet_processes import Fleet
from redis_server import RedisServer


@pytest.fixture
def fleet_of(tmp_path):
    """Makes a fleet with these settings, around a Redis with these options."""
    with ExitStack() as stack:

        def make(*settings, redis=(), **more):
            folder = tmp_path / "redis"
            folder.mkdir()
            server = stack.enter_context(RedisServer(folder, *redis))
            return stack.enter_context(Fleet(tmp_path, server, *settings, **more))

        yield make


@pytest.fixture
def fleet(fleet_of):
    return fleet_of()
