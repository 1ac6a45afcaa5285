"""The app without a run: the runs below the current folder, and a file to start with."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.types import Receive, Scope, Send

from subtaxa.app import jobs
from subtaxa.app.desk import Desk
from subtaxa.app.endpoints import Endpoint, as_page
from subtaxa.app.start_page import asset, problem_page, start_page, style
from subtaxa.app.upload_route import upload_route
from subtaxa.errors import SubtaxaError
from subtaxa.report.compare_page import comparison_style

_KEY = re.compile("[0-9]{1,9}")


def start_app(desk: Desk) -> Starlette:
    """The app of the start page, with the apps of the runs below it."""

    async def page(_: Request) -> Response:
        return as_page(start_page(), [asset("start.js")], style())

    async def comparison(request: Request) -> Response:
        try:
            a, b = (int(request.query_params.get(name, "-1")[:9]) for name in "ab")
            found = await run_in_threadpool(desk.comparison, a, b)
        except (SubtaxaError, ValueError) as error:
            about = str(error) if isinstance(error, SubtaxaError) else "there is no such run: choose two of the list"
            return as_page(problem_page(about), [], style(), HTTPStatus.NOT_FOUND)
        return as_page(found, [], comparison_style())

    async def to_run(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            key = str(scope["path_params"]["key"])
            app = await run_in_threadpool(desk.app_of, int(key) if _KEY.fullmatch(key) else -1)
        except SubtaxaError as error:
            await as_page(problem_page(str(error)), [], style(), HTTPStatus.NOT_FOUND)(scope, receive, send)
        else:
            await app(scope, receive, send)

    routes = [Route("/", page), Route("/compare", comparison), upload_route(desk.uploads)]
    return Starlette(
        routes=[*routes, *(endpoint.route() for endpoint in start_endpoints(desk)), Mount("/run/{key}", to_run)]
    )


def start_endpoints(desk: Desk) -> list[Endpoint]:
    """The JSON interface of the start page."""

    def discover(sent: Any) -> dict[str, Any]:
        desk.discover(sent["upload"], {name: sent[name] for name in jobs.ASKED})
        return desk.view()

    def resume(sent: Any) -> dict[str, Any]:
        desk.resume(sent["key"])
        return desk.view()

    def stop(_: Any) -> dict[str, Any]:
        desk.stop()
        return desk.view()

    return [
        Endpoint("start", "The runs below the current folder, and the progress of the job.", lambda _: desk.view()),
        Endpoint("discover", "Find the categories of the dropped file.", discover, {"upload": int, **jobs.ASKED}),
        Endpoint("resume", "Continue a run that was stopped.", resume, {"key": int}),
        Endpoint("stop", "Stop the job. It can be continued.", stop, {}),
    ]
