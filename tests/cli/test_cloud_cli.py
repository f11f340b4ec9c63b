"""zerofleet cloud on the command line."""

import json
from pathlib import Path

import pytest
from command_line import Ran, ran_in

from zerofleet.errors import BadText

UP = ["cloud", "up", "test", "--run", "c4", "--hours", "4", "--notify", "a@example.org"]


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """No credentials, and no service that answers."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")


def test_a_plan_has_its_price_and_needs_no_account(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    written = tmp_path / "stack.json"
    plan = ["cloud", "plan", "test", "--run", "c4", "--hours", "4"]
    shown = Ran(capsys, *plan, "--template", str(written))
    assert shown.status == 0
    assert "total" in shown.output
    assert json.loads(written.read_text())["Resources"]["Budget"]
    found = json.loads(Ran(capsys, *plan, "--json").output)
    parts = sum(line["usd_per_hour"] for line in found["lines"])
    assert found["usd_per_hour"] == pytest.approx(parts, abs=1e-4)
    once = sum(line["usd_once"] for line in found["lines"])
    assert found["total_usd"] == pytest.approx(4 * parts + once, abs=0.01)
    for form in ([], ["--json"]):
        over = Ran(capsys, *plan, "--budget", "2", *form)
        assert over.status == 2
        assert "more than its budget of $2.00" in over.errors


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (UP, "has no budget; name the most that it may cost with --budget"),
        ([*UP, "--budget", "1"], "more than its budget of $1.00"),
        ([*UP, "--budget", "20"], "no credentials"),
        (["cloud", "up", "huge", "--run", "c4"], "no size huge; use one of cluster, single, test"),
        (["cloud", "plan", "test", "--run", "C4"], "zerofleet: run: 'C4' must be up to 30 lower"),
        (["cloud", "plan", "test", "--run", "c4", "--hours", "nan"], "hours: Input should be"),
        (["cloud", "plan", "test", "--run", "c4", "--budget", "inf"], "budget_usd: Input should"),
        (
            ["cloud", "plan", "test", "--run", "c4", "--region", "eu-west-1"],
            "the prices are those of us-east-1, and the plan is in eu-west-1",
        ),
        ([*UP, "--budget", "20", "--game", "conect4"], "unknown game conect4; did you mean"),
        ([*UP, "--budget", "20", "--preset", "fst"], "unknown preset fst; did you mean fast?"),
        (["cloud", "status", "--run", "c4"], "no credentials"),
        (["cloud", "down", "--run", "c4"], "nobody can be asked here; --yes c4 confirms"),
        (["cloud", "down", "--run", "c4", "--yes", "c5"], "--yes c5 is not the run, c4"),
        (["cloud", "cost"], "name the work"),
        (["cloud", "cost", "--steps", "0"], "games must be a number above 0, got 0"),
        (["cloud", "cost", "--games", "nan"], "games must be a number above 0, got nan"),
        (["cloud", "cost", "--games", "5", "--steps", "-1"], "steps must be a number above 0"),
        (["cloud", "cost", "--egress-gb", "-5"], "GB of egress must be a number above 0"),
        (["cloud", "cost", "single", "--gpus", "--steps", "1"], "--gpus compares machines, so"),
        (["cloud", "cost", "--work", "chess/fast", "--steps", "1"], "no rate was measured"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(
    tmp_path: Path, arguments: list[str], fault: str
) -> None:
    ran = ran_in(tmp_path, *arguments)
    assert ran.returncode == 2
    assert fault in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_there_is_no_way_past_the_question_but_naming_the_budget(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from zerofleet.cli.cloud import has_agreed
    from zerofleet.cloud.plan import read_plan
    from zerofleet.cloud.prices import Prices

    plan = read_plan("test", run="c4", budget_usd=20.0)
    priced = plan.priced(Prices.read())
    with pytest.raises(BadText, match="nobody can be asked here"):
        has_agreed(plan, priced, None)
    with pytest.raises(BadText, match="is not the budget"):
        has_agreed(plan, priced, 19.0)
    assert has_agreed(plan, priced, 20.0)
    options = Ran(capsys, "cloud", "up", "--help").output
    assert not [word for word in ("--force", "--auto", "--no-confirm", "-y ") if word in options]


def test_costs_are_compared_and_multiplied_by_runs(capsys: pytest.CaptureFixture[str]) -> None:
    def prices(*arguments: str) -> list[float]:
        found = json.loads(Ran(capsys, "cloud", "cost", "--json", *arguments).output)
        return [row["usd"] for row in found["estimates"]]

    one, ten = prices("--steps", "2000"), prices("--steps", "2000", "--runs", "10")
    assert ten == pytest.approx([10 * each for each in one])
    assert len(prices("--gpus", "--games", "1000")) > 5
    month = Ran(capsys, "cloud", "cost", "--around-the-clock", "--orphaned-gib", "500").output
    assert "$79.20 a month" in month
    assert "500 GiB of orphaned disks: $40.00 a month" in month
