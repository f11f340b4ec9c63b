"""scripts/install-debian-packages, on a PATH that has only the commands a test puts there."""

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "scripts" / "install-debian-packages"
WASM = "clang-22 lld-22 wasi-libc libc++-22-dev-wasm32 libclang-rt-22-dev-wasm32 nodejs"


def run(commands: Path, *arguments: str, **environment: str) -> tuple[int, list[str]]:
    """Its exit status and what it printed."""
    ran = subprocess.run(
        ["/bin/bash", SCRIPT, *arguments],
        env={"PATH": str(commands), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return ran.returncode, ran.stdout.splitlines()


def test_without_apt_optional_packages_are_named_and_are_no_failure(tmp_path: Path) -> None:
    assert run(tmp_path, "--optional", "wasm") == (
        0,
        [
            f"not installed: {WASM} (there is no apt-get here to install them); "
            "the tests that need them are skipped"
        ],
    )


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [(["wasm"], {}), (["--optional", "wasm"], {"ZEROFLEET_REQUIRE_TOOLS": "1"})],
)
def test_without_apt_packages_that_are_required_are_a_failure(
    tmp_path: Path, arguments: list[str], environment: dict[str, str]
) -> None:
    assert run(tmp_path, *arguments, **environment) == (
        1,
        [f"missing Debian packages: {WASM}; there is no apt-get here to install them"],
    )


def test_packages_to_install_are_printed_first_and_only_missing_ones_are_installed(
    tmp_path: Path,
) -> None:
    put(tmp_path, "id", "echo 0")
    put(tmp_path, "node", "exit 1")  # that it is there is enough
    put(tmp_path, "apt-get", 'echo "apt-get $*"')
    (tmp_path / "env").symlink_to(str(shutil.which("env")))
    missing = WASM.removesuffix(" nodejs")
    assert run(tmp_path, "--check", "wasm") == (1, [f"missing Debian packages: {missing}"])
    assert run(tmp_path, "wasm") == (
        0,
        [
            f"installing Debian packages: {missing}",
            f"apt-get -q install -y --no-install-recommends {missing}",
        ],
    )


def test_packages_that_apt_does_not_know_are_named_too(tmp_path: Path) -> None:
    put(tmp_path, "id", "echo 0")
    put(tmp_path, "apt-get", '[ "$2" = update ]')
    (tmp_path / "env").symlink_to(str(shutil.which("env")))
    status, lines = run(tmp_path, "--optional", "wasm")
    assert status == 0
    assert lines[-1].endswith(
        "(apt-get could not install them); the tests that need them are skipped"
    )


def put(folder: Path, command: str, script: str) -> None:
    path = folder / command
    path.write_text(f"#!/bin/bash\n{script}\n")
    path.chmod(0o755)
