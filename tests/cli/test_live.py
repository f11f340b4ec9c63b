"""The table that a terminal shows while a run trains, and the lines that a file gets."""

import re
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from zerofleet import config
from zerofleet.cli.live import LiveScreen
from zerofleet.cli.live_cells import clock_text
from zerofleet.fleet.screen import PlainScreen, short_text
from zerofleet.metrics import Record

COLUMNS = 80
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def status(elapsed_s: float, **values: object) -> Record:
    zeros = dict.fromkeys(
        (
            *("step", "games", "rows", "buffer_rows", "samples", "simulations", "inferences"),
            *("batches", "rows_computed", "device_busy_s", "device_queue_s", "inference_s"),
            *(
                "truncated",
                "search_s",
                "waiting_to_play_s",
                "training_s",
                "intake_s",
                "waiting_to_train_s",
            ),
        ),
        0,
    )
    rest = {
        "kind": "status",
        "loss": None,
        "waiting": "nobody",
        "stall": "",
        "elapsed_s": elapsed_s,
    }
    return {**zeros, **rest, **values}


def rating(opponent: str, score: float, step: int = 1200) -> Record:
    interval = {"low": score - 0.05, "high": score + 0.05}
    return {"kind": "rating", "step": step, "opponent": opponent, "games": 200, "score": score} | (
        interval
    )


def drawn(*records: Record, overrides: tuple[str, ...] = ()) -> list[str]:
    """The lines of the table after these records, on a terminal of 80 columns."""
    console = Console(file=StringIO(), force_terminal=True, width=COLUMNS, color_system=None)
    screen = LiveScreen("c4", config.load("connect4", overrides=overrides), console)
    for record in records:
        screen.write(record)
    screen.close()
    with console.capture() as captured:
        console.print(screen.table())
    return captured.get().splitlines()


def row(lines: list[str], stage: str) -> str:
    return next(line for line in lines if line.strip().startswith(stage))


def below(lines: list[str], stage: str, num_lines: int = 1) -> str:
    return lines[lines.index(row(lines, stage)) + num_lines]


TWO_STATUSES = (
    status(10, games=100, rows=50_000, simulations=1000, step=10),
    status(
        20,
        games=300,
        rows=90_000,
        simulations=51_000,
        samples=12_800,
        inferences=48_000,
        batches=200,
        rows_computed=50_000,
        device_busy_s=9,
        device_queue_s=0.3,
        step=60,
        inference_s=2,
        search_s=4,
        waiting_to_play_s=2,
        training_s=8.5,
        intake_s=0.5,
        waiting_to_train_s=1,
    ),
)
GPU_FIGURES = {
    "gpu_busy": 0.98,
    "gpu_watts": 612.4,
    "gpu_memory_bytes": 20 << 30,
    "gpu_memory_total_bytes": 139 << 30,
}


def test_throughput_and_waiting_are_those_between_the_two_newest_statuses() -> None:
    lines = drawn(status(1), *TWO_STATUSES)
    assert re.search(r"300 games +20\.0 games/s +waits 25% for trainer", row(lines, "self-play"))
    assert re.search(r"5,000 simulations/s +search 50%", below(lines, "self-play"))
    assert re.search(r"4,800 leaves/s +busy 90%, fill 96%", row(lines, "inference"))
    assert below(lines, "inference").strip() == "queue 1.5 ms"
    assert re.search(r"60 steps +5\.0 steps/s +waits 10% for self-play", row(lines, "trainer"))
    assert below(lines, "trainer").strip() == "1,280 samples/s"


def test_utilisation_power_and_memory_of_gpus_are_shown_where_the_driver_reports_them() -> None:
    first, second = TWO_STATUSES
    lines = drawn(first, second | GPU_FIGURES)
    assert re.search(r"queue 1\.5 ms +GPU 98% 612 W", below(lines, "inference"))
    assert below(lines, "inference", 2).strip() == "20 of 139 GiB"
    assert not any("GPU" in line for line in drawn(first, second))


def test_before_min_rows_the_replay_waits_to_be_filled() -> None:
    lines = drawn(status(1, rows=10), overrides=("replay.min_rows=5000",))
    assert row(lines, "replay").rstrip().endswith("waits for 5,000")


def test_the_last_rating_of_each_opponent_is_shown() -> None:
    lines = drawn(
        status(1), rating("random", 0.7, step=600), rating("heuristic", 0.4), rating("random", 0.9)
    )
    assert re.search(
        r"90\.0% against random +85\.0% to 95\.0% +200 games, step 1,200", "".join(lines)
    )
    assert "40.0% against heuristic" in "".join(lines)
    assert "70.0%" not in "".join(lines)


