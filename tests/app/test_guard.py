"""Who may talk to the app: the link, the cookie, the Host and the Origin."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers.commands import refused
from starlette.testclient import TestClient

from subtaxa.app.guard import Guard, Keys
from subtaxa.app.run_app import run_app
from subtaxa.app.server import is_loopback
from subtaxa.app.workbench import Workbench

EDIT = {"known": 0, "correction": {"do": "rename", "category": 0, "name": "other"}}


def test_the_link_gives_a_cookie_that_scripts_cannot_read(stranger: TestClient, keys: Keys) -> None:
    assert stranger.get("/").status_code == 403
    entrance = stranger.get(f"/?token={keys.token}")
    cookie = entrance.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert keys.cookie not in entrance.text
    assert stranger.get("/").status_code == 200


def test_the_link_for_the_browser_works_once(stranger: TestClient, keys: Keys) -> None:
    once = keys.once
    assert stranger.get(f"/?token={once}").status_code == 200
    stranger.cookies.clear()
    assert stranger.get(f"/?token={once}").status_code == 403
    assert stranger.get(f"/?token={keys.token}").status_code == 200


@pytest.mark.parametrize("token", ["", "x", "é", "a" * 10_000])
def test_a_wrong_token_gives_nothing(stranger: TestClient, token: str) -> None:
    refused = stranger.get("/", params={"token": token})
    assert refused.status_code == 403
    assert "set-cookie" not in refused.headers


@pytest.mark.parametrize("path", ["/", "/api/state", "/api/question", "/api/openapi.json", "/nothing"])
def test_without_the_cookie_every_address_is_refused(stranger: TestClient, path: str) -> None:
    assert stranger.get(path).status_code == 403
    stranger.cookies.set("subtaxa_4567", "x" * 43)
    assert stranger.get(path).status_code == 403


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost:4567", "127.0.0.1:80", "127.0.0.1:4567.evil"])
def test_another_host_is_refused(client: TestClient, host: str) -> None:
    """A name of an attacker may point to this machine (DNS rebinding)."""
    assert client.get("/", headers={"host": host}).status_code == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:4567", ""])
def test_a_forged_request_changes_nothing(client: TestClient, origin: str) -> None:
    """A page of another site can send the cookie's owner to the app, but not with the app's Origin."""
    assert client.post("/api/edit", json=EDIT, headers={"origin": origin}).status_code == 403
    del client.headers["origin"]
    assert client.post("/api/edit", json=EDIT).status_code == 403
    assert client.get("/api/state").json()["edits"] == 0


def test_a_cross_site_form_is_refused(client: TestClient) -> None:
    assert client.post("/api/edit", json=EDIT, headers={"sec-fetch-site": "cross-site"}).status_code == 403
    form = client.post("/api/edit", data={"known": 0})
    assert form.status_code == 422
    assert "application/json" in form.json()["problem"]


def test_every_answer_has_the_security_headers(client: TestClient, stranger: TestClient) -> None:
    for path in ("/", "/api/state", "/nothing"):
        headers = client.get(path).headers
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]


def test_only_the_scripts_of_the_page_may_run(client: TestClient) -> None:
    page = client.get("/")
    policy = page.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert len(re.findall("'sha256-", policy)) == 3  # d3, our script, our style
    assert "connect-src 'self'" in policy


@pytest.mark.parametrize(("host", "address"), [("192.168.1.7", "192.168.1.7:8000"), ("::1", "[::1]:8000")])
def test_with_another_address_only_that_one_is_served(host: str, address: str, bench: Workbench) -> None:
    keys = Keys(8000, host)
    client = TestClient(Guard(run_app(bench), keys), base_url=keys.origin)
    assert client.get(f"/?token={keys.token}", headers={"host": address}).status_code == 200
    assert client.get("/api/state", headers={"host": address}).status_code == 200
    assert client.get("/api/state", headers={"host": "127.0.0.1:8000"}).status_code == 403


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "203.0.113.9", "no such host.invalid"])  # noqa: S104
def test_an_address_that_is_not_one_of_this_machine_is_refused(
    host: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "--host" in refused(capsys, ["open", str(run), "--no-browser", "--quiet", "--host", host])


def test_only_loopback_addresses_need_no_warning() -> None:
    assert all(is_loopback(host) for host in ("127.0.0.1", "127.8.8.8", "::1", "localhost"))
    assert not any(is_loopback(host) for host in ("192.168.1.7", "example.org", "localhost.example.org"))
