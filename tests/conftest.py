"""Shared by all Python tests."""

import os
import signal
from collections.abc import Iterator

import pytest
import torch
from hypothesis import settings

# The same examples each time and no deadline: a test fails for what the code does, not for load.
settings.register_profile("zerofleet", derandomize=True, deadline=None)
settings.load_profile("zerofleet")

# A shell starts background jobs with Ctrl-C ignored, and what is ignored stays so in new processes.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def cache_of_this_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Games in C++ are compiled once for all tests, and not into the user's cache."""
    base = tmp_path_factory.getbasetemp()
    # The workers of pytest -n have their own folders below that of the session.
    session = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ZEROFLEET_CACHE", str(session / "cache"))
        yield


@pytest.fixture
def exact_matmul() -> Iterator[None]:
    """float32 matmuls are exact, not TF32, unless a test asks for it."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    yield
    torch.set_float32_matmul_precision(before)
