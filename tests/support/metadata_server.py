"""A machine's metadata service (IMDSv2) on loopback: no answer without a token of its own."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKEN = "token-of-the-metadata-service"


class MetadataServer(ThreadingHTTPServer):
    """`texts` by path; a notice appears with `interrupt`. Keeps the paths it was asked for."""

    def __init__(self) -> None:
        texts = {"instance-id": "i-0123456789", "local-ipv4": "10.20.16.9"}
        asked: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_PUT(self) -> None:
                has_ttl = "X-aws-ec2-metadata-token-ttl-seconds" in self.headers
                self.answer(200 if has_ttl else 400, TOKEN)

            def do_GET(self) -> None:
                if self.headers.get("X-aws-ec2-metadata-token") != TOKEN:
                    self.answer(401, "")
                    return
                name = self.path.removeprefix("/latest/meta-data/")
                asked.append(name)
                self.answer(200 if name in texts else 404, texts.get(name, ""))

            def answer(self, status: int, text: str) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.texts, self.asked = texts, asked

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def interrupt(self) -> None:
        notice = {"action": "terminate", "time": "2026-11-18T12:00:00Z"}
        self.texts["spot/instance-action"] = json.dumps(notice)


@contextmanager
def metadata_server() -> Iterator[MetadataServer]:
    with MetadataServer() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()
