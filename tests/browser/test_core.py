"""The core in a Web Worker of a real browser plays what it plays everywhere."""

import os
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from browser import CHROMIUM

if TYPE_CHECKING:
    from playwright.sync_api import Page

PROJECT = Path(__file__).parents[2]
WORKER = """
import { loadCore, moduleName } from "/web/src/core/core.js";

const core = await loadCore(fetch(`/build/wasm/${moduleName()}`));
const signatures = core.games().map(({ name }) => `${name} ${core.game(name).signature()}`);
const search = core.game("connect4").fromText("121212").search({ evaluator: "playout" });
while (!search.finished()) search.run(1000);
postMessage({ build: moduleName(), signatures, best: search.result().best_action });
"""
IN_WORKER = """
(source) => new Promise((resolve, reject) => {
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const worker = new Worker(url, { type: "module" });
  worker.onmessage = ({ data }) => resolve(data);
  worker.onerror = ({ message }) => reject(new Error(message));
})
"""

needs_core_and_browser = pytest.mark.skipif(
    (CHROMIUM is None or not (PROJECT / "build" / "wasm" / "zerofleet.wasm").exists())
    and not os.environ.get("ZEROFLEET_REQUIRE_TOOLS"),
    reason="missing: chromium or build/wasm (make wasm)",
)


BLANK = b"<!doctype html><link rel=icon href=data:,>"


class Files(SimpleHTTPRequestHandler):
    """The files, a blank page at /, and no log."""

    def do_GET(self) -> None:
        if self.path != "/":
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(BLANK)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def checkout() -> Iterator[str]:
    """The address of a server of this checkout's files."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=str(PROJECT)))
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@needs_core_and_browser
def test_a_web_worker_computes_the_golden_signatures_and_searches(
    page: "Page", checkout: str
) -> None:
    page.goto(checkout)
    source = WORKER.replace('"/web', f'"{checkout}/web').replace("`/build", f"`{checkout}/build")
    found = page.evaluate(IN_WORKER, source)
    golden = (PROJECT / "tests" / "golden" / "signatures.txt").read_text().splitlines()
    assert found == {"build": "zerofleet.wasm", "signatures": golden, "best": 0}
