"""The picture of a made-up fleet at 80 and 160 columns, and what keys change in it."""

import re
from dataclasses import replace

import pytest
from made_up_fleet import fleet_status, role, troubled_view, usual_roles, usual_view
from rich.console import Console

from zerofleet.cli.monitor_controls import ORDERS, Controls, keys_in
from zerofleet.cli.monitor_head import Connection
from zerofleet.cli.monitor_picture import picture
from zerofleet.fleet.monitor import FleetMonitor, FleetView

DEFAULT = Controls()
HERE = Connection("c4", "redis://127.0.0.1:6379")
WIDTHS = pytest.mark.parametrize("width", [80, 160])


def drawn(
    view: FleetView | None,
    width: int = 80,
    height: int | None = 24,
    controls: Controls = DEFAULT,
    connection: Connection = HERE,
) -> list[str]:
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(picture(connection, view, controls, width, height))
    return captured.get().splitlines()


def red_in(view: FleetView) -> str:
    """All that is red."""
    console = Console(width=160, color_system="standard", force_terminal=True)
    drawn = picture(HERE, view, Controls(), 160, 24)
    segments = [each for line in console.render_lines(drawn) for each in line]
    return " ".join(
        each.text.strip()
        for each in segments
        if each.style and each.style.color and each.style.color.name == "red" and each.text.strip()
    )


def row(lines: list[str], start: str) -> str:
    (found,) = (line for line in lines if line.startswith(f"{start} "))
    return found


def rows(lines: list[str]) -> list[str]:
    return [word for line in lines for word in line.split()[:1] if word.startswith("box-")]


@WIDTHS
@pytest.mark.parametrize("view", [usual_view(), usual_view(60), troubled_view()])
def test_a_picture_fills_the_terminal_and_no_more(view: FleetView, width: int) -> None:
    lines = drawn(view, width)
    assert len(lines) == 24
    assert max(map(len, lines)) <= width
    assert lines[-1].startswith("q quit")


@WIDTHS
def test_the_head_tells_of_connection_throughput_queue_weights_and_rating(width: int) -> None:
    lines = drawn(usual_view(), width)
    assert re.match(r" c4  connected to redis://127.0.0.1:6379 .*3.0 MiB of 2.0 GiB", lines[0])
    assert lines[1].startswith("1 trainer  1 rater  3 workers ")
    assert re.search(r"games +60 +216k +60.2k .*95% random \(step 1,200\)", row(lines, "games"))
    assert re.search(
        r"positions +2.5k +9M +2.51M .*workers 25% of the time", row(lines, "positions")
    )
    assert re.search(r"steps +12.5 +45k .*up 17 min on host-of-trainer", row(lines, "steps"))
    assert "loss     1.532" in "\n".join(lines)
    assert "120 games, oldest 0 s, 304.7 KiB" in row(lines, "queue")
    weights = "412, 8 s old, in use 412 x3, 33 published, 27 fetched, 6 kept"
    assert weights in row(lines, "weights")


@WIDTHS
def test_each_role_has_a_row_with_its_kinds_columns(width: int) -> None:
    lines = drawn(usual_view(), width)
    titles = [line for line in lines if " doing" in line]
    assert [line.split()[1] for line in titles] == ["trainer", "rater", "workers"]
    assert [" loss " in line for line in titles] == [True, False, False]
    assert [" sims/s " in line for line in titles] == [False, False, True]
    assert len({line.index(" beat ") for line in titles}) == 1
    assert re.search(r"box-1 .*0.4 s +17 min +12 .*24k +412 +25% .*plays", row(lines, "box-1"))
    assert ("host-of-box-1" in row(lines, "box-1")) == (width == 160)


def test_what_is_gone_or_stands_still_is_red_and_nothing_else() -> None:
    red = red_in(troubled_view())
    assert "1 worker gone" in red
    assert "gone for 4 s: plays" in red
    assert "held: the machine" in red
    assert "4,200 games, grows by 50/s" in red
    assert "box-0" not in red
    assert "trainer" not in red
    assert red_in(usual_view()) == ""


