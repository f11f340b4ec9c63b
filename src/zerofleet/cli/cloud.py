"""zerofleet cloud: the stack of a run, from its plan to its end"""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from zerofleet.cli.cloud_cost import AsJson, PriceFile, cost
from zerofleet.cli.fleet_arguments import RunName
from zerofleet.cli.output import print_table
from zerofleet.cloud.plan import DEFAULT_REGION, Plan, PricedPlan, read_plan
from zerofleet.cloud.prices import Prices
from zerofleet.config import load
from zerofleet.errors import BadText, Inconsistent
from zerofleet.games import is_source
from zerofleet.printing import say


def default_text(field: str) -> str:
    """A plan's default, which a file of a size may replace."""
    return f"Default: that of SIZE, else {Plan.model_fields[field].default}."


Size = Annotated[
    str,
    typer.Argument(
        metavar="SIZE",
        help="test (one machine of each role), single (one GPU machine, no cluster), cluster (that "
        "of a published plan), or a YAML file of the same form.",
    ),
]
Game = Annotated[
    str | None,
    typer.Option(metavar="GAME", help=f"Game that is trained. {default_text('game')}"),
]
Preset = Annotated[
    str | None, typer.Option(help=f"Preset of its settings. {default_text('preset')}")
]
Region = Annotated[
    str | None, typer.Option(help=f"Region of the provider. {default_text('region')}")
]
StackRegion = Annotated[str, typer.Option("--region", help="Region of the run's stack.")]
Hours = Annotated[
    float | None,
    typer.Option(
        help=f"After this many hours the machines end by themselves. {default_text('hours')}"
    ),
]
Budget = Annotated[
    float | None,
    typer.Option("--budget", metavar="USD", help="The most that it may cost, in US dollars."),
]
Notify = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Mail address for the budget's alarm.")
]

cloud = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Plan, launch, watch and take down a fleet on AWS.\n\nNothing is launched without a plan "
    "that shows its price, a budget and a question that you answer. Needs zerofleet[cloud] and "
    "credentials of your account.",
)


