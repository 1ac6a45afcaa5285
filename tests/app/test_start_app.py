"""The app without a run: what it lists, a job that is finished, stopped and continued, and what it refuses."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.corpus import planted_corpus
from starlette.testclient import TestClient

from subtaxa.app import jobs
from subtaxa.app.desk import Desk
from subtaxa.app.guard import Guard, Keys
from subtaxa.app.start_app import start_app
from subtaxa.cli.main import main
from subtaxa.data.tables import csv_text
from subtaxa.runs import layout, reading

TEXTS, LABELS, _ = planted_corpus(per_topic=12)
TABLE = csv_text({"text": TEXTS, "label": LABELS}).encode()
BYTES = {"content-type": "application/octet-stream"}


@pytest.fixture
def desk(tmp_path: Path, saved: Path) -> Iterator[Desk]:
    place = tmp_path / "place"
    shutil.copytree(saved, place / "earlier")
    desk = Desk(place)
    yield desk
    desk.close()


@pytest.fixture
def client(desk: Desk, keys: Keys) -> TestClient:
    client = TestClient(Guard(start_app(desk), keys), base_url=keys.origin)
    client.get(f"/?token={keys.token}")
    client.headers["origin"] = keys.origin
    return client


def upload(client: TestClient, name: str = "tickets.csv", content: bytes = TABLE) -> Any:
    return client.post("/api/upload", params={"name": name}, content=content, headers=BYTES).json()


def asked(number: int, encoder: str, **changes: Any) -> dict[str, Any]:
    plain = {"text": "text", "label": "label", "preset": "quick", "categories": "auto", "encoder": encoder}
    return {"upload": number, **plain, **changes}


def wait(client: TestClient, *states: str) -> Any:
    """The job, once it is in one of these states."""
    for _ in range(9000):
        job = client.get("/api/start").json()["job"]
        if job["state"] in states:
            return job
        time.sleep(0.1)
    raise AssertionError(job)


def test_runs_are_listed_opened_and_edited(client: TestClient, desk: Desk) -> None:
    listed = client.get("/api/start").json()["runs"]
    assert [(run["folder"], run["finished"], run["texts"]) for run in listed] == [("earlier", True, 150)]
    page = client.get(f"/run/{listed[0]['key']}/")
    assert page.status_code == 200
    assert 'href="/">All runs' in page.text
    base = f"/run/{listed[0]['key']}/api"
    first = client.get(f"{base}/state").json()["categories"][0]["id"]
    rename = {"known": 0, "correction": {"do": "rename", "category": first, "name": "seen"}}
    assert client.post(f"{base}/edit", json=rename).status_code == 200
    desk.close()
    assert "seen" in (desk.place / "earlier" / "categories.csv").read_text()


def test_an_unknown_or_damaged_run_is_one_sentence(client: TestClient, desk: Desk) -> None:
    missing = client.get("/run/7/")
    assert missing.status_code == 404
    assert "no such run" in missing.text
    key = client.get("/api/start").json()["runs"][0]["key"]
    (desk.place / "earlier" / layout.CLUSTERS).write_bytes(b"x")
    damaged = client.get(f"/run/{key}/")
    assert damaged.status_code == 404
    assert 'role="alert"' in damaged.text
    (desk.place / "earlier" / layout.RUN).write_text("{")
    assert client.get("/api/start").json()["runs"] == []


def test_only_listed_runs_can_be_reached(client: TestClient, tmp_path: Path, saved: Path) -> None:
    for path in ("/run/-1/", "/run/../../etc/", "/run/%2e%2e/", f"/run/{saved}/"):
        assert client.get(path).status_code == 404
    (tmp_path / "place" / "link").symlink_to(saved)
    assert [run["folder"] for run in client.get("/api/start").json()["runs"]] == ["earlier"]


def test_a_job_runs_to_the_end(client: TestClient, desk: Desk, tiny_encoder: str) -> None:
    found = upload(client)
    assert (found["text"], found["label"]) == ("text", "label")
    begun = client.post("/api/discover", json=asked(found["upload"], tiny_encoder)).json()
    assert begun["job"]["state"] == "running"
    again = upload(client)
    busy = client.post("/api/discover", json=asked(again["upload"], tiny_encoder))
    assert "another file is being worked on" in busy.json()["problem"]
    job = wait(client, "finished", "failed")
    assert (job["state"], job["problem"]) == ("finished", "")
    assert f"{len(TEXTS)} texts in 3 labels" in job["lines"]
    assert reading.read_run(desk.place / "tickets" / "run")["data"]["texts"] == len(TEXTS)
    assert client.get(f"/run/{job['key']}/").status_code == 200
    assert (desk.place / "tickets" / "tickets.csv").read_bytes() == TABLE


@pytest.mark.usefixtures("jobs_in_forks")
def test_a_stopped_job_is_continued(client: TestClient, desk: Desk, tiny_encoder: str) -> None:
    found = upload(client, content=csv_text(dict(zip(("text", "label"), planted_corpus(30)[:2], strict=True))).encode())
    client.post("/api/discover", json=asked(found["upload"], tiny_encoder, preset="default"))
    run = desk.place / "tickets" / "run"
    for _ in range(9000):
        if (run / layout.CHECKPOINT / layout.IDENTITY).exists():
            break
        time.sleep(0.1)
    client.post("/api/stop", json={})
    job = wait(client, "stopped", "finished")
    assert job["state"] == "stopped"
    listed = next(r for r in client.get("/api/start").json()["runs"] if not r["finished"])
    assert listed["can_resume"]
    assert listed["key"] == job["key"]
    assert client.post("/api/resume", json={"key": job["key"]}).json()["job"]["state"] == "running"
    assert wait(client, "finished", "failed")["state"] == "finished"
    assert reading.read_run(run)["data"]["texts"] == 180


@pytest.mark.usefixtures("jobs_in_forks")
def test_a_job_that_fails_says_why_in_one_sentence(client: TestClient, tmp_path: Path) -> None:
    found = upload(client)
    (tmp_path / "nothing").mkdir()
    client.post("/api/discover", json=asked(found["upload"], str(tmp_path / "nothing")))
    job = wait(client, "failed", "finished")
    assert job["state"] == "failed"
    assert "nothing" in job["problem"]
    assert not job["problem"].startswith("subtaxa")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"text": "nothing"}, "columns"),
        ({"label": "text"}, "same column"),
        ({"preset": "--help"}, "preset"),
        ({"upload": 99}, "another file"),
    ],
)
def test_a_wrong_request_starts_nothing(client: TestClient, desk: Desk, changes: Any, says: str) -> None:
    found = upload(client)
    answer = client.post("/api/discover", json=asked(found["upload"], "") | changes)
    assert answer.status_code == 422
    assert says in answer.json()["problem"]
    assert desk.job is None
    assert sorted(path.name for path in desk.place.iterdir()) == ["earlier"]


def test_an_upload_must_come_from_the_page(client: TestClient) -> None:
    form = client.post("/api/upload?name=a.csv", files={"file": ("a.csv", TABLE)})
    assert form.status_code == 422
    forged = client.post("/api/upload?name=a.csv", content=TABLE, headers=BYTES | {"origin": "http://evil.example"})
    assert forged.status_code == 403
    assert "supported" in upload(client, "evil.exe")["problem"]


@pytest.mark.parametrize(
    "changes",
    [
        {"file": "../other.csv"},
        {"file": "/etc/passwd"},
        {"file": "a/b.csv"},
        {"file": "linked.csv"},
        {"encoder": "evil/model"},
        {"encoder": "bge-small@main"},
        {"text": "a\0b"},
        {"label": "\0"},
        {"categories": "\0"},
        {"preset": "evil"},
    ],
)
def test_what_was_asked_for_may_come_from_a_stranger(tmp_path: Path, changes: dict[str, str]) -> None:
    """A stranger's folder, once continued, must not read other files, download a model or end in a traceback."""
    (tmp_path / "texts.csv").write_bytes(TABLE)
    (tmp_path / "linked.csv").symlink_to("/etc/passwd")
    asked = {"file": "texts.csv", "text": "text", "label": None, "preset": "quick", "categories": "auto", "encoder": ""}
    (tmp_path / jobs.REQUEST).write_text(json.dumps(asked | changes))
    with pytest.raises(jobs.InputError, match=r"damaged|is no folder|NUL|no preset"):
        jobs.Job(tmp_path, resume=True)


