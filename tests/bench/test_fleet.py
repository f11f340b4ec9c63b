"""bench/fleet: the statistics of what is measured by pairs, and a small comparison."""

import importlib.util
import math
from pathlib import Path
from types import ModuleType

import pytest
from command_line import ran_script
from redis_server import needs_redis

FOLDER = Path(__file__).parents[2] / "bench" / "fleet"


@pytest.fixture(scope="module")
def legs() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fleet_legs", FOLDER / "legs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_machine_that_becomes_slower_does_not_widen_the_interval(legs: ModuleType) -> None:
    ratio, interval, ratios = legs.ratio_of_pairs([20.0, 10.0, 5.0], [10.0, 5.0, 2.5])
    assert ratios == [2.0, 2.0, 2.0]
    assert [ratio, *interval] == pytest.approx([2.0, 2.0, 2.0])


def test_the_interval_is_students_over_the_logarithms(legs: ModuleType) -> None:
    # Twice and half as many: no difference. t is 12.706 with one degree of freedom.
    ratio, interval, _ = legs.ratio_of_pairs([2.0, 1.0], [1.0, 2.0])
    half = 12.706 * math.log(2)
    assert ratio == pytest.approx(1.0)
    assert interval == pytest.approx([math.exp(-half), math.exp(half)], rel=1e-2)


class Legs:
    """Figures that a run gives leg by leg."""

    def __init__(self, *other_cores: float) -> None:
        self.left = [{"number": i, "other_cores": each} for i, each in enumerate(other_cores)]

    def leg(self, seconds: float) -> dict[str, float]:
        return self.left.pop(0)


def test_a_leg_beside_busy_programs_is_run_again_and_blocks_are_reversed(legs: ModuleType) -> None:
    shown: list[tuple[str, float]] = []

    def show(name: str, leg: dict[str, float]) -> None:
        shown.append((name, leg["number"]))

    runs = {"a": Legs(0.1, 0.9, 0.1, 0.1), "b": Legs(0.1, 0.1, 0.1)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(legs.time, "monotonic", lambda: float(len(shown)))
        found = legs.alternate(runs, 1.0, 7.0, 0.5, show)
    order = [("a", 0), ("b", 0), ("b", 1), ("a", 1), ("a", 2), ("a", 3), ("b", 2)]
    assert shown == order
    assert [leg["number"] for leg in found["a"]] == [0, 2, 3]
    assert [leg["number"] for leg in found["b"]] == [0, 1, 2]


@needs_redis
@pytest.mark.long
def test_a_fleet_and_the_embedded_loop_run_in_turn() -> None:
    options = ("--presets", "tictactoe/fast", "--minutes", "3", "--seconds", "11", "--no-record")
    options += ("--others", "64")
    said = ran_script(FOLDER / "against_embedded.py", *options)
    assert said.returncode == 0, said.stdout + said.stderr
    *lines, _, row = said.stdout.splitlines()
    assert [line.split()[2] for line in lines[:4]] == ["embedded", "fleet", "fleet", "embedded"]
    assert row.startswith("tictactoe/fast")
