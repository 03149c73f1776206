"""A scripted OpenAI-compatible chat service on a free port: it gives prepared answers, one after the other."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, slots=True)
class Said:
    """One answer: ``content`` as the model's text, or another ``status``; after ``delay_s``, and once ``when``."""

    content: str = '{"operations": []}'
    finish_reason: str = "stop"
    status: int = 200
    delay_s: float = 0.0
    when: threading.Event | None = None


@dataclass
class ChatService:
    """What was asked of it, and what it has yet to say; when nothing is left it repeats the last."""

    url: str
    script: list[Said]
    requests: list[dict[str, Any]] = field(default_factory=list)

    def next(self) -> Said:
        return self.script.pop(0) if len(self.script) > 1 else self.script[0]


@contextmanager
def chat_service(script: Sequence[Said]) -> Iterator[ChatService]:
    """Serves while the block runs."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            service.requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            said = service.next()
            time.sleep(said.delay_s)
            if said.when is not None:
                said.when.wait(120)
            choice = {"index": 0, "message": {"role": "assistant", "content": said.content},
                      "finish_reason": said.finish_reason}  # fmt: skip
            body = json.dumps({"id": "c", "object": "chat.completion", "choices": [choice]}).encode()
            try:
                self.send_response(said.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except OSError:  # the client did not wait
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = False
    service = ChatService(f"http://127.0.0.1:{server.server_port}", list(script))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, name="chat service")
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