@cloud.command()
def plan(
    size: Size,
    run: RunName,
    game: Game = None,
    preset: Preset = None,
    region: Region = None,
    hours: Hours = None,
    budget: Budget = None,
    prices: PriceFile = None,
    template: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Also write the CloudFormation template, to read or to deploy."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a size costs, by the hour and in total.

    Asks nobody and needs no credentials.

    Example: zerofleet cloud plan test --run c4 --game connect4 --hours 4 --budget 10
    """
    listed = Prices.read(prices)
    asked = read_trainable(
        size, run=run, game=game, preset=preset, region=region, hours=hours, budget_usd=budget
    )
    priced = asked.priced(listed)
    if template is not None:
        # Imported here and below: they need the extra `cloud`.
        from zerofleet.cloud.checks import faults
        from zerofleet.cloud.stack import template as make_template
        from zerofleet.cloud.stack import to_json

        made = make_template(asked, listed)
        if wrong := faults(made):
            raise Inconsistent(f"the template is not safe: {'; '.join(wrong)}")
        template.write_text(to_json(made))
    if as_json:
        say(
            json.dumps(
                {
                    "run": run,
                    "usd_per_hour": round(priced.usd_per_hour, 4),
                    "hours": asked.hours,
                    "total_usd": priced.total_usd,
                    "budget_usd": asked.budget_usd,
                    "prices_as_of": str(listed.as_of),
                    "lines": [vars(line) for line in priced.lines],
                }
            )
        )
    else:
        print_plan(priced)
        say(listed.age_note())
        if template is not None:
            say(f"template: {template}")
    if asked.budget_usd is not None:
        priced.refuse_over_budget()


def read_trainable(size: str, **given: Any) -> Plan:
    """The plan; a game or preset that the trainer would refuse is refused before it costs."""
    asked = read_plan(size, **given)
    if not is_source(asked.game):  # the file of a custom game is in the image
        load(asked.game, asked.preset)
    return asked


def print_plan(priced: PricedPlan) -> None:
    rows = [
        (
            line.what,
            f"${line.usd_per_hour:,.4f}" if line.usd_per_hour else "",
            f"${line.usd_per_hour * priced.plan.hours + line.usd_once:,.2f}",
            line.note,
        )
        for line in priced.lines
    ]
    hours = f"{priced.plan.hours:g} h"
    total = ("total", f"${priced.usd_per_hour:,.4f}", f"${priced.total_usd:,.2f}", "")
    print_table(("what", "per hour", hours, "note"), [*rows, total], numbers=("per hour", hours))


@cloud.command()
def up(
    size: Size,
    run: RunName,
    game: Game = None,
    preset: Preset = None,
    region: Region = None,
    hours: Hours = None,
    budget: Budget = None,
    notify: Notify = None,
    prices: PriceFile = None,
    yes: Annotated[
        float | None,
        typer.Option(
            "--yes",
            metavar="USD",
            help="For scripts: answers the question by naming the budget again. There is no other "
            "way to skip it.",
        ),
    ] = None,
) -> None:
    """Launch a fleet, after showing its price and asking.

    Checks the budget, the template, the account's quotas and the images first, all free of charge.
    Whatever fails or is interrupted, run the same command again: it finds what is there and
    continues. The machines end after --hours, when the run is done, or when the budget is spent.

    Example: zerofleet cloud up test --run c4 --game connect4 --hours 4 --budget 10 --notify ADDRESS
    """
    from zerofleet.cloud.account import Account, readable_errors
    from zerofleet.cloud.launch import tunnel_command
    from zerofleet.cloud.launch import up as launch
    from zerofleet.infer.sockets import make_key_files

    listed = Prices.read(prices)
    asked = read_trainable(
        size,
        run=run,
        game=game,
        preset=preset,
        region=region,
        hours=hours,
        budget_usd=budget,
        notify=notify,
    )

    def confirm(priced: PricedPlan) -> bool:
        print_plan(priced)
        say(listed.age_note())
        return has_agreed(asked, priced, yes)

    with readable_errors():
        account = Account(asked.region)
        launched = launch(
            asked, listed, account, confirm, make_key_files, lambda text: say(text, flush=True)
        )
    outputs = launched.stack.outputs
    say(
        f"{launched.stack.name} is {'there' if launched.is_new else 'up to date'}; its machines "
        f"end at {outputs['StackEndTime']} UTC"
    )
    say(f"bucket:    {outputs['BucketName']}")
    say(f"watch:     zerofleet cloud status --run {run} --region {asked.region}")
    say(f"dashboard: {tunnel_command(asked.region, 'TRAINER')}")
    say("           (status names the trainer's machine), then open http://127.0.0.1:8080")
    say(f"end:       zerofleet cloud down --run {run} --region {asked.region}")


def has_agreed(plan: Plan, priced: PricedPlan, yes: float | None) -> bool:
    """Asks; without a terminal only the budget itself is an answer."""
    if yes is not None:
        if yes != plan.budget_usd:
            raise BadText(f"--yes {yes:g} is not the budget, ${plan.budget_usd:g}; name that")
        return True
    if not sys.stdin.isatty():
        raise BadText(
            f"this would cost up to ${priced.total_usd:,.2f}, and nobody can be asked here; "
            "--yes USD answers by naming the budget again"
        )
    return typer.confirm(
        f"Spend ${priced.usd_per_hour:,.2f} an hour, ${priced.total_usd:,.2f} in "
        f"{plan.hours:g} h, on run {plan.run} in {plan.region}?"
    )


@cloud.command()
def status(run: RunName, region: StackRegion = DEFAULT_REGION, as_json: AsJson = False) -> None:
    """Show the machines of a run, their end and what they have cost.

    Example: zerofleet cloud status --run c4
    """
    from zerofleet.cloud.account import Account, readable_errors
    from zerofleet.cloud.launch import read_status, tunnel_command

    with readable_errors():
        account = Account(region)
        account.identity()
        found = read_status(account, run)
    if found is None:
        raise BadText(f"there is no stack of run {run} in {region}")
    if as_json:
        say(
            json.dumps(
                {
                    "stack": found.stack.name,
                    "status": found.stack.status,
                    "groups": [vars(group) for group in found.groups],
                    "hours": round(found.hours, 3),
                    "spent_usd": round(found.spent_usd, 2),
                    "outputs": dict(found.stack.outputs),
                }
            )
        )
        return
    say(f"{found.stack.name}: {found.stack.status}")
    print_table(
        ("role", "wanted", "running", "type"),
        [(g.role, str(g.wanted), str(g.running), g.machine_type) for g in found.groups],
        numbers=("wanted", "running"),
    )
    outputs = found.stack.outputs
    if outputs:
        say(f"ends at {outputs['StackEndTime']} UTC, or when the run is done")
        say(
            f"so far about ${found.spent_usd:,.2f} in {found.hours:.1f} h, of a budget of "
            f"${float(outputs['StackBudgetUsd']):,.2f}"
        )
    if found.dashboard_machine:
        say(f"dashboard: {tunnel_command(region, found.dashboard_machine)}")
        say("           then open http://127.0.0.1:8080")


@cloud.command()
def down(
    run: RunName,
    region: StackRegion = DEFAULT_REGION,
    prices: PriceFile = None,
    delete_bucket: Annotated[
        bool,
        typer.Option(
            "--delete-bucket",
            help="Also delete the run's bucket, with its checkpoints and games. Fetch them first: "
            "zerofleet runs pull.",
        ),
    ] = False,
    yes: Annotated[
        str | None,
        typer.Option("--yes", metavar="NAME", help="For scripts: confirms by naming the run."),
    ] = None,
) -> None:
    """Take a run down and check that nothing is left that costs.

    Machines drain first. The bucket with checkpoints and games stays unless --delete-bucket is
    given, and is named with its price. Exit status 1 if something that costs is left; it is named.

    Example: zerofleet cloud down --run c4
    """
    from zerofleet.cloud.account import Account, readable_errors
    from zerofleet.cloud.teardown import delete_bucket as erase_bucket
    from zerofleet.cloud.teardown import down as take_down

    if yes is not None and yes != run:
        raise BadText(f"--yes {yes} is not the run, {run}; name that")
    if yes is None:
        if not sys.stdin.isatty():
            raise BadText(f"nobody can be asked here; --yes {run} confirms")
        bucket = "DELETE its bucket with all checkpoints and games?" if delete_bucket else ""
        typer.confirm(
            f"Take down run {run} in {region}? {bucket or 'Its bucket stays.'}", abort=True
        )
    with readable_errors():
        account = Account(region)
        account.identity()
        found = take_down(account, run, Prices.read(prices), lambda text: say(text, flush=True))
    say(f"the stack of run {run} is {'gone' if found.was_there else 'not there'}")
    for kept in found.kept:
        if delete_bucket:
            with readable_errors():
                erase_bucket(account, kept.identity)
            say(f"deleted: bucket {kept.identity} ({kept.note})")
        else:
            command = f"zerofleet cloud down --run {run} --region {region} --delete-bucket"
            say(f"kept: {kept}; to delete it: {command}")
    if not found.left:
        say("nothing else of this run is left that costs")
        return
    for left in found.left:
        say(f"LEFT: {left}", file=sys.stderr)
    monthly = sum(left.usd_per_month for left in found.left)
    say(
        f"what is left costs ${monthly:,.2f} a month; run down again, or delete it in the "
        "provider's console",
        file=sys.stderr,
    )
    raise typer.Exit(1)


cloud.command()(cost)