def test_without_colours_the_same_is_said_in_words() -> None:
    text = "\n".join(drawn(troubled_view(), 160, None))
    for words in ("1 worker gone", "gone for 4 s", "grows by 50/s"):
        assert words in text


def test_a_fleet_without_a_trainer_says_so() -> None:
    view = FleetMonitor().look(replace(fleet_status(9, usual_roles(9)[1:]), pace=None), 9)
    lines = drawn(view)
    assert lines[1].startswith("no trainer  1 rater  3 workers")
    assert "none: workers play ahead" in "\n".join(lines)
    assert "no trainer" in red_in(view)


def test_a_run_that_nobody_serves_says_so() -> None:
    status = replace(fleet_status(9, [], 0), weights=None, pace=None)
    text = "\n".join(drawn(FleetMonitor().look(status, 9)))
    assert "no role is registered" in text
    assert "none published yet" in text


@WIDTHS
def test_a_kind_that_the_program_does_not_know_is_shown_with_what_it_counts(width: int) -> None:
    monitor = FleetMonitor()
    for at_s in (1000, 1004):
        known = {"rows": 9000.0 * at_s, "version": 412.0, "latency_ms": 3.5}
        other = role("oracle", "gpu-1", at_s, **known)
        view = monitor.look(fleet_status(at_s, [*usual_roles(at_s), other]), at_s)
    lines = drawn(view, width, None)
    assert re.search(r"beat +up +rows/s +version +latency_ms +doing", row(lines, "1 oracle"))
    assert re.search(r"0.4 s +17 min +9k +412 +3.5 +works", row(lines, "gpu-1"))


def test_60_workers_on_24_lines_are_scrolled() -> None:
    view = usual_view(60)
    first = drawn(view)
    assert rows(first) == [f"box-{number}" for number in range(6)]
    assert first[-2].startswith("1 to 8 of 62; scroll")
    second = drawn(view, controls=Controls(first_row=30))
    assert rows(second)[0] == "box-28"
    assert row(second, "60 workers")
    last = drawn(view, controls=Controls(first_row=1000))
    assert rows(last) == ["box-59"]


@pytest.mark.parametrize("first_row", range(1, 14))
def test_a_scrolled_picture_has_no_line_too_many(first_row: int) -> None:
    lines = drawn(usual_view(12), controls=Controls(first_row=first_row))
    assert len(lines) == 24
    assert lines[-1].startswith("q quit")


def test_scrolling_ends_at_the_last_role() -> None:
    roles = usual_view().roles
    down = after("\x1b[6~" * 9).within(roles)
    assert down.first_row == len(roles) - 1
    assert down.pressed("up").first_row == len(roles) - 2


def test_trouble_that_is_out_of_sight_is_counted() -> None:
    monitor = FleetMonitor()
    monitor.look(fleet_status(1000, usual_roles(1000, 60)), 1000)
    view = monitor.look(fleet_status(1004, usual_roles(1004, 50)), 1004)
    assert "10 hidden in trouble" not in drawn(view)[-2]  # those come first
    assert "10 hidden in trouble" in drawn(view, controls=Controls(is_reversed=True))[-2]


def test_a_picture_that_is_out_of_date_is_grey_below_the_reason() -> None:
    fault = "redis://127.0.0.1:6379 cannot be reached: refused; trying again"
    connection = replace(HERE, fault=fault)
    console = Console(width=80, color_system="standard", force_terminal=True)
    lines = console.render_lines(picture(connection, troubled_view(), Controls(), 80, 24))
    assert "cannot be reached" in "".join(segment.text for segment in lines[0])
    colours = {
        each.style.color.name
        for line in lines[1:-1]
        for each in line
        if each.style and each.style.color
    }
    assert colours == {"bright_black"}
    assert "box-0" in "".join(each.text for line in lines for each in line)


