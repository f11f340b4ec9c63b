"""Disks that are actually full."""

import os
import subprocess

import pytest


@pytest.fixture
def disk_of(tmp_path):
    """Makes the folder of a file system of so many KiB."""
    folder = tmp_path / "disk"

    def mount(size_kib):
        folder.mkdir()
        mounting = ["mount", "-t", "tmpfs", "-o", f"size={size_kib}k", "tmpfs", folder]
        if os.geteuid() != 0 or subprocess.run(mounting, capture_output=True).returncode != 0:
            pytest.skip("only root can mount a small disk")
        return folder

    yield mount
    if folder.is_mount():
        subprocess.run(["umount", folder], check=True)
