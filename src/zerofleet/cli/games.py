"""zerofleet games"""

from zerofleet.cli.output import print_table
from zerofleet.games import OptionSpec, get, names, option_specs


def games() -> None:
    """List the games and their options.

    Example: zerofleet games
    """
    rows = []
    for name in names():
        game = get(name)
        options = [option_text(spec) for spec in option_specs(name)]
        features = [*["dice"] * (game.num_chance_outcomes > 0), *["hidden cards"] * game.hidden]
        rows.append(
            (
                name,
                str(game.num_actions),
                str(game.max_plies),
                ", ".join(features),
                ", ".join(options),
            )
        )
    header = ("game", "actions", "max plies", "features", "options (allowed values)")
    print_table(header, rows, numbers=("actions", "max plies"))


def option_text(spec: OptionSpec) -> str:
    """An option with its default, and its allowed values if there is a choice."""
    choice = f" ({spec.allowed_text})" if len(spec.allowed) > 1 else ""
    return f"{spec.name}={spec.value}{choice}"
