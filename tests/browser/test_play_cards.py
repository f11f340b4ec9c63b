"""What the cards of the page say is what the core counts."""

import re
from pathlib import Path

from zerofleet.games.beastybar import SPECIES

MODEL = Path(__file__).parents[2] / "web" / "src" / "boards" / "beastybar_model.ts"


def test_strength_and_points_of_each_animal_are_those_of_the_core() -> None:
    printed = re.findall(r"^  (\w+): facts\((\d+), (\d+), ", MODEL.read_text(), re.MULTILINE)
    counted = [(name, str(each.strength), str(each.points)) for name, each in SPECIES.items()]
    assert printed == counted