@pytest.mark.parametrize(
    ("limit", "left"),
    [
        ("stop.steps=160", "0:20 left"),  # 100 steps at 5 a second
        ("stop.games=1300", "0:50 left"),  # 1,000 games at 20 a second
        ("stop.rows=130000", "0:10 left"),  # 40,000 rows at 4,000 a second
        ("stop.minutes=2", "1:40 left"),
        ("stop.minutes=null", "Ctrl-C stops it"),
    ],
)
def test_the_time_left_is_that_to_the_limit(limit: str, left: str) -> None:
    heading = drawn(*TWO_STATUSES, overrides=(limit,))[0]
    assert heading.startswith("c4 (connect4)")
    assert heading.rstrip().endswith(f"0:20 elapsed, {left}")


def test_the_policy_loss_is_shown_with_what_it_is_the_sum_of() -> None:
    parts = {"loss/policy": 1.0, "target_entropy": 0.75, "policy_kl": 0.25}
    text = "\n".join(drawn(status(1), {"kind": "train", "step": 1, "loss": 1.5, **parts}))
    assert "policy 1.000  target entropy 0.750  KL to target 0.250" in text


def test_the_table_has_its_width_whatever_the_numbers() -> None:
    huge = status(
        9e5,
        games=10**9,
        rows=10**11,
        simulations=10**13,
        inferences=10**13,
        rows_computed=10**13,
        device_busy_s=9e5,
        step=10**8,
        waiting_to_play_s=1e6,
    )
    names = [f"loss/head{number}" for number in range(9)]
    losses = {"kind": "train", "step": 1, "loss": 123.456, **dict.fromkeys(names, 99.999)}
    opponent = rating("run:a-run-with-a-long-name@120000,sims=800", 0.5, 10**8)
    lines = drawn(status(1), huge, losses, opponent)
    assert max(map(len, lines)) <= COLUMNS


def test_messages_appear_above_the_table_and_later_ones_below() -> None:
    console = Console(file=StringIO(), force_terminal=True, width=COLUMNS, color_system=None)
    screen = LiveScreen("c4", config.load("connect4"), console)
    screen.write(status(1))
    screen.say("a word")
    screen.close()
    screen.say("a last word")
    assert isinstance(console.file, StringIO)
    text = console.file.getvalue()
    assert text.index("a word") < text.rindex("self-play") < text.index("a last word")


def test_durations_are_shown_as_clock_times() -> None:
    assert [clock_text(seconds) for seconds in (0, 61.9, 3723)] == ["0:00", "1:01", "1:02:03"]


def test_a_real_run_fits_a_terminal_of_80_columns(trained: Any) -> None:
    assert "Traceback" not in trained.screen
    lines = [CONTROL.sub("", line).strip("\r") for line in trained.screen.split("\n")]
    end = next(n for n, line in enumerate(lines) if line.startswith("resume with: "))
    # Commands and paths to copy follow; they are as long as they are.
    assert [line for line in lines[:end] if len(line.rpartition("\r")[2]) > COLUMNS] == []
    last_table = lines[max(n for n, line in enumerate(lines) if "stage" in line) :]
    for stage in ("self-play", "replay", "trainer", "rating"):
        assert row(last_table, stage)
    assert re.search(r"\d% against random", "\n".join(last_table))


def printed(capsys: pytest.CaptureFixture[str], *records: Record) -> list[str]:
    """The lines that a file gets."""
    screen = PlainScreen()
    for record in records:
        screen.write(record)
    screen.show_doing("rating")
    return capsys.readouterr().out.splitlines()


def test_off_a_terminal_there_is_a_line_for_each_status_and_rating(
    capsys: pytest.CaptureFixture[str],
) -> None:
    records = (status(90, step=7, loss=1.5), rating("random", 0.9), {"kind": "train"})
    assert printed(capsys, *records) == [
        "1.5 min, step 7, 0 games, 0 rows, loss 1.500, waiting: nobody",
        "rated step 1,200: 90.0% against random (85.0% to 95.0%, 200 games)",
    ]


def test_a_line_has_the_throughput_since_the_last_and_gpu_utilisation(
    capsys: pytest.CaptureFixture[str],
) -> None:
    first, second = TWO_STATUSES
    _, plain = printed(capsys, first, second)
    assert plain == (
        "0.3 min, step 60, 300 games, 90k rows, loss -, 20 games/s, 4.8k inferences/s, "
        "1.28k samples/s, busy 90% fill 96%, search 50% queue 1.5 ms, waiting: nobody"
    )
    _, with_gpu = printed(capsys, first, second | GPU_FIGURES)
    assert with_gpu == plain.replace("waiting", "GPU 98% 612 W 20 of 139 GiB, waiting")


def test_short_numbers_have_three_digits() -> None:
    below_1000 = [short_text(number) for number in (0, 0.254, 87.4, 999.4)]
    assert below_1000 == ["0", "0.254", "87.4", "999"]
    thousands = [short_text(number) for number in (999.7, 4821, 302_000, 999_499)]
    assert thousands == ["1k", "4.82k", "302k", "999k"]
    assert [short_text(number) for number in (999_501, 1_110_000, 2.3e9)] == ["1M", "1.11M", "2.3G"]
