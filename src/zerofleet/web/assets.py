"""The pages: files that the build has put into assets/, served as they are.

Names of scripts and styles contain a hash of their content, so browsers may keep them for good. A
file with .br or .gz beside it is served compressed to a browser that takes it. Large ones, such as
WebAssembly and weights, are read from the disk when they are asked for. Every path without a dot is
a page: the same index.html, which chooses by the path.
"""

import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response

FOLDER = Path(__file__).parent / "assets"
INDEX = "index.html"
HASHED = "static/"
"""Where the build puts what has a hash in its name."""
ENCODINGS = {"br": ".br", "gzip": ".gz"}
TYPES = {
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".svg": "image/svg+xml",
    ".wasm": "application/wasm",
    ".webmanifest": "application/json",
}
FOREVER = "public, max-age=31536000, immutable"
ALWAYS_ASK = "no-cache"
MAX_KEPT_BYTES = 1 << 20
"""Of a file that is kept in memory."""

MISSING = """<!doctype html>
<html lang="en">
<title>zerofleet</title>
<meta name="viewport" content="width=device-width">
<h1>The pages are not built</h1>
<p>The server and its <a href="/api/v1/openapi.json">API</a> work, but the pages are missing from
this installation. In a checkout, <code>make web</code> builds them; it needs Node 20 or newer, or
installs it from PyPI, and says what failed. A wheel has them inside.</p>
</html>
"""


@dataclass(frozen=True)
class File:
    """A file with its compressed forms: bytes, or the path of what is large."""

    body: bytes | Path
    kind: str
    cache: str
    encoded: Mapping[str, bytes | Path]

    def respond(self, encoding: str | None) -> Response:
        headers = {"cache-control": self.cache, "vary": "accept-encoding"}
        body = self.body
        if encoding is not None:
            headers["content-encoding"] = encoding
            body = self.encoded[encoding]
        if isinstance(body, Path):
            return FileResponse(body, 200, headers, self.kind)
        return Response(body, 200, headers, self.kind)


class Assets:
    """All files of the pages, read when the server starts."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._files = read_files(folder) if folder.is_dir() else {}

    @property
    def is_built(self) -> bool:
        return INDEX in self._files

    def respond(self, request: Request) -> Response:
        """A file, a page, or 404. Only names that were found at the start can be asked for."""
        path = request.url.path.lstrip("/")
        if path.startswith("api/"):
            return missing(request)
        file = self._files.get(path)
        if file is None and "." not in path.rpartition("/")[2]:
            file = self._files.get(INDEX)
            if file is None:
                return HTMLResponse(MISSING, 503, {"cache-control": ALWAYS_ASK})
        if file is None:
            return missing(request)
        accepted = [each.strip() for each in request.headers.get("accept-encoding", "").split(",")]
        return file.respond(next((each for each in file.encoded if each in accepted), None))


def missing(request: Request) -> Response:
    message = f"there is no {request.url.path[:200]}"
    return JSONResponse({"code": "not_found", "message": message}, 404)


def read_files(folder: Path) -> dict[str, File]:
    endings = tuple(ENCODINGS.values())
    found = {}
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.name.endswith(endings) or path.name.startswith("."):
            continue
        name = path.relative_to(folder).as_posix()
        encoded = {
            encoding: body_of(beside)
            for encoding, ending in ENCODINGS.items()
            if (beside := path.with_name(path.name + ending)).is_file()
        }
        kind = TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0]
        cache = FOREVER if name.startswith(HASHED) else ALWAYS_ASK
        found[name] = File(body_of(path), kind or "application/octet-stream", cache, encoded)
    return found


def body_of(path: Path) -> bytes | Path:
    return path if path.stat().st_size > MAX_KEPT_BYTES else path.read_bytes()
