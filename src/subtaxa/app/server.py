"""The app as a web server on this machine, behind its guard."""

from __future__ import annotations

import socket
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from subtaxa.app.desk import Desk
from subtaxa.app.guard import Guard, Keys
from subtaxa.app.run_app import run_app
from subtaxa.app.start_app import start_app
from subtaxa.app.workbench import Workbench


@contextmanager
def app_for(folder: Path | None) -> Iterator[ASGIApp]:
    """The app of a run, or of all runs below the current folder. At the end, the runs are brought up to date."""
    if folder is None:
        desk = Desk(Path.cwd())
        try:
            yield start_app(desk)
        finally:
            desk.close()
    else:
        bench = Workbench(folder)
        try:
            yield run_app(bench)
        finally:
            bench.close()


@contextmanager
def listening(app: ASGIApp) -> Iterator[tuple[uvicorn.Server, socket.socket, Keys]]:
    """A server for the app with its socket and the keys of its guard. The browser can already connect."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.bind(("127.0.0.1", 0))
        keys = Keys(listener.getsockname()[1])
        config = uvicorn.Config(
            Guard(app, keys),
            http="h11",
            ws="none",
            lifespan="off",
            log_level="error",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=2,
        )
        listener.listen()
        yield uvicorn.Server(config), listener, keys


def serve(folder: Path | None, *, browse: bool, announce: Callable[[str], None]) -> None:
    """Serve the app until a signal ends it. `announce` gets its link."""
    with app_for(folder) as app, listening(app) as (server, listener, keys):
        announce(keys.link(keys.token))
        if browse and keys.once is not None:
            threading.Thread(target=webbrowser.open, args=(keys.link(keys.once),), daemon=True).start()
        server.run(sockets=[listener])
