"""A bus that fails on demand, and a trainer that only logs."""

import pytest
from troubled_bus import LoggingTrainer, TroubledBus


@pytest.fixture
def bus():
    return TroubledBus()


@pytest.fixture
def trainer(bus):
    return LoggingTrainer(bus)
