"""zerofleet cloud cost"""

import json
from pathlib import Path
from typing import Annotated

import typer

from zerofleet.cli.output import print_table
from zerofleet.cloud.cost import (
    Rates,
    Work,
    around_the_clock_usd,
    compare_gpus,
    egress_usd,
    estimate,
    orphaned_disks_usd_per_month,
)
from zerofleet.cloud.plan import Plan, read_plan, size_names
from zerofleet.cloud.prices import HOURS_PER_MONTH, Prices
from zerofleet.errors import BadText
from zerofleet.printing import say

PriceFile = Annotated[
    Path | None,
    typer.Option("--prices", metavar="FILE", help="Prices, as in zerofleet/cloud/prices.yaml."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def cost(
    sizes: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SIZE]...", help="Sizes to compare. Default: all."),
    ] = None,
    work: Annotated[
        str,
        typer.Option(metavar="GAME/PRESET", help="What is trained; its rates were measured."),
    ] = "beastybar/published_run",
    games: Annotated[float | None, typer.Option(help="Number of games.")] = None,
    steps: Annotated[float | None, typer.Option(help="Number of training steps.")] = None,
    runs: Annotated[int, typer.Option(min=1, help="Number of runs, such as those of a sweep.")] = 1,
    gpus: Annotated[
        bool, typer.Option("--gpus", help="Compare single GPU machines instead.")
    ] = False,
    around_the_clock: Annotated[
        bool,
        typer.Option(
            "--around-the-clock",
            help="A month of a hosted Redis and a hosted GPU, with your laptop as the worker.",
        ),
    ] = False,
    egress_gb: Annotated[
        float | None, typer.Option(help="Price of GB that leave the provider in a month.")
    ] = None,
    orphaned_gib: Annotated[
        float | None, typer.Option(help="Price of GiB of disks that outlive their machines.")
    ] = None,
    prices: PriceFile = None,
    as_json: AsJson = False,
) -> None:
    """Estimate time and money for games or steps.

    From dated prices and from rates that were measured (bench/results). Speeds of GPUs that were
    not measured are stated by their makers and marked so.

    Examples: zerofleet cloud cost --steps 2000; zerofleet cloud cost single --steps 2000 --runs 10;
    zerofleet cloud cost --gpus --games 100000; zerofleet cloud cost --around-the-clock
    """
    listed = Prices.read(prices)
    monthly = {}
    if around_the_clock:
        monthly["Redis and a GPU around the clock, a laptop plays"] = around_the_clock_usd(
            listed, "redis", "gpu"
        )
    if egress_gb is not None:
        monthly[f"egress of {egress_gb:g} GB"] = egress_usd(listed, egress_gb)
    if orphaned_gib is not None:
        monthly[f"{orphaned_gib:g} GiB of orphaned disks"] = orphaned_disks_usd_per_month(
            listed, orphaned_gib
        )
    if gpus and sizes:
        raise BadText(f"--gpus compares machines, so it takes no size; got {', '.join(sizes)}")
    rows = []
    if games is not None or steps is not None or not monthly:
        rate = Rates.read().rate(work)
        wanted = Work.of(rate, games, steps)
        if gpus:
            found = {
                f"{offer.type} ({offer.kind.gpus} {offer.kind.gpu})": offer.estimate
                for offer in compare_gpus(listed, rate, wanted)
            }
        else:
            found = {
                size: estimate(plan_in(size, listed), listed, rate, wanted)
                for size in sizes or size_names()
            }
        rows = [
            {
                "machines": name,
                "hours": each.hours * runs,
                "usd": each.usd * runs,
                "bottleneck": each.bottleneck,
                "speed": each.basis,
            }
            for name, each in found.items()
        ]
    if as_json:
        say(
            json.dumps(
                {"prices_as_of": str(listed.as_of), "estimates": rows, "monthly_usd": monthly}
            )
        )
        return
    if rows:
        times = f" x {runs} runs" if runs > 1 else ""
        say(f"{work}: {wanted.games:,.0f} games, {wanted.steps:,.0f} steps{times}")
        print_table(
            ("machines", "hours", "price", "bottleneck", "GPU speed"),
            [
                (
                    str(row["machines"]),
                    f"{row['hours']:,.2f}",
                    f"${row['usd']:,.2f}",
                    str(row["bottleneck"]),
                    str(row["speed"]),
                )
                for row in rows
            ],
            numbers=("hours", "price"),
        )
    for what, usd in monthly.items():
        say(f"{what}: ${usd:,.2f} a month of {HOURS_PER_MONTH} h")
    say(listed.age_note())


def plan_in(size: str, prices: Prices) -> Plan:
    """A size in the region of the prices; a file's region stays, and may be refused."""
    region = prices.region if size in size_names() else None
    return read_plan(size, run="estimate", region=region)
