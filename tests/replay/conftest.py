"""Episodes to fill a replay with, from real games."""

import pytest
from played_games import played


@pytest.fixture(scope="session")
def play():
    return played
