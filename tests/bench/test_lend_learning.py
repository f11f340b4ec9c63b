"""bench/lend/learning.py: a run learns by the games of real tabs alone."""

from pathlib import Path

import pytest
from browser import needs_browser
from command_line import ran_script
from redis_server import needs_redis

SCRIPT = Path(__file__).parents[2] / "bench" / "lend" / "learning.py"

pytestmark = [needs_browser, needs_redis, pytest.mark.long]


def test_a_run_that_only_tabs_feed_beats_its_own_start() -> None:
    few = ("--games", "500", "--rounds", "1", "--match-games", "80")
    said = ran_script(SCRIPT, *few, "--only-tabs", "--no-record")
    assert said.returncode == 0, said.stdout + said.stderr
    assert '"tabs alone improve": true' in said.stdout
    assert '"each game once": true' in said.stdout