def test_a_link_to_what_was_asked_for_is_not_followed(tmp_path: Path) -> None:
    asked = {"file": "texts.csv", "text": "text", "label": None, "preset": "quick", "categories": "auto", "encoder": ""}
    (tmp_path / "elsewhere.json").write_text(json.dumps(asked))
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "texts.csv").write_bytes(TABLE)
    (tmp_path / "home" / jobs.REQUEST).symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(jobs.InputError, match="damaged"):
        jobs.Job(tmp_path / "home", resume=True)


def test_runs_behind_a_link_are_not_listed(client: TestClient, desk: Desk, tmp_path: Path, saved: Path) -> None:
    shutil.copytree(saved, tmp_path / "outside" / "run")
    (desk.place / "linked").symlink_to(tmp_path / "outside")
    (desk.place / "run").symlink_to(tmp_path / "outside" / "run")
    assert [run["folder"] for run in client.get("/api/start").json()["runs"]] == ["earlier"]


@pytest.mark.parametrize("key", ["9" * 5000, "\u0661", "-1", "1e3", "x"])
def test_an_absurd_address_of_a_run_is_not_found(client: TestClient, key: str) -> None:
    assert client.get(f"/run/{key}/").status_code == 404


def test_two_listed_runs_are_compared(client: TestClient, desk: Desk, saved: Path) -> None:
    shutil.copytree(saved, desk.place / "later")
    merged = [c["id"] for c in json.loads((saved / layout.TAXONOMY).read_text()) if c["parent"] == "money"][:2]
    assert main(["merge", str(desk.place / "later"), *map(str, merged), "--quiet"]) == 0
    keys = {run["folder"]: run["key"] for run in client.get("/api/start").json()["runs"]}
    page = client.get("/compare", params={"a": keys["earlier"], "b": keys["later"]})
    assert page.status_code == 200
    assert 'From <bdi dir="auto">earlier</bdi> to <bdi dir="auto">later</bdi>' in page.text
    assert 'class="kind merged"' in page.text
    assert "script-src ;" in page.headers["content-security-policy"]
    for wrong in ({"a": 0, "b": 99}, {"a": "x", "b": "0"}, {"a": 0}, {"a": "-1", "b": "-2"}):
        refused = client.get("/compare", params=wrong)
        assert refused.status_code == 404
        assert "This run cannot be shown" in refused.text
