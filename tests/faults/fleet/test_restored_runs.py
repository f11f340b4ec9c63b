"""Runs whose files are damaged, outdated, moved or recreated: no game counts twice, no version is
used twice, and lost games are reported by number."""

import json
import re
import shutil
from collections import Counter
from contextlib import closing

import pytest
from command_line import ran_in
from fleet_processes import RUN
from redis_server import needs_redis

from zerofleet.bus import Delivery, Sender
from zerofleet.bus.redis import RedisBus

pytestmark = needs_redis


@pytest.fixture
def fleet(fleet_of):
    """Workers play some thousand games ahead, no more."""
    return fleet_of("fleet.play_ahead_rows=20000")


def bus_of(fleet):
    return closing(RedisBus(fleet.server.address(), RUN))


def end(fleet):
    """Workers first."""
    alive = [role for role in fleet.started if role[1].exit_status is None]
    for _, role in sorted(alive, key=lambda role: role[0] == "trainer"):
        role.stop()


def steps_of(fleet):
    """Of its checkpoints."""
    folder = fleet.runs / RUN / "checkpoints"
    return sorted(int(re.sub(r"\D", "", path.stem)) for path in folder.glob("*.json"))


def marks_of(fleet):
    """What each start of the worker may forget, by its incarnation."""
    spools = fleet.spool.glob("*/*/spool.json")
    senders = [Sender("a", int(path.parent.name, 16)) for path in spools]
    with bus_of(fleet) as bus:
        return {sender.incarnation: bus.mark(sender) for sender in senders}


def version_of(fleet):
    with bus_of(fleet) as bus:
        return bus.other_weights(-1).version


def test_a_torn_checkpoint_is_named_and_the_one_before_resumes_without_loss(fleet):
    trainer = fleet.trainer()
    fleet.worker()
    fleet.wait_for(lambda: len(steps_of(fleet)) == 2, "two checkpoints")
    trainer.pause()
    in_flight = fleet.wait_for_flight(20)
    trainer.kill()
    before, torn = steps_of(fleet)
    (path,) = (fleet.runs / RUN / "checkpoints").glob(f"*{torn}.safetensors")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    again = fleet.trainer()
    fleet.wait_for_games()
    print(in_flight, "in flight,", fleet.finish(), "games;", again.output)
    assert re.search(rf"checkpoint 0*{torn} skipped: sha256 differs", again.output)
    assert f"resuming at step {before}" in again.output


@pytest.mark.long
def test_a_log_restored_from_an_older_copy_reports_what_is_lost_and_counts_nothing_twice(
    fleet, tmp_path
):
    trainer = fleet.trainer()
    fleet.worker()
    fleet.wait_for_games()
    trainer.stop()
    older = tmp_path / "older"
    shutil.copytree(fleet.runs, older)
    num_known = len(fleet.logged(older))
    trainer = fleet.trainer()
    fleet.wait_for(lambda: max(marks_of(fleet).values()) > num_known, "marks beyond the copy")
    trainer.kill()
    fleet.wait_for_flight()
    (incarnation,) = marks = marks_of(fleet)
    version = version_of(fleet)
    shutil.rmtree(fleet.runs)
    older.rename(fleet.runs)

    trainer = fleet.trainer()
    fleet.wait_for(lambda: fleet.logged()[num_known:], "games after the restored ones")
    assert min(game.spool_number for game in fleet.logged()[num_known:]) >= marks[incarnation]
    assert version_of(fleet) > version
    fleet.wait_for(lambda: marks_of(fleet)[incarnation] > marks[incarnation], "a higher mark")
    end(fleet)
    lost = marks[incarnation] - num_known
    print(trainer.output)
    assert lost > 0
    assert f"episodes: {lost:,} games of a are lost" in trainer.output
    logged = fleet.logged()
    assert max(Counter(logged).values()) == 1
    assert len(fleet.spooled() - set(logged)) == lost


