"""zerofleet export"""

from pathlib import Path
from typing import Annotated

import typer

from zerofleet.cli.arguments import refuse_unwritable
from zerofleet.printing import say
from zerofleet.weights import refusing_older_weights


def export(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run; see zerofleet runs list.")],
    path: Annotated[Path, typer.Argument(metavar="FILE", help="The ONNX file to write.")],
    step: Annotated[
        int | None, typer.Option(help="Training step of the weights. Default: the newest.")
    ] = None,
) -> None:
    """Export a run's network to ONNX.

    Input: observation bytes. Output: policy logits and outcome probabilities.

    Example: zerofleet export c4 c4.onnx
    """
    refuse_unwritable(path)
    # Imported here: it loads torch.
    from zerofleet.infer.load import load_network
    from zerofleet.nets import export_onnx

    with refusing_older_weights():
        network, version = load_network(run, step)
    export_onnx(network, path)
    say(f"{path}: weights {version} of {run}, {path.stat().st_size:,} bytes")
