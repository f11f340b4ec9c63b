"""zerofleet doctor"""

from typing import Annotated

import typer

from zerofleet.cli.doctor_findings import Finding, hardware, libraries, programs
from zerofleet.cli.output import print_table
from zerofleet.config import RunConfig


def doctor(
    seconds: Annotated[
        float, typer.Option(min=0, help="Length of each measurement; 0 skips them.")
    ] = 1,
) -> None:
    """Show hardware, software and measured speed.

    Also shows what train will use and what is missing. The exit status is 1 if something required
    is missing.

    Example: zerofleet doctor --seconds 0.2
    """
    software = [*programs(), *libraries()]
    can_train = all(each.found for each in software if each.is_needed)
    print_findings("hardware", [*hardware(), *(graphics() if can_train else [])])
    print_findings("software", software)
    if can_train:
        print_values("what train will use", plan())
    if can_train and seconds > 0:
        # Imported here: it loads torch.
        from zerofleet.cli.doctor_measure import measurements

        print_values("measured", measurements(seconds))
    missing = [each for each in software if not each.found]
    for each in missing:
        print(f"missing: {each.what}, for {each.used_for}; {each.fix}")
    if not missing:
        print("nothing is missing")
    raise typer.Exit(0 if can_train else 1)


def graphics() -> list[Finding]:
    """The default device of networks, and what its driver reports."""
    # Imported here: it loads torch.
    from zerofleet.infer.devices import device_text, open_gauges, pick_device

    device = pick_device()
    faults: list[str] = []
    figures = [gauge.read() for gauge in open_gauges([str(device)], faults.append)]
    return [
        Finding("network runs on", device_text(device)),
        *(Finding("GPU now", str(each or "its driver reports no figures")) for each in figures),
        *(Finding("GPU now", fault) for fault in faults),
    ]


def plan() -> dict[str, str]:
    # Imported here: it loads torch.
    from zerofleet.fleet.hardware import plan_threads
    from zerofleet.fleet.machine import fitting_preset, this_machine

    machine = this_machine()
    device = machine.device
    return {
        "preset": f"{fitting_preset(machine)} (unless --preset names another)",
        "device": f"{device} (run.device=auto)",
        "evaluator": f"{'ONNX Runtime' if device == 'cpu' else 'torch'} (run.evaluator=auto)",
        "threads": str(plan_threads(RunConfig(), device)).removeprefix("threads: "),
    }


def print_findings(title: str, findings: list[Finding]) -> None:
    print_values(title, {each.what: each.found or "missing" for each in findings})


def print_values(title: str, values: dict[str, str]) -> None:
    print_table((title, ""), list(values.items()), numbers=())
    print()
