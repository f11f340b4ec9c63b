"""Third-party programs that some tests need.

Where one is missing its tests are skipped; with ZEROFLEET_REQUIRE_TOOLS=1, as in CI, they run and
fail.
"""

import os
import shutil

import pytest

from zerofleet.arena.gnubg import find_program

needs_gnubg = pytest.mark.skipif(
    find_program() is None and not os.environ.get("ZEROFLEET_REQUIRE_TOOLS"),
    reason="GnuBG is missing; scripts/install-debian-packages gnubg",
)

MONITORING = ("prometheus", "promtool", "prometheus-alertmanager", "amtool", "systemd-analyze")
needs_monitoring = pytest.mark.skipif(
    not all(map(shutil.which, MONITORING)) and not os.environ.get("ZEROFLEET_REQUIRE_TOOLS"),
    reason="Prometheus, Alertmanager or systemd is missing; scripts/install-debian-packages "
    "monitoring",
)
