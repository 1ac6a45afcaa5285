"""A language model behind a real HTTP server in this process, for the tests of `subtaxa name` and `subtaxa ask`."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


class Model:
    """A server that gives the listed answers, then numbered names. It records every request."""

    def __init__(self, answers: list[Any]) -> None:
        self.answers, self.heads, self.paths = answers, [], []  # type: ignore[var-annotated]
        self.bodies: list[dict[str, Any]] = []
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                model.heads.append(self.headers)
                model.paths.append(self.path)
                model.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                answer = model.answers.pop(0) if model.answers else f"Name {len(model.bodies)}"
                status, body, headers = answer() if callable(answer) else said(answer)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.block_on_close = False
        self.server.handle_error = lambda *_: None  # type: ignore[method-assign]
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def asked(self, i: int) -> str:
        return str(self.bodies[i]["messages"][0]["content"])

    def told(self, i: int) -> dict[str, Any]:
        """The data in a question."""
        text = self.asked(i)
        return dict(json.JSONDecoder().raw_decode(text, text.index("{"))[0])


Raw = tuple[int, bytes, dict[str, str]]


def said(content: object, **more: Any) -> Raw:
    usage = {"prompt_tokens": 100, "completion_tokens": 3}
    answer = {"choices": [{"message": {"role": "assistant", "content": content}}], "usage": usage} | more
    return 200, json.dumps(answer).encode(), {}


@pytest.fixture
def serve() -> Iterator[Callable[..., Model]]:
    models: list[Model] = []

    def start(*answers: Any) -> Model:
        models.append(Model(list(answers)))
        return models[-1]

    yield start
    for model in models:
        model.close()
