"""zerofleet match, rate and gate, as their users see them."""

import base64
import json
from pathlib import Path

import pytest
from command_line import Ran, example_of

from zerofleet.games import Episode, get


@pytest.mark.parametrize("verb", ["match", "rate", "gate"])
def test_the_help_has_an_example_that_runs(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    verb: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    example = example_of(capsys, verb)
    ran = Ran(capsys, *example)
    assert ran.status == 0
    assert all(len(line) <= 80 for line in ran.output.splitlines())


def test_saved_games_can_be_played_again(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "games.jsonl"
    ran = Ran(
        capsys, "match", "connect4", "heuristic", "random", "--games", "6", "--save", str(path)
    )
    assert ran.status == 0
    assert "score   100.0%" in ran.output
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["player0"] for line in lines] == ["heuristic", "random"] * 3
    for line in lines:
        episode = Episode.decode(base64.b64decode(line["episode"]))
        last = episode.positions(get("connect4"))[-1]
        assert last.rewards()[0] == line["reward_player0"]
        assert line["reward_player0"] == (1 if line["player0"] == "heuristic" else -1)


def test_rate_prints_a_ladder_and_draws_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "ratings.png"
    ran = Ran(capsys, "rate", "tictactoe", "heuristic", "--games", "40", "--picture", str(path))
    assert ran.status == 0
    title, header, first, second, *_ = ran.output.splitlines()
    assert title.endswith("Elo, random = 0")
    assert header.split() == ["player", "Elo", "95", "%", "games", "score"]
    assert first.split()[0] == "heuristic"
    assert second.split()[:2] == ["random", "+0"]
    assert path.read_bytes().startswith(b"\x89PNG")


def test_gate_says_its_verdict_by_its_exit_status(capsys: pytest.CaptureFixture[str]) -> None:
    def gate(*arguments: str) -> Ran:
        return Ran(capsys, "gate", *arguments, "--game", "connect4")

    accepted = gate("heuristic", "random")
    assert accepted.status == 0
    assert "elo0 0, elo1 30, alpha 0.05, beta 0.05" in accepted.output
    assert accepted.output.endswith("verdict heuristic is accepted\n")
    assert gate("random", "heuristic").status == 1
    undecided = gate("heuristic", "heuristic", "--max-games", "4")
    assert undecided.status == 3
    assert undecided.output.endswith("verdict heuristic is undecided\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["match", "connect4", "heuristic", "strong"],
            "unknown player 'strong' of connect4; known",
        ),
        (["match", "connect4", "random", "random", "--games", "3"], "games are played in pairs"),
        (["rate", "connect4", "random"], "a rating needs a player besides random"),
        (
            ["gate", "heuristic", "random"],
            "neither player is a run, so the game is unknown; add --game",
        ),
        (["gate", "run:nothing", "random"], "unknown run nothing"),
        (["gate", "run:c4", "random", "--option", "size=9"], "--option needs --game"),
        (
            ["match", "connect4", "random", "random", "--save", "no-folder/games"],
            "no-folder/games cannot be written: no-folder must be a writable folder",
        ),
        (["rate", "connect4", "heuristic", "--picture", "."], ". is a folder; give the name"),
        (["gate", "random", "random", "--game", "connect4", "--elo1", "0"], "elo0 must be below"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_status_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    ran = Ran(capsys, *arguments)
    assert ran.status == 2
    assert ran.errors.startswith(f"zerofleet: {message}")
    assert ran.errors.count("\n") == 1
