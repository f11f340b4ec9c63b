"""docs/hosted-gpu.ipynb runs as it stands: as the trainer and as a worker of one fleet.

Only its settings differ, and zerofleet is installed already.
"""

import asyncio
import re
import shutil
from pathlib import Path

import nbformat
import pytest
from command_line import ran_in
from nbclient import NotebookClient
from redis_server import RedisServer, needs_redis
from tiny_runs import TINY_RUN

from zerofleet.bus.acl import RoleIds, acl_users, user_names

NOTEBOOK = Path(__file__).parent.parent / "docs" / "hosted-gpu.ipynb"
PASSWORDS = {name: f"password-of-{name}" for name in user_names("c4", RoleIds(["hosted"]))}
TRAINER, WORKER, VIEWER = PASSWORDS
SETTINGS = [part for each in TINY_RUN for part in ("--set", each)]


async def executed(folder: Path, **values: object) -> str:
    """The output of the notebook in a folder, with these settings instead of its own."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    (cell,) = (each for each in notebook.cells if "parameters" in each.metadata.get("tags", ()))
    for name, value in {"WHEEL": "", "REPORT_S": 1, **values}.items():
        line = f"{name} = {value!r}"
        cell.source, count = re.subn(rf"(?m)^{name} = .*$", line, cell.source)
        assert count == 1, name
    where = {"metadata": {"path": str(folder)}}
    await NotebookClient(notebook, timeout=120, resources=where).async_execute()
    outputs = [each for cell in notebook.cells for each in cell.get("outputs", [])]
    return "".join(each["text"] for each in outputs if each["output_type"] == "stream")


@pytest.mark.long
@needs_redis
def test_the_notebook_for_hosted_gpus_trains_plays_and_packs_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZEROFLEET_SPOOL", str(tmp_path / "spool"))
    monkeypatch.delenv("ZEROFLEET_RUNS", raising=False)
    users = ["user default on nopass ~* &* +@all", *acl_users("c4", RoleIds(["hosted"]), PASSWORDS)]
    (tmp_path / "users.acl").write_text("\n".join(users) + "\n")
    with RedisServer(tmp_path, "--aclfile", str(tmp_path / "users.acl"), tls=True) as server:
        folders = {name: tmp_path / name for name in PASSWORDS}
        for name, folder in folders.items():
            folder.mkdir()
            url = f"rediss://{name}:{PASSWORDS[name]}@127.0.0.1:{server.port}\n"
            (folder / "redis-url.txt").write_text(url)
            shutil.copy(tmp_path / "ca.crt", folder)
        game = {"GAME": "tictactoe", "OPTIONS": ["--preset", "fast", *SETTINGS]}
        plays = {
            "ROLE": "worker",
            "OPTIONS": ["--worker-id", "hosted", "--processes", "1"],
            "VIEWER_URL_FILE": str(folders[VIEWER] / "redis-url.txt"),
        }

        async def both() -> list[str]:
            return await asyncio.gather(
                executed(folders[TRAINER], MINUTES=0.5, **game),
                executed(folders[WORKER], MINUTES=0.35, **plays),
            )

        trainer, worker = asyncio.run(both())

    assert "network runs on" in trainer
    assert re.search(r"c4: [\d,]+ steps, [1-9][\d,]* games", trainer)
    assert re.search(r"worker +hosted +", worker)
    assert re.search(r"hosted: [1-9][\d,]* games played", worker)
    assert not any(each in trainer + worker for each in PASSWORDS.values())

    home = tmp_path / "home"
    shutil.unpack_archive(folders[TRAINER] / "c4-packs.zip", home)
    assert ran_in(home, "runs", "unpack", "packs/c4.pack.json").returncode == 0
    assert "c4" in ran_in(home, "runs", "list").stdout
