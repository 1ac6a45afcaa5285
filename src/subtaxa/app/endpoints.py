"""The JSON interface of the app: what an endpoint is, and how it answers."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from subtaxa.app.workbench import ConflictError
from subtaxa.errors import InputError, SubtaxaError
from subtaxa.report.page import policy, policy_for
from subtaxa.runtime.json_files import difference, parse

# Bytes of a request. Moving a hundred thousand texts takes one million.
MAX_BYTES = 8 * 2**20


@dataclass(frozen=True)
class Endpoint:
    """One address. `work` gets what was sent, a JSON object of this shape, or None; it returns the answer.

    Shapes are described in `runtime/json_files.py`. Without a shape, the endpoint only reads.
    """

    name: str
    about: str
    work: Callable[[Any], dict[str, Any]]
    shape: Any = None

    def route(self, after_conflict: Callable[[], dict[str, Any]] | None = None) -> Route:
        """The endpoint in the app. After a conflict, the answer has a new state from `after_conflict`."""

        async def handle(request: Request) -> Response:
            sent = None if self.shape is None else checked(await read_body(request), self.shape)
            return as_json(await run_in_threadpool(self.work, sent))

        methods = ["GET"] if self.shape is None else ["POST"]
        return Route(f"/api/{self.name}", answering(handle, after_conflict), methods=methods)


def answering(
    handle: Callable[[Request], Awaitable[Response]], after_conflict: Callable[[], dict[str, Any]] | None = None
) -> Callable[[Request], Awaitable[Response]]:
    """The same handler, but a problem is answered with one sentence."""

    async def answer(request: Request) -> Response:
        try:
            return await handle(request)
        except ConflictError as error:
            state = {} if after_conflict is None else {"state": await run_in_threadpool(after_conflict)}
            return as_json({"problem": str(error), **state}, HTTPStatus.CONFLICT)
        except SubtaxaError as error:
            return as_json({"problem": str(error)}, HTTPStatus.UNPROCESSABLE_ENTITY)
        except ClientDisconnect:
            return Response(status_code=HTTPStatus.BAD_REQUEST)  # Nobody is left to read it.
        except OSError as error:
            what = error.strerror or str(error)
            return as_json({"problem": f"a file cannot be written or read: {what}"}, HTTPStatus.INTERNAL_SERVER_ERROR)

    return answer


async def read_body(request: Request) -> Any:
    """The JSON value of a request."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise InputError("the request is not JSON: send it as application/json")
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MAX_BYTES:
            raise InputError(f"the request is larger than {MAX_BYTES // 2**20} MB: send less at a time")
    try:
        return parse(body.decode())
    except (ValueError, RecursionError) as error:
        raise InputError("the request is not valid JSON: send an object") from error


def checked(sent: Any, shape: Any) -> Any:
    """What was sent, if it has this shape."""
    if wrong := difference(sent, shape):
        raise InputError(f"the request cannot be used ({wrong}): see the reference of the app")
    return sent


def as_json(content: dict[str, Any], status: int = HTTPStatus.OK) -> Response:
    """An answer to a script. In JSON, `<` is written as an escape, so that it is never taken for markup."""
    text = json.dumps(content, allow_nan=False).replace("<", "\\u003c")
    return Response(text, status, media_type="application/json")


def as_page(page: str, scripts: Sequence[str] | None = None, style: str = "", status: int = HTTPStatus.OK) -> Response:
    """A page with the policy of the report, or with one for other scripts and another style."""
    allowed = policy(live=True) if scripts is None else policy_for(scripts, style, live=True)
    return HTMLResponse(page, status, {"content-security-policy": f"{allowed}; frame-ancestors 'none'"})
