"""Shows functions that have the name of their module, such as zf.games.check, in the API reference.

In Python such a function hides its module; Griffe, which reads sources, keeps the module instead.
Loaded by mkdocs.yml.
"""

from typing import Any

import griffe


class Exports(griffe.Extension):
    """Puts what `__all__` names in the place of the modules of the same names."""

    def on_package(self, *, pkg: griffe.Module, loader: griffe.GriffeLoader, **_: Any) -> None:
        # Resolve paths through the modules before functions replace them.
        loader.resolve_aliases(implicit=True, external=False)
        found = [
            (room, str(name), loader.modules_collection.get_member(room.imports[str(name)]))
            for room in [pkg, *pkg.modules.values()]
            for name in room.exports or []
            if is_hidden(room, str(name))
        ]
        for room, name, exported in found:
            room.set_member(name, griffe.Alias(name, exported, parent=room))


def is_hidden(room: griffe.Module, name: str) -> bool:
    """Whether a room has a module of the name of what it imports from elsewhere."""
    member = room.members.get(name)
    return isinstance(member, griffe.Module) and room.imports.get(name, member.path) != member.path
