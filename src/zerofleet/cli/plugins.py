"""The option --plugin of verbs that train or use networks."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated

import typer

from zerofleet import plugins

PluginFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--plugin",
        metavar="FILE.py",
        help="A Python file that registers a custom network or loss term; may be repeated.",
    ),
]


def with_plugins(verb: Callable[..., None]) -> Callable[..., None]:
    """Adds --plugin to a verb; its files run first."""

    @wraps(verb)
    def run(*, plugin: list[Path] | None = None, **arguments: object) -> None:
        for path in plugin or []:
            plugins.load(path)
        verb(**arguments)

    signature = inspect.signature(verb)
    option = inspect.Parameter(
        "plugin", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=PluginFiles
    )
    run.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), option]
    )
    run.__annotations__ = {**verb.__annotations__, "plugin": PluginFiles}
    return run
