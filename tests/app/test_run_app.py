"""The app of a run, without a browser: what it answers, what it writes, and what it refuses."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from helpers.corpus import planted_corpus
from starlette.testclient import TestClient

from subtaxa.app import endpoints
from subtaxa.app.guard import Guard, Keys
from subtaxa.app.run_app import run_app
from subtaxa.app.workbench import Workbench
from subtaxa.cli.main import main
from subtaxa.discovery import Discovery
from subtaxa.runs import layout, reading
from subtaxa.runs.manifest import shows_log

TEXTS, LABELS, _ = planted_corpus(per_topic=25)


def state(client: TestClient) -> dict[str, Any]:
    return client.get("/api/state").json()


def edit(client: TestClient, known: int, **correction: Any) -> Any:
    return client.post("/api/edit", json={"known": known, "correction": correction})


def log(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / layout.EDITS).read_text().splitlines()]


def siblings(found: dict[str, Any]) -> list[dict[str, Any]]:
    """The categories of the label that has the most."""
    by_label: dict[int, list[dict[str, Any]]] = {}
    for category in found["categories"]:
        by_label.setdefault(category["label"], []).append(category)
    return max(by_label.values(), key=len)


def rows_of(run: Path, found: dict[str, Any], category: int) -> list[int]:
    rows = reading.read_assignments(run, ["row"])["row"]
    return [row for row, id_ in zip(rows, found["category"], strict=True) if id_ == category]


def test_each_edit_is_in_the_log_before_it_is_answered(client: TestClient, run: Path) -> None:
    first, second = siblings(state(client))[:2]
    assert edit(client, 0, do="rename", category=first["id"], name="given name").status_code == 200
    assert log(run)[-1]["do"] == "rename"
    merged = edit(client, 1, do="merge", categories=[first["id"], second["id"]]).json()
    assert second["id"] not in [c["id"] for c in merged["categories"]]
    split = edit(client, 2, do="split", category=first["id"], into=2).json()
    assert len(split["categories"]) == len(merged["categories"]) + 1
    assert [entry["do"] for entry in log(run)] == ["rename", "merge", "split"]
    assert [entry["active"] for entry in split["log"]] == [True] * 3
    assert Discovery.load(run).labels_.tolist() == split["category"]


def test_undo_and_redo_go_back_and_forth(client: TestClient, run: Path) -> None:
    before = state(client)
    chosen = max(siblings(before), key=lambda c: before["category"].count(c["id"]))
    after = edit(client, 0, do="split", category=chosen["id"], into=3).json()
    after = edit(client, 1, do="rename", category=after["categories"][0]["id"], name="mine").json()
    undone = client.post("/api/undo", json={"known": 2}).json()
    undone = client.post("/api/undo", json={"known": 3}).json()
    assert undone["categories"] == before["categories"]
    assert undone["redo"] == after["log"][0]["says"]
    again = client.post("/api/redo", json={"known": 4}).json()
    again = client.post("/api/redo", json={"known": 5}).json()
    assert again["category"] == after["category"]
    assert [c["name"] for c in again["categories"]] == [c["name"] for c in after["categories"]]
    assert again["redo"] is None
    assert "no undone edit" in client.post("/api/redo", json={"known": 6}).json()["problem"]
    assert Discovery.load(run).labels_.tolist() == after["category"]


def test_a_new_edit_ends_what_can_be_redone(client: TestClient) -> None:
    first = state(client)["categories"][0]["id"]
    edit(client, 0, do="rename", category=first, name="one")
    client.post("/api/undo", json={"known": 1})
    assert edit(client, 2, do="rename", category=first, name="two").json()["redo"] is None


def test_the_preview_of_a_split_is_what_the_split_makes(client: TestClient) -> None:
    before = state(client)
    chosen = max(siblings(before), key=lambda c: before["category"].count(c["id"]))
    parts = client.post("/api/parts", json={"category": chosen["id"], "into": 2}).json()["parts"]
    assert state(client)["categories"] == before["categories"]
    after = edit(client, 0, do="split", category=chosen["id"], into=2).json()
    new = [c for c in after["categories"] if c["id"] not in {c["id"] for c in before["categories"]}]
    sizes = sorted(part["size"] for part in parts)
    assert sizes == sorted(after["category"].count(i) for i in (chosen["id"], new[0]["id"]))
    assert new[0]["name"] in [part["name"] for part in parts]
    assert all(part["examples"] for part in parts)


def test_texts_move_to_another_and_to_a_new_category(client: TestClient, run: Path) -> None:
    found = state(client)
    first, second = siblings(found)[:2]
    rows, others = rows_of(run, found, first["id"]), rows_of(run, found, second["id"])
    moved = edit(client, 0, do="move", rows=rows[:2], to=second["id"]).json()
    assert rows_of(run, moved, second["id"]) == sorted([*others, *rows[:2]])
    made = edit(client, 1, do="new", rows=[*rows[2:6], others[0]], name="a new one").json()
    new = next(c["id"] for c in made["categories"] if c["name"] == "a new one")
    assert rows_of(run, made, new) == sorted([*rows[2:6], others[0]])
    wrong = edit(client, made["edits"], do="wrong", rows=[rows[7]]).json()
    assert rows[7] not in rows_of(run, wrong, first["id"])
    assert Discovery.load(run).labels_.tolist() == wrong["category"]


def test_a_new_category_is_refused_if_it_is_none(client: TestClient, run: Path) -> None:
    found = state(client)
    first, second = siblings(found)[:2]
    whole = rows_of(run, found, first["id"])
    assert "whole categories" in edit(client, 0, do="new", rows=whole, name="x").json()["problem"]
    elsewhere = next(c["id"] for c in found["categories"] if c["label"] != first["label"])
    mixed = [whole[0], rows_of(run, found, elsewhere)[0]]
    assert "one label" in edit(client, 0, do="new", rows=mixed, name="").json()["problem"]
    assert "already" in edit(client, 0, do="new", rows=whole[:2], name=second["name"]).json()["problem"]
    assert state(client)["edits"] == 0


def test_recut_and_the_quality_in_words(client: TestClient) -> None:
    found = state(client)
    cut = edit(client, 0, do="recut", categories=len(found["categories"]) - 1).json()
    assert len(cut["categories"]) == len(found["categories"]) - 1
    assert {fact["name"] for fact in cut["quality"]["facts"]} == {
        "How sure",
        "How stable",
        "Outliers",
        "Suspect labels",
    }
    assert {c["id"] for c in cut["quality"]["first"]} <= {c["id"] for c in cut["categories"]}


def test_what_is_alike_across_labels_is_of_two_labels(client: TestClient) -> None:
    found = state(client)
    label = {c["id"]: c["label"] for c in found["categories"]}
    assert all(label[a] != label[b] for a, b, _ in found["across"])
    similarity = [near for _, _, near in found["across"]]
    assert similarity == sorted(similarity, reverse=True)


def test_a_second_tab_loses_nothing(client: TestClient, run: Path) -> None:
    first = state(client)["categories"][0]["id"]
    assert edit(client, 0, do="rename", category=first, name="by the first tab").status_code == 200
    late = edit(client, 0, do="rename", category=first, name="by the second tab")
    assert late.status_code == 409
    assert "changed elsewhere" in late.json()["problem"]
    assert "by the first tab" in late.json()["problem"]
    assert late.json()["state"]["edits"] == 1
    assert [entry["name"] for entry in log(run)] == ["by the first tab"]


def test_a_command_in_a_terminal_loses_nothing(client: TestClient, run: Path) -> None:
    first, second = siblings(state(client))[:2]
    edit(client, 0, do="rename", category=first["id"], name="by the app")
    assert main(["rename", str(run), str(second["id"]), "by the terminal"]) == 0
    assert edit(client, 1, do="rename", category=first["id"], name="too late").status_code == 409
    seen = state(client)
    assert {"by the app", "by the terminal"} <= {c["name"] for c in seen["categories"]}
    assert edit(client, 2, do="rename", category=first["id"], name="in time").status_code == 200


def test_many_tabs_at_once_are_answered_one_after_another(client: TestClient, run: Path) -> None:
    first = state(client)["categories"][0]["id"]
    codes: list[int] = []

    def rename(number: int) -> None:
        codes.append(edit(client, 0, do="rename", category=first, name=f"tab {number}").status_code)

    threads = [threading.Thread(target=rename, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(codes) == [200, 409, 409, 409, 409, 409]
    assert len(log(run)) == 1


def test_questions_are_answered_skipped_and_undone(client: TestClient) -> None:
    card = client.get("/api/question").json()
    nodes = card["question"]["nodes"]
    assert all(side["texts"] for side in card["question"]["sides"])
    answered = client.post("/api/answer", json={"known": 0, "nodes": nodes, "same": False})
    assert answered.status_code == 200
    card = client.get("/api/question").json()
    assert card["answers"] == 1
    if card["question"]:
        assert card["question"]["nodes"] != nodes
        client.post("/api/answer", json={"known": 1, "nodes": card["question"]["nodes"], "same": None})
        assert client.get("/api/question").json()["answers"] == 1
    stale = client.post("/api/answer", json={"known": 1, "nodes": nodes, "same": True})
    assert stale.status_code == 409
    assert client.post("/api/undo", json={"known": 1, "only": "answer"}).json()["edits"] == 2
    assert client.get("/api/question").json()["answers"] == 0
    first = state(client)["categories"][0]["id"]
    edit(client, 2, do="rename", category=first, name="no answer")
    assert "not an answer" in client.post("/api/undo", json={"known": 3, "only": "answer"}).json()["problem"]


def test_find_by_meaning_and_more_like_this(client: TestClient) -> None:
    found = client.post("/api/search", json={"text": "parcel courier lost"}).json()
    assert len(found["texts"]) == 25
    assert "parcel" in {LABELS[i].replace("post", "parcel") for i, _ in found["texts"][:10]}
    similarity = [near for _, near in found["texts"]]
    assert similarity == sorted(similarity, reverse=True)
    like = client.post("/api/search", json={"row": 1}).json()
    assert 0 not in [i for i, _ in like["texts"]]
    assert "row 99999" in client.post("/api/search", json={"row": 99_999}).json()["problem"]
    assert "empty" in client.post("/api/search", json={"text": " \0 "}).json()["problem"]


def test_loading_the_encoder_stops_nobody(
    client: TestClient, bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    reader = bench.current().reader
    embed = reader.reader.embed  # type: ignore[attr-defined]

    def slow(phrases: list[str]) -> Any:
        begun.set()
        assert go_on.wait(60)
        return embed(phrases)

    monkeypatch.setattr(reader.reader, "embed", slow)  # type: ignore[attr-defined]
    answers: list[Any] = []
    search = threading.Thread(target=lambda: answers.append(client.post("/api/search", json={"text": "refund"})))
    search.start()
    assert begun.wait(60)
    first = state(client)["categories"][0]["id"]
    assert edit(client, 0, do="rename", category=first, name="meanwhile").status_code == 200
    go_on.set()
    search.join()
    assert answers[0].status_code == 200


@pytest.mark.parametrize(
    ("path", "sent", "says"),
    [
        ("edit", {"known": 0, "correction": {"do": "rename", "category": 9999, "name": "x"}}, "no category 9999"),
        ("edit", {"known": 0, "correction": {"do": "rename", "category": "0", "name": "x"}}, "cannot be"),
        ("edit", {"known": 0, "correction": {"do": "rename", "category": 0, "name": " "}}, "empty"),
        ("edit", {"known": 0, "correction": {"do": "explode"}}, "not a kind"),
        ("edit", {"known": 0, "correction": {"do": "merge", "categories": []}}, "at least two"),
        ("edit", {"known": 0, "correction": {}}, "no 'do'"),
        ("edit", {"known": 0, "correction": {"do": "move", "rows": [10**9], "to": 0}}, "no text has row"),
        ("edit", {"known": 0, "correction": {"do": "recut", "categories": 10**6}}, "categories"),
        ("edit", {"known": "0", "correction": {"do": "undo"}}, "'known'"),
        ("edit", [], "cannot be used"),
        ("undo", {"known": 0}, "no edit to undo"),
        ("parts", {"category": 9999, "into": 2}, "no category"),
        ("parts", {"category": 0, "into": 10**6}, "cannot be split"),
        ("search", {"texts": ["a"]}, "cannot be used"),
    ],
)
def test_a_wrong_request_is_one_sentence_and_changes_nothing(
    client: TestClient, run: Path, path: str, sent: Any, says: str
) -> None:
    answer = client.post(f"/api/{path}", json=sent)
    assert answer.status_code == 422
    assert says in answer.json()["problem"]
    assert "\n" not in answer.json()["problem"]
    assert not (run / layout.EDITS).exists()


def test_a_request_that_is_too_large_or_no_json_is_refused(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "MAX_BYTES", 1000)
    assert "larger" in client.post("/api/search", json={"text": "x" * 1001}).json()["problem"]
    headers = {"content-type": "application/json"}
    for body in (b"{", b"\xff", b"[" * 900, b'{"text": NaN}'):
        assert client.post("/api/search", content=body, headers=headers).status_code == 422


def test_a_run_that_was_damaged_meanwhile_is_one_sentence(client: TestClient, run: Path) -> None:
    (run / layout.RUN).write_text("{}")
    answer = client.get("/api/state")
    assert answer.status_code == 422
    assert "discover again" in answer.json()["problem"]
    shutil.rmtree(run)
    assert "no folder" in client.get("/api/state").json()["problem"]


def test_an_edit_that_cannot_be_written_is_forgotten(
    client: TestClient, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = state(client)["categories"][0]
    with monkeypatch.context() as patch:

        def full(*_: Any, **__: Any) -> None:
            raise OSError(28, "No space left on device")

        patch.setattr("subtaxa.runs.edit_session.save_log", full)
        answer = edit(client, 0, do="rename", category=first["id"], name="lost")
        assert answer.status_code == 500
        assert "No space left" in answer.json()["problem"]
    assert state(client)["categories"][0]["name"] == first["name"]
    assert edit(client, 0, do="rename", category=first["id"], name="kept").status_code == 200


def test_hostile_texts_stay_texts(quick: dict[str, object], tmp_path: Path, keys: Keys) -> None:
    evil = ["</script><script>alert(1)</script>", "<img src=x onerror=alert(2)>", "\u2028\u202e refund"]
    model = Discovery(4, **quick).fit([*TEXTS, *evil], [*LABELS, *["money"] * 3])  # type: ignore[arg-type]
    app = Guard(run_app(Workbench(model.save(tmp_path / "evil"))), keys)
    client = TestClient(app, base_url=keys.origin)
    client.get(f"/?token={keys.token}")
    page = client.get("/").text
    for path in ("/api/state", "/api/question"):
        assert "<" not in client.get(path).text
    assert page.count("</script>") == 3  # the data, d3, our script
    assert "<img src=x" not in page


def test_closing_brings_tables_and_report_up_to_date(client: TestClient, bench: Workbench, run: Path) -> None:
    first = state(client)["categories"][0]["id"]
    edit(client, 0, do="rename", category=first, name="shown everywhere")
    assert not shows_log(run)
    bench.close()
    assert shows_log(run)
    assert "shown everywhere" in (run / "categories.csv").read_text()
    assert "shown everywhere" in (run / layout.REPORT).read_text()


def test_the_interface_describes_itself(client: TestClient) -> None:
    spec = client.get("/api/openapi.json").json()
    assert spec["openapi"].startswith("3.")
    for path, methods in spec["paths"].items():
        for method in methods:
            assert client.request(method, path, json={}).status_code in (200, 422), path
    assert "409" in spec["paths"]["/api/edit"]["post"]["responses"]
