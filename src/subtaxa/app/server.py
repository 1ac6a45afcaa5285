"""The app as a web server on this machine: the page, and a small JSON interface for its scripts."""

from __future__ import annotations

import json
import socket
import threading
import webbrowser
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from subtaxa.app.cards import Cards
from subtaxa.app.finding import find_row, find_sentence, warm_up
from subtaxa.app.guard import Guard, Keys
from subtaxa.app.workbench import ConflictError, Workbench
from subtaxa.errors import InputError, SubtaxaError
from subtaxa.runtime.json_files import difference, parse

# Bytes of a request. Moving a hundred thousand texts takes one million.
MAX_BYTES = 8 * 2**20

Work = Callable[[Any], dict[str, Any]]


def build(bench: Workbench, keys: Keys) -> ASGIApp:
    """The app for a run, behind its guard."""
    cards = Cards(bench)

    async def page(_: Request) -> Response:
        return HTMLResponse(await run_in_threadpool(bench.page))

    def edit(sent: Any) -> dict[str, Any]:
        bench.correct(sent["known"], sent["correction"])
        return bench.view()

    def undo(sent: Any) -> dict[str, Any]:
        bench.undo(sent["known"], sent.get("only"))
        return bench.view()

    def answer(sent: Any) -> dict[str, Any]:
        cards.answer(sent["known"], sent["nodes"], sent["same"])
        return bench.view()

    def search(sent: Any) -> dict[str, Any]:
        return find_row(bench, sent["row"]) if "row" in sent else find_sentence(bench, sent["text"])

    routes = [
        Route("/", page),
        Route("/api/state", _answered(bench, lambda _: bench.view())),
        Route("/api/question", _answered(bench, lambda _: cards.card())),
        _post("/api/edit", bench, edit, {"known": int, "correction": {}}),
        _post("/api/undo", bench, undo, {"known": int, "only?": str}),
        _post("/api/answer", bench, answer, {"known": int, "nodes": [int], "same": (bool, None)}),
        _post("/api/search", bench, search, ({"row": int}, {"text": str})),
    ]
    return Guard(Starlette(routes=routes), keys)


def serve(folder: Path, *, browse: bool, announce: Callable[[str], None]) -> None:
    """Serve the app of a run until a signal ends it. `announce` gets its link."""
    import uvicorn

    bench = Workbench(folder)
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.bind(("127.0.0.1", 0))
        keys = Keys(listener.getsockname()[1])
        config = uvicorn.Config(
            build(bench, keys),
            http="h11",
            ws="none",
            lifespan="off",
            log_level="error",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=2,
        )
        listener.listen()  # From here on, the browser can connect.
        announce(keys.link(keys.token))
        threading.Thread(target=warm_up, args=(bench,), daemon=True).start()
        if browse and keys.once is not None:
            threading.Thread(target=webbrowser.open, args=(keys.link(keys.once),), daemon=True).start()
        try:
            uvicorn.Server(config).run(sockets=[listener])
        finally:
            bench.close()


def _post(path: str, bench: Workbench, work: Work, shape: Any) -> Route:
    """A route that takes a JSON object of this shape."""

    async def read(request: Request) -> Any:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise InputError("the request is not JSON: send it as application/json")
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > MAX_BYTES:
                raise InputError(f"the request is larger than {MAX_BYTES // 2**20} MB: send less at a time")
        try:
            sent = parse(body.decode())
        except (ValueError, RecursionError) as error:
            raise InputError("the request is not valid JSON: send an object") from error
        if wrong := difference(sent, shape):
            raise InputError(f"the request cannot be used ({wrong}): see the reference of the app")
        return sent

    return Route(path, _answered(bench, work, read), methods=["POST"])


def _answered(
    bench: Workbench, work: Work, read: Callable[[Request], Awaitable[Any]] | None = None
) -> Callable[[Request], Awaitable[Response]]:
    """A handler that answers with what `work` returns, or with one sentence about the problem."""

    async def handle(request: Request) -> Response:
        try:
            sent = None if read is None else await read(request)
            return _json(await run_in_threadpool(work, sent))
        except ConflictError as error:
            return _json({"problem": str(error), "state": await run_in_threadpool(bench.view)}, HTTPStatus.CONFLICT)
        except SubtaxaError as error:
            return _json({"problem": str(error)}, HTTPStatus.UNPROCESSABLE_ENTITY)
        except OSError as error:
            return _json({"problem": f"the run cannot be written or read: {error}"}, HTTPStatus.INTERNAL_SERVER_ERROR)

    return handle


def _json(content: dict[str, Any], status: int = HTTPStatus.OK) -> Response:
    return Response(json.dumps(content, allow_nan=False), status, media_type="application/json")
