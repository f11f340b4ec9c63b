"""A run that browsers can play for, and somebody who lends to it all the while, shared by the tests
of a module."""

from collections.abc import Iterator

import pytest
from hostile_tab import Honest
from lent_run import LentServer, lent_server
from redis_server import RedisServer


@pytest.fixture(scope="module")
def lent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LentServer]:
    folder = tmp_path_factory.mktemp("lent")
    with RedisServer(folder) as redis, lent_server(folder, redis) as made:
        yield made


@pytest.fixture(scope="module")
def honest(lent: LentServer) -> Iterator[Honest]:
    found = Honest(lent)
    yield found
    found.end()
