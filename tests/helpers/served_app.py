"""The app behind a real server in a thread, for the tests in a browser."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.types import ASGIApp

from subtaxa.app.server import listening


@contextmanager
def served(app: ASGIApp) -> Iterator[str]:
    """The link of an app while it is served."""
    with listening(app) as (server, listener, keys):
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            yield keys.link(keys.token)
        finally:
            server.should_exit = True
            thread.join()
