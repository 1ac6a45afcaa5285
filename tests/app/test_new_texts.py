"""New texts of a dropped file: assigned, discarded, kept, proposed as categories, and refused."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from helpers.corpus import planted_corpus
from starlette.testclient import TestClient

from subtaxa.app.workbench import Workbench
from subtaxa.data.tables import csv_text
from subtaxa.discovery import Discovery
from subtaxa.runs import layout

TEXTS, _, _ = planted_corpus(per_topic=5, seed=3)
BYTES = {"content-type": "application/octet-stream"}


def drop(client: TestClient, texts: list[str]) -> int:
    table = csv_text({"message": texts}).encode()
    return client.post("/api/upload?name=new.csv", content=table, headers=BYTES).json()["upload"]


def wait(client: TestClient, *states: str) -> Any:
    for _ in range(9000):
        found = client.get("/api/new").json()
        if found["state"] in states:
            return found
        time.sleep(0.1)
    raise AssertionError(found)


def assigned(client: TestClient, texts: list[str]) -> Any:
    sent = {"upload": drop(client, texts), "text": "message"}
    assert client.post("/api/new-assign", json=sent).status_code == 200
    return wait(client, "ready", "failed")


def test_texts_are_assigned_as_by_the_command(client: TestClient, run: Path) -> None:
    found = assigned(client, [*TEXTS, " "])
    expected = Discovery.load(run).predict(TEXTS).tolist()
    assert [text[0] for text in found["texts"]] == TEXTS
    assert [text[1] for text in found["texts"]] == expected
    assert dict(found["counts"]) == {i: expected.count(i) for i in set(expected)}
    assert client.get("/api/state").json()["edits"] == 0
    assert client.post("/api/new-discard", json={}).json()["state"] == "none"
    assert len(Discovery.load(run).labels_) == 150


def test_kept_texts_are_in_the_run_and_earlier_edits_stay(client: TestClient, bench: Workbench, run: Path) -> None:
    first = client.get("/api/state").json()["categories"][0]["id"]
    rename = {"known": 0, "correction": {"do": "rename", "category": first, "name": "my name"}}
    client.post("/api/edit", json=rename)
    assigned(client, TEXTS)
    before = client.get("/api/state").json()["run"]
    assert client.post("/api/new-keep", json={}).json()["state"] == "keeping"
    kept = wait(client, "kept", "failed")
    assert (kept["state"], kept["problem"]) == ("kept", "")
    seen = client.get("/api/state").json()
    assert seen["run"] != before
    assert len(seen["category"]) == 150 + len(TEXTS)
    assert "my name" in {c["name"] for c in seen["categories"]}
    assert (run / layout.EARLIER_EDITS).exists()
    assert client.post("/api/search", json={"text": TEXTS[0]}).status_code == 200
    bench.close()
    assert len(Discovery.load(run).labels_) == 150 + len(TEXTS)


def test_a_run_that_cannot_be_written_keeps_its_texts(
    client: TestClient, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    assigned(client, TEXTS)
    monkeypatch.setattr("subtaxa.app.new_texts.save_run", full)
    client.post("/api/new-keep", json={})
    failed = wait(client, "failed", "kept")
    assert "No space left" in failed["problem"]
    assert len(client.get("/api/state").json()["category"]) == 150


@pytest.mark.parametrize(("path", "sent"), [("new-keep", {}), ("new-assign", {"upload": 9, "text": "message"})])
def test_nothing_to_work_on_is_one_sentence(client: TestClient, path: str, sent: Any) -> None:
    answer = client.post(f"/api/{path}", json=sent)
    assert answer.status_code == 422
    assert "\n" not in answer.json()["problem"]


def test_a_file_without_texts_is_refused(client: TestClient) -> None:
    upload = drop(client, [" ", ""])
    for column in ("message", "nothing"):
        answer = client.post("/api/new-assign", json={"upload": upload, "text": column})
        assert answer.status_code == 422, column
    assert client.get("/api/new").json()["state"] == "none"
