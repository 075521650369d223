"""HTTP servers of the tests, on loopback."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
from collections.abc import Iterator
from typing import Any


class Handler(http.server.BaseHTTPRequestHandler):
    """A handler that logs nothing, and whose documents are JSON."""

    def read_json(self) -> Any:
        """Return the document of the request, or None if it has none."""
        size = int(self.headers.get("Content-Length") or 0)
        return json.loads(self.rfile.read(size)) if size else None

    def send_document(self, content: object, status: int = 200) -> None:
        """Send a document; bytes are sent as they are."""
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Stay silent."""


class Server(http.server.ThreadingHTTPServer):
    """A server that doesn't wait for its connections to end."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay silent if the client disconnects first."""


@contextlib.contextmanager
def serve(handler: type[Handler], address: tuple[str, int] = ("127.0.0.1", 0)) -> Iterator[str]:
    """Serve on a free port while the block runs; yields `host:port`."""
    with Server(address, handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
