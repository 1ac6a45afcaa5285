"""The app of one run: its page and its JSON interface."""

from __future__ import annotations

import threading
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from subtaxa.app.cards import Cards
from subtaxa.app.endpoints import Endpoint, as_page
from subtaxa.app.finding import find_row, find_sentence, warm_up
from subtaxa.app.new_texts import NewTexts
from subtaxa.app.openapi import describe
from subtaxa.app.upload_route import upload_route
from subtaxa.app.workbench import Workbench


def run_app(bench: Workbench, *, home: bool = False) -> Starlette:
    """The app of a run. With `home`, its page has a link to the list of runs."""
    warmed = threading.Event()

    async def page(_: Request) -> Response:
        rendered = await run_in_threadpool(bench.page, home=home)
        if not warmed.is_set():  # The page comes first: it needs no encoder.
            warmed.set()
            threading.Thread(target=warm_up, args=(bench,), daemon=True).start()
        return as_page(rendered)

    new = NewTexts(bench)
    endpoints = run_endpoints(bench, Cards(bench), new)
    spec = Endpoint("openapi.json", "This description.", lambda _: describe(endpoints))
    routes = [endpoint.route(bench.view) for endpoint in (*endpoints, spec)]
    return Starlette(routes=[Route("/", page), upload_route(new.uploads), *routes])


def run_endpoints(bench: Workbench, cards: Cards, new: NewTexts) -> list[Endpoint]:
    """The JSON interface of a run."""

    def edit(sent: Any) -> dict[str, Any]:
        bench.correct(sent["known"], sent["correction"])
        return bench.view()

    def undo(sent: Any) -> dict[str, Any]:
        bench.undo(sent["known"], sent.get("only"))
        return bench.view()

    def redo(sent: Any) -> dict[str, Any]:
        bench.redo(sent["known"])
        return bench.view()

    def answer(sent: Any) -> dict[str, Any]:
        cards.answer(sent["known"], sent["nodes"], sent["same"])
        return bench.view()

    def search(sent: Any) -> dict[str, Any]:
        return find_row(bench, sent["row"]) if "row" in sent else find_sentence(bench, sent["text"])

    def assign(sent: Any) -> dict[str, Any]:
        new.assign(sent["upload"], sent["text"])
        return new.view()

    def keep(_: Any) -> dict[str, Any]:
        new.keep()
        return new.view()

    def discard(_: Any) -> dict[str, Any]:
        new.discard()
        return new.view()

    return [
        Endpoint(
            "state", "The categories, the category of each text, the log and the quality.", lambda _: bench.view()
        ),
        Endpoint("question", "The next question, and what the answers have changed.", lambda _: cards.card()),
        Endpoint(
            "edit",
            "Make a correction: rename, merge, split, move, wrong, new or recut.",
            edit,
            {"known": int, "correction": {"do": str}},
        ),
        Endpoint(
            "parts",
            "The categories that a split would give. Nothing is changed.",
            lambda sent: {"parts": bench.parts(sent["category"], sent["into"])},
            {"category": int, "into": (int, None)},
        ),
        Endpoint("undo", "Undo the last edit, or only if it is of this kind.", undo, {"known": int, "only?": str}),
        Endpoint("redo", "Make the last undone edit once more.", redo, {"known": int}),
        Endpoint(
            "answer",
            "Answer the question: one category, two, or null to skip it.",
            answer,
            {"known": int, "nodes": [int], "same": (bool, None)},
        ),
        Endpoint(
            "search",
            "The texts and categories nearest to a sentence, or to the text of a row.",
            search,
            ({"row": int}, {"text": str}),
        ),
        Endpoint("new", "The new texts of a dropped file, and how far they are assigned.", lambda _: new.view()),
        Endpoint("new-assign", "Assign the texts of the dropped file.", assign, {"upload": int, "text": str}),
        Endpoint("new-keep", "Add the assigned texts to the run.", keep, {}),
        Endpoint("new-discard", "Forget the new texts.", discard, {}),
    ]