@pytest.mark.long
def test_an_old_log_and_an_old_bus_do_not_block_a_spool_forever(fleet, tmp_path):
    """Then only the worker knows what is lost."""
    trainer = fleet.trainer()
    worker = fleet.worker()
    fleet.wait_for_games()
    trainer.stop()
    older = tmp_path / "older"
    shutil.copytree(fleet.runs, older)
    num_known = len(fleet.logged(older))
    trainer = fleet.trainer()
    fleet.wait_for(lambda: fleet.counter("a", "confirmed") > num_known, "confirmed games")
    trainer.kill()
    (incarnation,) = marks = marks_of(fleet)
    shutil.rmtree(fleet.runs)
    older.rename(fleet.runs)
    fleet.server.kill()
    fleet.server.start()

    trainer = fleet.trainer()
    fleet.wait_for(lambda: marks_of(fleet)[incarnation] > marks[incarnation], "a higher mark")
    for role in (worker, trainer):
        role.stop()
    print(worker.output, trainer.output)
    counts = re.findall(r"([\d,]+) games of a are lost: its spool", trainer.output)
    lost = sum(int(count.replace(",", "")) for count in counts)
    assert "the trainer lacks games" in worker.output
    assert "wait in the spool" not in worker.output
    logged = fleet.logged()
    assert max(Counter(logged).values()) == 1
    assert len(fleet.spooled() - set(logged)) == lost <= marks[incarnation] - num_known


@pytest.mark.long
def test_a_run_unpacked_without_its_games_takes_no_resent_game_twice(fleet, tmp_path):
    trainer = fleet.trainer()
    worker = fleet.worker()
    fleet.wait_for_games()
    worker.stop()
    trainer.stop()
    logged = fleet.logged()
    for arguments in (
        ["pack", RUN, "packs", "--without-games"],
        ["unpack", f"packs/{RUN}.pack.json"],
    ):
        runs = fleet.runs if "pack" in arguments else tmp_path / "elsewhere"
        ran = ran_in(tmp_path, "runs", *arguments, ZEROFLEET_RUNS=str(runs))
        assert ran.returncode == 0, ran.stderr
    fleet.trainer(runs=tmp_path / "elsewhere")
    with bus_of(fleet) as bus:
        run_id = json.loads(bus.run_facts())["run_id"]
        sent = [
            Delivery(Sender("a", game.incarnation), game.spool_number, episode, run_id)
            for game, episode in fleet.watch.records().items()
        ]
        bus.send_episodes(sent)
        fleet.wait_for(lambda: fleet.counter("trainer", "duplicates") >= len(sent), "duplicates")
    fleet.worker()
    fleet.wait_for(lambda: fleet.logged(tmp_path / "elsewhere"), "new games")
    end(fleet)
    after = fleet.logged(tmp_path / "elsewhere")
    assert set(logged).isdisjoint(after)
    assert set(logged) | set(after) == fleet.spooled()
    assert len(set(after)) == len(after)


def test_a_run_created_again_under_its_name_gets_no_game_of_the_former(fleet, tmp_path):
    trainer = fleet.trainer()
    worker = fleet.worker()
    fleet.wait_for_games()
    trainer.pause()
    fleet.wait_for_flight(20)
    trainer.kill()
    former = fleet.spooled()
    ran = ran_in(tmp_path, "runs", "rm", RUN, "--yes", ZEROFLEET_RUNS=str(fleet.runs))
    assert ran.returncode == 0, ran.stderr
    trainer = fleet.trainer()
    fleet.wait_for(lambda: "created again: starting over" in worker.output, "a new start")
    fleet.wait_for_games()
    worker.stop()
    trainer.stop()
    print(worker.output, trainer.output)
    logged = fleet.logged()
    kept = re.search(r"([\d,]+) are of the former run and stay in (\S+)", worker.output)
    (spool,) = (tmp_path / "spool").glob("*/*/spool.json")
    assert spool.is_relative_to(kept[2])
    former = {game.incarnation for game in former}
    assert former.isdisjoint(game.incarnation for game in logged)
    new = {game for game in fleet.spooled() if game.incarnation not in former}
    assert set(logged) == new
    assert len(set(logged)) == len(logged)
