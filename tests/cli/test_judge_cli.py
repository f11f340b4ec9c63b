"""zerofleet judge, as its users see it."""

import re

import pytest
from outside_tools import needs_gnubg

from zerofleet.cli import main


@needs_gnubg
def test_judge_gives_the_error_and_the_worst_decisions(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exited:
        main(["judge", "random", "--decisions", "20", "--plies", "0", "--worst", "2"])
    assert exited.value.code == 0
    error, scale, sample, header, *worst = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"random: error per decision [\d.]+ \(95 % interval .* to .*\)", error)
    assert scale == "500 * mean equity loss; judge: GnuBG 0-ply"
    assert re.fullmatch(r"20 decisions of \d+ self-play games, seed 1", sample)
    assert header.split() == ["lost", "played", "better", "position"]
    losses = [float(row.split()[0]) for row in worst]
    assert len(losses) == 2
    assert losses[0] >= losses[1] > 0