def test_a_wide_terminal_shows_trends() -> None:
    trends = {"games/s": [0.0, 35.0, 70.0], "queue": [0.0, 0.0]}
    view = replace(usual_view(), trends=trends)
    assert re.search(r"games/s +▁▅█ *$", row(drawn(view, 160), "games"))
    assert re.search(r"queue +▁▁ *$", row(drawn(view, 160), "positions"))
    assert "last 5 min" not in "\n".join(drawn(view, 80))


def test_before_the_first_look_there_is_a_connection_line_alone() -> None:
    (line,) = drawn(None)
    assert "connecting to redis://127.0.0.1:6379" in line


def test_a_role_cannot_control_the_terminal_nor_take_two_lines() -> None:
    evil = replace(role("worker", "evil", 9), doing="\x1b[2Jplays\nand\x07more", host="a\nb")
    lines = drawn(FleetMonitor().look(fleet_status(9, [evil]), 9), 160)
    assert len(lines) == 24
    assert "\\x1b[2Jplays and\\x07more" in row(lines, "evil")


# ---- keys


def after(typed: str) -> Controls:
    controls = Controls()
    for key in keys_in(typed):
        controls = controls.pressed(key)
    return controls


@pytest.mark.parametrize(
    ("typed", "keys"),
    [
        ("q", ["q"]),
        ("\x1b[A\x1bOB\x1b[5~\x1b[6~", ["up", "down", "page up", "page down"]),
        ("\x1b", ["escape"]),
        ("/a\x7f\r", ["/", "a", "backspace", "enter"]),
        ("\x1b[1;5Cx", ["x"]),  # a key that the monitor does not know
    ],
)
def test_keys_are_told_apart(typed: str, keys: list[str]) -> None:
    assert keys_in(typed) == keys


@pytest.mark.parametrize("typed", ["q", "\x03", "/abc\x03"])
def test_q_and_ctrl_c_end_it(typed: str) -> None:
    assert after(typed).is_ending


def test_q_is_a_letter_of_a_filter() -> None:
    assert after("/qp").filter == "qp"
    assert not after("/qp").is_ending
    assert after("/qp\rs").order == "id"
    assert after("/qp\x1b").filter == ""


def test_s_cycles_through_all_orders() -> None:
    assert [after("s" * presses).order for presses in range(len(ORDERS) + 1)] == [*ORDERS, "state"]


def test_roles_are_sorted_by_what_is_asked_for() -> None:
    workers = [role("worker", f"box-{n}", 9, version=v) for n, v in ((10, 5), (9, 7), (2, 6))]
    view = FleetMonitor().look(fleet_status(9, workers), 9)
    assert rows(drawn(view)) == ["box-2", "box-9", "box-10"]
    assert rows(drawn(view, controls=after("sr"))) == ["box-10", "box-9", "box-2"]
    assert rows(drawn(view, controls=after("sssss"))) == ["box-10", "box-2", "box-9"]


def test_a_filter_shows_what_matches_it() -> None:
    lines = drawn(troubled_view(), controls=after("/CALL"))
    assert rows(lines) == ["box-1"]
    assert lines[-1].startswith("filter: CALL_")
    assert "/ filter: CALL" in drawn(troubled_view(), controls=after("/CALL\r"))[-1]
    assert "no role matches" in "\n".join(drawn(usual_view(), controls=after("/nobody")))


def test_t_shows_those_in_trouble_alone() -> None:
    assert rows(drawn(troubled_view(), controls=after("t"))) == ["box-1", "box-2"]


def test_m_shows_a_row_per_machine() -> None:
    monitor = FleetMonitor()
    for at_s in (1000, 1004):
        workers = [role("worker", f"box/{n}", at_s) for n in range(8)]
        view = monitor.look(fleet_status(at_s, workers), at_s)
    lines = drawn(view, 160, controls=after("m"))
    assert re.search(r"host-of-box x8 .* 96 +4k +192k +412 +25%", row(lines, "host-of-box"))
    assert row(lines, "8 workers")


def test_help_lists_the_keys_and_fits() -> None:
    lines = drawn(usual_view(), controls=after("?"))
    assert len(lines) == 24
    assert any(line.startswith("q, Ctrl-C") for line in lines)
