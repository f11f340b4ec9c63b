"""scripts/scan-secrets names what looks like a secret; `make lint` runs it on all files."""

import importlib.machinery
import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "scripts" / "scan-secrets"


@pytest.fixture(scope="module")
def scan():
    loader = importlib.machinery.SourceFileLoader("scan_secrets", str(SCRIPT))
    spec = importlib.util.spec_from_loader("scan_secrets", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


# Put together here, so that this file has none of them.
@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("a.py", "key = '" + "AKIA" + "Q3EGRZ7TLLM2PXV4'", "AWS-Access-Key"),
        ("a.yaml", "password: " + "hunter2-and-more", "Secret-Keyword"),
        ("a.md", "redis://box:" + "s3cr3tly@redis.example.org", "Basic-Auth-Credentials"),
        ("a.pem", "-----BEGIN RSA " + "PRIVATE KEY-----", "Private-Key"),
        ("a.txt", "ghp_" + "a1B2" * 9, "GitHub-Token"),
    ],
)
def test_a_file_with_a_secret_is_named(scan, tmp_path, monkeypatch, name, text, kind):
    monkeypatch.setattr(scan, "PROJECT", tmp_path)
    (tmp_path / name).write_text(f"before\n{text}\n")
    ((line, place),) = scan.finds([name]).items()
    assert line.startswith(f"{name} {kind} ")
    assert place.startswith(f"{name}:2: ")


def test_hashes_and_names_of_variables_are_no_secrets(scan, tmp_path, monkeypatch):
    monkeypatch.setattr(scan, "PROJECT", tmp_path)
    text = "sha256 = '" + "9f3c77ab" * 8 + "'\npassword = environment['REDIS_PASSWORD']\n"
    (tmp_path / "a.py").write_text(text)
    assert scan.finds(["a.py"]) == {}
