"""A trainer that compiles for minutes before its first step."""

from functools import partial

from fleet_spoils import compile_until
from redis_server import needs_redis

pytestmark = needs_redis

MIN_ROWS = 500
MOST_ROWS = 15_000
"""With what a fast worker plays until it learns that it must wait."""


def test_workers_fill_the_replay_buffer_and_wait_while_a_new_trainer_compiles(fleet_of, tmp_path):
    over = tmp_path / "over"
    settings = [f"replay.min_rows={MIN_ROWS}", "replay.samples_per_row=8", "fleet.pace_slack_s=0"]
    fleet = fleet_of(*settings)
    trainer = fleet.trainer(partial(compile_until, over))
    fleet.worker()
    fleet.wait_for(
        lambda: (seen := fleet.roles().get("a")) and seen.doing.startswith("waits for training"),
        "a worker that waits",
    )
    assert MIN_ROWS <= fleet.counter("a", "rows") <= MOST_ROWS
    assert fleet.counter("trainer", "steps") == 0
    assert trainer.exit_status is None
    over.touch()
    fleet.wait_for(lambda: fleet.counter("trainer", "steps") > 0, "training")
    fleet.wait_for_games()
    fleet.finish()
