"""Prices and estimates: published figures from their own prices, and a measured run."""

import datetime
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from cloud_accounts import plan_of

from zerofleet.cli.cloud_cost import plan_in
from zerofleet.cloud.cost import (
    STARTUP_HOURS,
    Rates,
    Work,
    around_the_clock_usd,
    compare_gpus,
    cost_of_hours,
    egress_usd,
    estimate,
    orphaned_disks_usd_per_month,
)
from zerofleet.cloud.plan import Plan
from zerofleet.cloud.prices import HOURS_PER_MONTH, Prices
from zerofleet.errors import BadText, Inconsistent, Unsupported

PROJECT = Path(__file__).parents[2]
PUBLISHED = yaml.safe_load((PROJECT / "tests" / "oracles" / "published_plans.yaml").read_text())
CLUSTER = PUBLISHED["beastybar_cluster"]
LAPTOP = PUBLISHED["gomoku_laptop_and_rented_gpu"]
TODAY = Prices.read()


def published_prices() -> Prices:
    """The plan's own prices, in the form of a price file."""
    hourly = CLUSTER["hourly_usd"]
    machines = [hourly[role] for role in ("selfplay", "inference", "training")]
    monthly = LAPTOP["monthly_usd"]
    return Prices.model_validate(
        {
            "as_of": datetime.date(2025, 1, 1),
            "region": "us-east-1",
            "instances": {each["instance"]: {"usd_per_hour": each["each"]} for each in machines},
            "caches": {hourly["redis"]["instance"]: hourly["redis"]["each"]},
            "hosted": {
                "redis": {"usd_per_hour": monthly["redis"] / HOURS_PER_MONTH},
                "gpu": {"usd_per_hour": 0.10},
            },
            "other": {
                "storage_usd_per_hour": hourly["s3"],
                "metrics_usd_per_hour": hourly["cloudwatch"],
            },
        }
    )


def published_plan() -> Plan:
    hourly = CLUSTER["hourly_usd"]

    def machines(role: str) -> dict[str, Any]:
        listed = hourly[role]
        return {"type": listed["instance"], "count": listed["count"], "interruptible": False}

    return Plan.model_validate(
        {
            "run": "published",
            "selfplay": machines("selfplay"),
            "inference": machines("inference"),
            "trainer": machines("training"),
            "redis": {"type": hourly["redis"]["instance"]},
        }
    )


def test_the_published_price_per_hour_comes_out_of_its_parts() -> None:
    hourly = published_plan().priced(published_prices()).usd_per_hour
    assert round(hourly, 2) == CLUSTER["hourly_usd"]["total"] == 164.16


@pytest.mark.parametrize("scenario", CLUSTER["scenarios_usd"], ids=lambda each: str(each["what"]))
def test_the_published_scenarios_come_out_of_hours_and_price(scenario: dict[str, Any]) -> None:
    """$82-123, $164-328, $820-1,312: the plan rounds its price to whole dollars first."""
    for hours, usd in zip(scenario["hours"], scenario["usd"], strict=True):
        ours = cost_of_hours(published_plan(), published_prices(), hours)
        assert abs(ours - usd) <= 0.16 * hours + 0.5
        assert ours == pytest.approx(usd, rel=0.002)


def test_the_published_month_with_a_laptop_as_worker_comes_out() -> None:
    monthly = around_the_clock_usd(published_prices(), "redis", "gpu")
    assert round(monthly) == LAPTOP["monthly_usd"]["total"] == 79
    assert round(around_the_clock_usd(TODAY, "redis", "gpu"), 2) == 79.2


@pytest.mark.parametrize("gpu", LAPTOP["gpus"], ids=lambda gpu: str(gpu["name"]))
def test_the_published_prices_of_gpus_come_out_of_days_and_price(gpu: dict[str, Any]) -> None:
    prices = published_prices().model_copy(
        update={
            "instances": {
                "x": TODAY.instance("g5.xlarge").model_copy(update={"usd_per_hour": gpu["usd"]})
            },
            "other": TODAY.other.model_copy(update=dict.fromkeys(vars(TODAY.other), 0.0)),
        }
    )
    plan = Plan.model_validate({"run": "x", "trainer": {"type": "x"}})
    assert cost_of_hours(plan, prices, 24 * gpu["days"]) == pytest.approx(gpu["total"], rel=0.021)


def test_the_same_cluster_costs_what_the_price_file_says_today() -> None:
    plan = plan_of(
        "cluster", selfplay={"type": "c7i.metal-48xl", "count": 4, "interruptible": False}
    )
    machines = 4 * 8.568 + 2 * 16.288 + 55.04 + 0.6992
    hourly = plan.priced(TODAY).usd_per_hour
    assert machines < hourly < machines + 0.5


# ---- estimates


def test_the_estimate_for_one_h200_agrees_with_the_run_that_was_measured() -> None:
    measured = json.loads(
        (PROJECT / "bench" / "results" / "published-run-20261118-0848.json").read_text()
    )
    eighth = TODAY.instance("p5en.48xlarge").model_copy(update={"gpus": 1, "vcpus": 16})
    prices = TODAY.model_copy(update={"instances": {"one": eighth}})
    plan = Plan.model_validate({"run": "x", "trainer": {"type": "one"}})
    rate = Rates.read().rate("beastybar/published_run")
    work = Work.of(rate, steps=measured["steps"])
    assert work.games == pytest.approx(measured["games"], rel=1e-3)
    found = estimate(plan, prices, rate, work)
    assert found.work_hours * 3600 == pytest.approx(measured["wall_s"], rel=0.1)
    assert found.basis == "measured"


