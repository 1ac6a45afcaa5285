"""Who may talk to the app: only the browser that opened its link, and only pages that the app itself served.

Any web page can send requests to 127.0.0.1, and a name of its own can be made to point there (DNS rebinding). So every
request needs the right Host, no foreign Origin, and a cookie that only the token in the link gives.
"""

from __future__ import annotations

import secrets
from http import HTTPStatus
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

REFUSED = "This is not for you to see: open the link that `subtaxa open` printed in its terminal.\n"
# A page of our own that goes on to the app. After a redirect, a link from elsewhere would not send the strict cookie.
ENTRANCE = '<!doctype html><meta http-equiv="refresh" content="0;url=/"><title>subtaxa</title>'
HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",  # A page brings its own.
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class Keys:
    """The secrets of one start of the app.

    `token` is in the link that the terminal shows. `once` is in the link that is given to the browser, where other
    users of the machine may see it among the processes, so it works a single time. Both give the cookie.
    """

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self.address, self.name = f"{f'[{host}]' if ':' in host else host}:{port}", f"subtaxa_{port}"
        self.token, self.cookie = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self.once: str | None = secrets.token_urlsafe(32)

    @property
    def origin(self) -> str:
        return f"http://{self.address}"

    def link(self, token: str) -> str:
        return f"{self.origin}/?token={token}"

    def admits(self, token: str) -> bool:
        """Whether a token is right."""
        if self.once is not None and secrets.compare_digest(token.encode(), self.once.encode()):
            self.once = None
            return True
        return secrets.compare_digest(token.encode(), self.token.encode())


class Guard:
    """Lets a request through to the app, or refuses it. It adds the security headers to every answer."""

    def __init__(self, app: ASGIApp, keys: Keys) -> None:
        self.app, self.keys = app, keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        answer = self._check(Request(scope))
        await (self.app if answer is None else answer)(scope, receive, send_with_headers)

    def _check(self, request: Request) -> Response | None:
        """The answer to a request that does not reach the app, or None if it may."""
        refused = PlainTextResponse(REFUSED, HTTPStatus.FORBIDDEN)
        if not self._comes_from_here(request.headers, request.method):
            return refused
        tokens = parse_qs(request.url.query).get("token", [])
        if request.method == "GET" and request.url.path == "/" and tokens and self.keys.admits(tokens[0]):
            entrance = HTMLResponse(ENTRANCE)
            entrance.set_cookie(self.keys.name, self.keys.cookie, httponly=True, samesite="strict")
            return entrance
        given = request.cookies.get(self.keys.name, "")
        return None if secrets.compare_digest(given.encode(), self.keys.cookie.encode()) else refused

    def _comes_from_here(self, headers: Headers, method: str) -> bool:
        """Whether a request was sent to this address, and not by a page of another one."""
        if headers.getlist("host") != [self.keys.address]:
            return False
        origins = headers.getlist("origin")
        if method not in ("GET", "HEAD"):
            return origins == [self.keys.origin] and headers.get("sec-fetch-site", "same-origin") == "same-origin"
        return origins in ([], [self.keys.origin])
