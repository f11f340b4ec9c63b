"""The keys of the monitor: what each changes in how a fleet is shown.

`Controls` is a value; a key makes another one of it, so that nothing here needs a terminal.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from zerofleet.fleet.monitor import RoleView, by_machine

ESCAPES = {
    "[A": "up",
    "OA": "up",
    "[B": "down",
    "OB": "down",
    "[5~": "page up",
    "[6~": "page down",
    "[H": "home",
    "OH": "home",
    "[1~": "home",
}
KEY = re.compile(r"\x1b(\[[0-9;]*[~A-Za-z]|O[A-Z])|(.)", re.DOTALL)
PLAIN = {"\r": "enter", "\n": "enter", "\x1b": "escape", "\x7f": "backspace", "\b": "backspace"}
PAGE = 10
MAX_FILTER = 40

ORDERS: dict[str, Callable[[RoleView], float]] = {
    "state": lambda role: not role.trouble,
    "id": lambda role: 0.0,
    "rate": lambda role: role.pulse or 0.0,
    "beat": lambda role: -role.heartbeat_s,
    "up": lambda role: role.up_s,
    "version": lambda role: role.entry.counters.get("version", -1.0),
}
"""What `s` cycles through, ties by id: what needs attention comes first."""

HELP = (
    ("q, Ctrl-C", "leave"),
    ("p, space", "pause: keep this picture, or refresh again"),
    ("s", f"sort by {', '.join(ORDERS)}"),
    ("r", "reverse the order"),
    ("/", "filter by id, host, kind or doing; Enter keeps, Escape clears"),
    ("t", "only roles in trouble, or all"),
    ("m", "a row per machine, or per role"),
    ("arrows, page up/down, home", "scroll"),
    ("?, h", "this help"),
)


@dataclass(frozen=True)
class Controls:
    """How a fleet is shown."""

    order: str = "state"
    is_reversed: bool = False
    filter: str = ""
    is_typing: bool = False
    """Whether keys are letters of the filter."""
    only_trouble: bool = False
    per_machine: bool = False
    is_paused: bool = False
    shows_help: bool = False
    first_row: int = 0
    is_ending: bool = False

    def pressed(self, key: str) -> "Controls":
        """After a key, as `keys_in` names it."""
        if key == "\x03":
            return replace(self, is_ending=True)
        if self.is_typing:
            return self._typed(key)
        orders = list(ORDERS)
        match key:
            case "q":
                return replace(self, is_ending=True)
            case "p" | " ":
                return replace(self, is_paused=not self.is_paused)
            case "s":
                following = orders[(orders.index(self.order) + 1) % len(orders)]
                return replace(self, order=following, first_row=0)
            case "r":
                return replace(self, is_reversed=not self.is_reversed, first_row=0)
            case "/":
                return replace(self, is_typing=True, shows_help=False)
            case "t":
                return replace(self, only_trouble=not self.only_trouble, first_row=0)
            case "m":
                return replace(self, per_machine=not self.per_machine, first_row=0)
            case "?" | "h":
                return replace(self, shows_help=not self.shows_help)
            case "escape":
                return replace(self, filter="", shows_help=False, first_row=0)
            case "up" | "down" | "page up" | "page down":
                by = (PAGE if "page" in key else 1) * (-1 if "up" in key else 1)
                return replace(self, first_row=max(0, self.first_row + by))
            case "home":
                return replace(self, first_row=0)
        return self

    def _typed(self, key: str) -> "Controls":
        match key:
            case "enter":
                return replace(self, is_typing=False)
            case "escape":
                return replace(self, is_typing=False, filter="", first_row=0)
            case "backspace":
                return replace(self, filter=self.filter[:-1], first_row=0)
        if len(key) == 1 and key.isprintable() and len(self.filter) < MAX_FILTER:
            return replace(self, filter=self.filter + key, first_row=0)
        return self

    def chosen(self, roles: Sequence[RoleView]) -> list[RoleView]:
        """The roles to show, in order."""
        if self.per_machine:
            roles = by_machine(roles)
        chosen = [
            each
            for each in roles
            if self._matches(each) and (each.trouble or not self.only_trouble)
        ]
        first = ORDERS[self.order]
        return sorted(
            chosen, key=lambda role: (first(role), natural(role.entry.id)), reverse=self.is_reversed
        )

    def within(self, roles: Sequence[RoleView]) -> "Controls":
        """Scrolled no further than to the last of these roles."""
        last = max(0, len(self.chosen(roles)) - 1)
        return replace(self, first_row=min(self.first_row, last))

    def _matches(self, role: RoleView) -> bool:
        entry = role.entry
        texts = (entry.id, entry.host, entry.kind, entry.doing, role.trouble)
        return any(self.filter.lower() in text.lower() for text in texts)


def natural(text: str) -> list[tuple[int, str]]:
    """A key by which box-9 comes before box-10."""
    parts = re.findall(r"(\d{1,18})|(\D+)", text)
    return [(int(digits or 0), letters) for digits, letters in parts]


def keys_in(typed: str) -> list[str]:
    """The keys in what a terminal sent: characters, and names of others."""
    keys = []
    for escape, plain in KEY.findall(typed):
        key = ESCAPES.get(escape, "") if escape else PLAIN.get(plain, plain)
        if key:
            keys.append(key)
    return keys
