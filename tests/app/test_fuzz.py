"""Requests that no page would send: each is answered with a state or with one sentence, and the run stays whole."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from subtaxa.discovery import Discovery
from subtaxa.taxonomy.corrections import PARTS

ENDPOINTS = (
    "edit",
    "parts",
    "undo",
    "redo",
    "answer",
    "search",
    "new-assign",
    "new-keep",
    "new-discard",
    "state",
    "no",
)
NAMES = ("known", "correction", "category", "into", "only", "nodes", "same", "row", "text", "upload")
NUMBERS = st.sampled_from([0, 1, 2, 3, 5, 8, 40, 149, -1, 2**31, 2**53, 2**64, 10**400, 0.5, math.nan, math.inf])
ODD = st.sampled_from(["", " ", "a\0b", "\ud800", "x" * 5000, "<script>", "\u202e", "__proto__", "rename"])
PLAIN = st.one_of(NUMBERS, ODD, st.booleans(), st.none())
VALUES = st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ODD, inner, max_size=2))
PART = st.one_of(NUMBERS, st.lists(NUMBERS, max_size=4), ODD, VALUES, st.dictionaries(ODD, NUMBERS, max_size=2))
CORRECTION = st.builds(
    lambda do, values: {"do": do, **dict(zip(PARTS.get(do, ("name",)), values, strict=False))},
    st.sampled_from([*PARTS, "undo", "name"]),
    st.lists(PART, min_size=2, max_size=2),
)
BODIES = st.one_of(VALUES, st.dictionaries(st.sampled_from(NAMES), st.one_of(PART, CORRECTION), max_size=4))
EDITS = st.builds(lambda correction: {"known": None, "correction": correction}, CORRECTION)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(ENDPOINTS), BODIES | EDITS)
def test_every_request_is_answered(client: TestClient, name: str, body: Any) -> None:
    known = client.get("/api/state").json()["edits"]
    if isinstance(body, dict) and body.get("known", 0) is None:
        name, body = "edit", {**body, "known": known}
    answer = client.post(f"/api/{name}", content=json.dumps(body), headers={"content-type": "application/json"})
    assert answer.status_code in (200, 404, 405, 409, 422)
    if answer.status_code == 422:
        assert "\n" not in answer.json()["problem"]
        assert client.get("/api/state").json()["edits"] == known


def test_the_run_is_whole_after_odd_edits(client: TestClient, run: Path) -> None:
    known = 0
    for correction in (
        {"do": "rename", "category": 0, "name": "a\0b \ud800\n<b>\u202e"},
        {"do": "new", "rows": [0, 1, 2], "name": "=1+1"},
        {"do": "recut", "categories": 7},
    ):
        sent = json.dumps({"known": known, "correction": correction})
        answer = client.post("/api/edit", content=sent, headers={"content-type": "application/json"})
        known = answer.json().get("edits", known)
    assert client.get("/").status_code == 200
    assert len(Discovery.load(run).edits_) == known > 0
