"""The API reference has every public name, with a docstring; the site is built from them."""

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import griffe
import pytest
import yaml

import zerofleet as zf

PROJECT = Path(__file__).parent.parent
ROOMS = [name for name in zf.__all__ if hasattr(getattr(zf, name), "__path__")]
ROOMS += ["config", "errors"]  # modules of one file
PAGES = {f"zerofleet.{room}": f"api/{room}.md" for room in ROOMS} | {"zerofleet": "api/index.md"}


@pytest.fixture(scope="module")
def sources() -> griffe.Module:
    """The package as the site reads it."""
    extensions = griffe.load_extensions(str(PROJECT / "scripts" / "griffe_exports.py"))
    loaded = griffe.load("zerofleet", search_paths=[PROJECT / "src"], extensions=extensions)
    assert isinstance(loaded, griffe.Module)
    return loaded


@pytest.mark.parametrize("module", sorted(PAGES))
def test_each_public_name_has_a_docstring(module: str, sources: griffe.Module) -> None:
    names = import_module(module).__all__
    room = sources if module == "zerofleet" else sources[module.partition(".")[2]]
    bare = [name for name in names if not room[name].has_docstring]
    assert bare == []


def test_every_public_room_has_a_page_in_the_site() -> None:
    site = yaml.safe_load((PROJECT / "mkdocs.yml").read_text())
    (reference,) = (part["API reference"] for part in site["nav"] if "API reference" in part)
    listed = {page for entry in reference for page in entry.values()}
    assert listed == set(PAGES.values())
    for module, page in PAGES.items():
        assert f"::: {module}\n" in (PROJECT / "docs" / page).read_text()


@pytest.mark.long
def test_the_built_site_has_an_entry_for_every_public_name(tmp_path: Path) -> None:
    mkdocs = Path(sys.executable).parent / "mkdocs"
    subprocess.run(
        [mkdocs, "build", "-q", "--site-dir", tmp_path],
        cwd=PROJECT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        check=True,
    )
    for module, page in PAGES.items():
        text = (tmp_path / page).with_suffix(".html").read_text()
        rooms = ROOMS if module == "zerofleet" else []  # these have pages of their own
        names = [name for name in import_module(module).__all__ if name not in rooms]
        assert [name for name in names if f'id="{module}.{name}"' not in text] == []
