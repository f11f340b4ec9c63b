"""What a monitor makes of looks at a made-up fleet: rates, totals, and who is in trouble."""

from dataclasses import replace

import pytest
from made_up_fleet import fleet_status, role, troubled_view, usual_roles, usual_view

from zerofleet.fleet.fleet_status import FleetStatus
from zerofleet.fleet.monitor import (
    GONE_S,
    NUM_TREND,
    RATE_WINDOW_S,
    SILENT_S,
    TREND_S,
    FleetMonitor,
    FleetView,
    RoleView,
    by_machine,
)


def by_id(view: FleetView) -> dict[str, RoleView]:
    return {each.entry.id: each for each in view.roles}


def with_heartbeat(status: FleetStatus, role_id: str, age_s: float) -> FleetStatus:
    return replace(status, heartbeats={**status.heartbeats, role_id: age_s})


def test_one_look_knows_totals_but_no_rates() -> None:
    view = FleetMonitor().look(fleet_status(1000, usual_roles(1000)), 1000)
    assert by_id(view)["box-0"].per_s == {}
    assert not by_id(view)["box-0"].trouble
    assert (view.totals["games"].total, view.totals["games"].per_s) == (60_000, None)
    assert view.queue_per_s is None


def test_rates_are_the_growth_between_two_heartbeats() -> None:
    view = usual_view()
    assert by_id(view)["box-1"].per_s["games"] == pytest.approx(12)
    assert view.totals["positions"].per_s == pytest.approx(2500)
    assert view.totals["positions"].per_hour == pytest.approx(2500 * 3600)


def test_a_rate_covers_the_time_between_heartbeats_and_not_between_looks() -> None:
    monitor = FleetMonitor()
    monitor.look(fleet_status(1000, [role("worker", "a", 1000)]), 1000)
    # Its next heartbeat is of second 1002, and is seen late.
    late = fleet_status(1003.5, [role("worker", "a", 1002)])
    view = monitor.look(with_heartbeat(late, "a", 1.9), 1003.5)
    assert by_id(view)["a"].per_s["games"] == pytest.approx(12)


def test_a_heartbeat_that_is_seen_twice_changes_no_rate() -> None:
    monitor = FleetMonitor()
    monitor.look(fleet_status(1000, [role("worker", "a", 1000)]), 1000)
    status = fleet_status(1002, [role("worker", "a", 1002)])
    first = monitor.look(status, 1002)
    again = monitor.look(with_heartbeat(status, "a", 1.4), 1003)
    assert by_id(again)["a"].per_s == by_id(first)["a"].per_s


def test_rates_forget_what_is_long_past() -> None:
    monitor = FleetMonitor()
    for at_s in range(0, 100, 2):
        games = 0.0 if at_s < 100 - 3 * RATE_WINDOW_S else 6000.0  # stands still since then
        view = monitor.look(fleet_status(at_s, [role("worker", "a", at_s, games=games)]), at_s)
    assert by_id(view)["a"].per_s["games"] == 0


def test_a_restarted_role_begins_to_count_anew() -> None:
    monitor = FleetMonitor()
    monitor.look(fleet_status(1000, [role("worker", "a", 1000)]), 1000)
    restarted = replace(role("worker", "a", 1), started=2_000_000.0)
    view = monitor.look(fleet_status(1004, [restarted]), 1004)
    assert by_id(view)["a"].per_s == {}


def test_per_hour_covers_what_was_seen_of_the_last_hour() -> None:
    monitor = FleetMonitor()
    for at_s in range(0, 9000, 60):
        steps = 10.0 * min(at_s, 7200)  # none in the last half hour
        view = monitor.look(fleet_status(at_s, [role("trainer", "t", at_s, steps=steps)]), at_s)
    # Of the hour before second 8,940 there was training in 1,860 seconds.
    assert view.totals["steps"].per_hour == pytest.approx(18_600, rel=0.02)
    assert view.totals["steps"].per_s == 0


def test_a_role_that_left_is_listed_as_gone_for_some_minutes() -> None:
    monitor = FleetMonitor()
    monitor.look(fleet_status(1000, usual_roles(1000)), 1000)
    rest = usual_roles(1060)[:-1]
    view = monitor.look(fleet_status(1060, rest), 1060)
    gone = by_id(view)["box-2"]
    assert (gone.trouble, gone.heartbeat_s, gone.per_s) == ("gone", pytest.approx(60.4), {})
    assert "box-2" not in {each.entry.id for each in view.of_kind("worker")}
    view = monitor.look(fleet_status(1010 + GONE_S, rest), 1010 + GONE_S)
    assert "box-2" not in by_id(view)


