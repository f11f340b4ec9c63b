"""Programs of others that some tests need.

Where one is missing its tests are skipped; with ZEROFLEET_REQUIRE_TOOLS=1, as in CI, they run and
fail.
"""

import os

import pytest

from zerofleet.arena.gnubg import find_program

needs_gnubg = pytest.mark.skipif(
    find_program() is None and not os.environ.get("ZEROFLEET_REQUIRE_TOOLS"),
    reason="GnuBG is missing; scripts/install-debian-packages gnubg",
)
