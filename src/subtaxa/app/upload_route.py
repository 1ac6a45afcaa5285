"""The address that takes a dropped file."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from subtaxa.app.endpoints import answering, as_json
from subtaxa.app.uploads import Uploads, look_into
from subtaxa.errors import InputError


def upload_route(uploads: Uploads) -> Route:
    """Stores the body of a request as a file, and answers with its columns and first rows."""

    async def take(request: Request) -> Response:
        if request.headers.get("content-type") != "application/octet-stream":
            raise InputError("the file was not sent as bytes: send it as application/octet-stream")
        taken = await uploads.take(request.query_params.get("name", ""), request.stream())
        return as_json(await run_in_threadpool(look_into, taken))

    return Route("/api/upload", answering(take), methods=["POST"])