def test_a_role_that_returns_is_not_gone() -> None:
    monitor = FleetMonitor()
    for at_s, roles in ((0, usual_roles(1)), (40, []), (50, usual_roles(50))):
        view = monitor.look(fleet_status(at_s, roles), at_s)
    assert not any(each.trouble for each in view.roles)


def test_an_old_heartbeat_is_trouble() -> None:
    status = fleet_status(1000, usual_roles(1000))
    view = FleetMonitor().look(with_heartbeat(status, "judge", SILENT_S), 1000)
    assert {each.entry.id: each.trouble for each in view.roles if each.trouble} == {
        "judge": "silent"
    }


def test_nothing_is_said_of_what_a_silent_role_does_per_second() -> None:
    monitor = FleetMonitor()
    for at_s in (1000, 1004):
        monitor.look(fleet_status(at_s, usual_roles(at_s)), at_s)
    status = fleet_status(1020, usual_roles(1004))
    view = monitor.look(with_heartbeat(status, "trainer", 16.4), 1020)
    assert by_id(view)["trainer"].per_s == {}
    assert view.totals["games"].per_s == 0


def test_a_worker_without_simulations_and_a_trainer_without_steps_stand_still() -> None:
    monitor = FleetMonitor()
    for at_s in (1000, 1004):
        roles = [
            role("worker", "w", at_s, simulations=7),
            role("trainer", "t", at_s, steps=7),
            role("rater", "r", at_s, blocks=7),  # there may be nothing to rate
        ]
        view = monitor.look(fleet_status(at_s, roles), at_s)
    troubles = {each.entry.id: each.trouble for each in view.roles}
    assert troubles == {"w": "stands still", "t": "stands still", "r": ""}


def test_without_its_trainer_a_run_keeps_its_totals_and_has_no_rate() -> None:
    monitor = FleetMonitor()
    for at_s in (1000, 1004):
        monitor.look(fleet_status(at_s, usual_roles(at_s)), at_s)
    view = monitor.look(fleet_status(1040, usual_roles(1040)[1:]), 1040)
    assert view.trainer is not None
    assert view.trainer.is_gone
    assert (view.totals["games"].total, view.totals["games"].per_s) == (60 * 1004, 0)


def test_a_queue_grows_when_it_does_and_its_oldest_game_is_old() -> None:
    assert troubled_view().queue_grows
    assert troubled_view().queue_per_s == pytest.approx(50)
    assert not usual_view().queue_grows


def test_a_trend_has_a_point_every_few_seconds_of_the_last_minutes() -> None:
    monitor = FleetMonitor()
    for at_s in range(3 * round(TREND_S) * NUM_TREND):
        view = monitor.look(fleet_status(at_s, usual_roles(at_s), num_waiting=at_s), at_s)
    queue = view.trends["queue"]
    assert len(queue) == NUM_TREND
    assert queue[-1] - queue[-2] == TREND_S
    assert view.trends["games/s"] == pytest.approx([60] * NUM_TREND)


def test_versions_in_use_are_counted_newest_first() -> None:
    workers = [role("worker", f"w{n}", 9, version=version) for n, version in enumerate((7, 9, 9))]
    view = FleetMonitor().look(fleet_status(9, workers), 9)
    assert view.versions == [(9, 2), (7, 1)]


def test_a_machine_adds_up_its_roles() -> None:
    monitor = FleetMonitor()
    for at_s in (1000, 1004):
        workers = [role("worker", f"box/{n}", at_s, version=7 + n) for n in range(4)]
        view = monitor.look(fleet_status(at_s, [*workers, role("rater", "box", at_s)]), at_s)
    machine, rater = sorted(by_machine(view.roles), key=lambda each: -each.num_roles)
    assert (machine.entry.id, machine.num_roles) == ("host-of-box x4", 4)
    assert machine.per_s["games"] == pytest.approx(48)
    assert machine.entry.counters["version"] == 7
    assert rater.entry.id == "box"