def test_twice_the_machines_of_the_bottleneck_take_half_the_time() -> None:
    rate = Rates.read().rate("beastybar/published_run")
    work = Work.of(rate, steps=2000)
    one = estimate(plan_of("test"), TODAY, rate, work)
    assert one.bottleneck == "inference"
    two = estimate(
        plan_of("test", inference={"type": "g4dn.xlarge", "count": 2}), TODAY, rate, work
    )
    assert two.inference_hours == pytest.approx(one.inference_hours / 2)
    assert two.training_hours == one.training_hours


def test_rates_of_cores_count_workers_and_trainer() -> None:
    rate = Rates.read().rate("connect4/fast")
    found = estimate(plan_of("test"), TODAY, rate, Work.of(rate, games=1e6))
    playing = 2 + 4  # vCPUs of the worker and of the trainer
    assert found.search_hours == pytest.approx(1e6 / (rate.games_per_s * playing) / 3600)
    assert found.basis == "none"  # no GPU's speed is among the figures


def test_gpus_are_compared_by_the_price_of_the_same_work() -> None:
    rate = Rates.read().rate("beastybar/published_run")
    offers = compare_gpus(TODAY, rate, Work.of(rate, games=1e5))
    prices = [offer.estimate.usd for offer in offers]
    assert prices == sorted(prices)
    by_type = {offer.type: offer.estimate for offer in offers}
    ratio = by_type["g4dn.xlarge"].work_hours / by_type["g6.xlarge"].work_hours
    assert ratio == pytest.approx(TODAY.gpu("L4").speed / TODAY.gpu("T4").speed)
    assert by_type["p5en.48xlarge"].basis == "measured"
    assert by_type["p5.48xlarge"].basis == "stated"
    assert all(offer.estimate.hours > STARTUP_HOURS for offer in offers)


def test_prices_of_another_region_are_no_prices_of_a_plan(tmp_path: Path) -> None:
    with pytest.raises(Inconsistent, match="prices are those of us-east-1"):
        plan_of("test", region="eu-west-1").priced(TODAY)
    abroad = TODAY.model_copy(update={"region": "eu-west-1"})
    rate = Rates.read().rate("beastybar/published_run")
    assert compare_gpus(abroad, rate, Work.of(rate, games=1e5))
    assert estimate(plan_in("test", abroad), abroad, rate, Work.of(rate, games=1e5)).usd > 0
    own = tmp_path / "own.yaml"
    own.write_text("region: us-east-1\n" + SIZE.read_text())
    with pytest.raises(Inconsistent, match="prices are those of eu-west-1"):
        estimate(plan_in(str(own), abroad), abroad, rate, Work.of(rate, games=1e5))


def test_egress_and_orphaned_disks_are_priced() -> None:
    assert egress_usd(TODAY, 100) == 0
    assert egress_usd(TODAY, 1100) == pytest.approx(90)
    assert orphaned_disks_usd_per_month(TODAY, 500) == pytest.approx(40)


# ---- the file


def test_prices_can_be_edited_and_what_is_missing_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "as_of: 2026-11-01\nregion: us-east-1\n"
        "instances:\n  g4dn.xlarge: {usd_per_hour: 1, gpus: 1}\n"
    )
    prices = Prices.read(path)
    assert plan_of("single", trainer={"type": "g4dn.xlarge"}).priced(prices).usd_per_hour == 1
    with pytest.raises(Unsupported, match=r"no machine type g6e\.xlarge; add it to a copy"):
        plan_of("single").priced(prices)
    path.write_text(path.read_text().replace("usd_per_hour", "usd_per_our"))
    with pytest.raises(BadText, match=r"mine.yaml: instances.g4dn.xlarge"):
        Prices.read(path)


def test_old_prices_say_how_old_they_are() -> None:
    assert "days old" not in TODAY.age_note(TODAY.as_of + datetime.timedelta(days=90))
    assert "91 days old" in TODAY.age_note(TODAY.as_of + datetime.timedelta(days=91))


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"run": "C4"}, "lower-case"),
        ({"trainer": {"type": "g6e.xlarge", "count": 2}}, "a run has one trainer"),
        ({"redis": None}, "need redis"),
        ({"notify": "nobody"}, "not a mail address"),
        ({"hours": 0}, "hours"),
        ({"colour": "red"}, "colour"),
        ({"storage_gb": float("inf")}, "storage_gb"),
    ],
)
def test_a_plan_that_cannot_work_is_refused(given: dict[str, Any], fault: str) -> None:
    size = {"run": "c4", **yaml.safe_load(SIZE.read_text()), **given}
    with pytest.raises(ValueError, match=fault):
        Plan.model_validate(size)


SIZE = PROJECT / "src" / "zerofleet" / "cloud" / "sizes" / "test.yaml"


# ---- the page


def test_the_prices_on_the_page_are_those_of_the_price_file() -> None:
    page = (PROJECT / "docs" / "14-cloud.md").read_text()
    per_hour = dict(re.findall(r"^\| `(\w+)` \| .* \| \$([\d.]+) \|$", page, re.M)[:3])
    assert set(per_hour) == {"test", "single", "cluster"}
    for size, usd in per_hour.items():
        assert f"{plan_of(size).priced(TODAY).usd_per_hour:.2f}" == usd, size
    four_hours = plan_of("test", hours=4).priced(TODAY)
    assert f"${four_hours.usd_per_hour:.2f} an hour, ${four_hours.total_usd:.2f} for" in page
    rate = Rates.read().rate("beastybar/published_run")
    work = Work.of(rate, steps=2000)
    for size in per_hour:
        found = estimate(plan_of(size), TODAY, rate, work)
        row = re.search(rf"^\| `{size}`[^|]* \| ([\d.]+) \| \$([\d.]+) \|$", page, re.M)
        assert row, size
        assert row.groups() == (f"{found.hours:.2f}", f"{found.usd:.2f}")
