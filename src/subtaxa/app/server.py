"""The app as a web server on this machine, behind its guard."""

from __future__ import annotations

import socket
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from subtaxa.app.desk import Desk
from subtaxa.app.guard import Guard, Keys
from subtaxa.app.run_app import run_app
from subtaxa.app.start_app import start_app
from subtaxa.app.workbench import Workbench
from subtaxa.errors import SettingError


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
def listening(app: ASGIApp, host: str = "127.0.0.1") -> Iterator[tuple[uvicorn.Server, socket.socket, Keys]]:
    """A server for the app with its socket and the keys of its guard. The browser can already connect."""
    with _bound(host) as listener:
        keys = Keys(listener.getsockname()[1], host.lower())
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


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    return host == "localhost" or (_is_address(host) and ip_address(host).is_loopback)


def check_host(host: str) -> None:
    """Refuse an address that no browser can be sent to: its requests could not be told from foreign ones."""
    if not host or (_is_address(host) and ip_address(host).is_unspecified):
        raise SettingError(f"--host {host!r} is no single address: give the one by which browsers reach this machine")


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _bound(host: str) -> socket.socket:
    """A socket at a free port of an address of this machine."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.bind((host, 0))
    except (OSError, UnicodeError) as error:
        listener.close()
        raise SettingError(f"--host {host!r} cannot be used ({error}): give an address of this machine") from error
    return listener


def serve(folder: Path | None, *, browse: bool, announce: Callable[[str], None], host: str = "127.0.0.1") -> None:
    """Serve the app until a signal ends it. `announce` gets its link."""
    with app_for(folder) as app, listening(app, host) as (server, listener, keys):
        announce(keys.link(keys.token))
        if browse and keys.once is not None:
            threading.Thread(target=webbrowser.open, args=(keys.link(keys.once),), daemon=True).start()
        server.run(sockets=[listener])
