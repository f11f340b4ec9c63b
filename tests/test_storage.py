"""The location of the cache folder."""

from pathlib import Path

import pytest

from zerofleet.storage import cache_folder


def test_the_cache_is_where_the_variable_says_or_in_the_users_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.delenv("ZEROFLEET_CACHE")
    assert cache_folder() == tmp_path / ".cache" / "zerofleet"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert cache_folder() == tmp_path / "x" / "zerofleet"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ZEROFLEET_CACHE", "here")
    assert cache_folder() == tmp_path / "here"
