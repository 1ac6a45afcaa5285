"""Who may talk to the app: the link, the cookie, the Host and the Origin."""

from __future__ import annotations

import re

import pytest
from starlette.testclient import TestClient

from subtaxa.app.guard import Keys

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
