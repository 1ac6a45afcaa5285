"""The real command: its link, Ctrl-C, and a kill."""

from __future__ import annotations

import http.client
import json
import re
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from helpers import forks

from subtaxa.cli.main import main
from subtaxa.discovery import Discovery
from subtaxa.runs import layout
from subtaxa.runs.manifest import shows_log


class Opened:
    """A process of `subtaxa open`, and a client with its cookie."""

    def __init__(self, *arguments: str, cwd: Path | None = None) -> None:
        self.process = forks.Fork(forks.command, "open", "--no-browser", "--quiet", *arguments, cwd=cwd)
        link = urlsplit(self.process.first_line())
        assert link.hostname == "127.0.0.1"
        self.address, self.port = link.netloc, int(link.port or 0)
        entrance = self.ask("GET", f"/?{link.query}")
        found = re.match(r"(subtaxa_\d+=[^;]+)", entrance.getheader("set-cookie") or "")
        assert found is not None
        self.cookie = found[1]

    cookie = ""

    def ask(self, method: str, path: str, content: Any = None) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        headers = {"Cookie": self.cookie, "Origin": f"http://{self.address}", "Content-Type": "application/json"}
        connection.request(method, path, None if content is None else json.dumps(content), headers)
        return connection.getresponse()

    def rename(self, known: int, name: str) -> None:
        state = json.loads(self.ask("GET", "/api/state").read())
        correction = {"do": "rename", "category": state["categories"][0]["id"], "name": name}
        assert self.ask("POST", "/api/edit", {"known": known, "correction": correction}).status == 200

    def end(self, number: signal.Signals) -> tuple[int | None, str, str]:
        self.process.send_signal(number)
        out, error = self.process.communicate()
        return self.process.returncode, out, error


@pytest.fixture
def opened(run: Path) -> Iterator[Opened]:
    opened = Opened(str(run))
    yield opened
    if opened.process.poll() is None:
        opened.end(signal.SIGKILL)


def test_ctrl_c_ends_it_with_everything_saved(opened: Opened, run: Path) -> None:
    assert opened.ask("GET", "/").status == 200
    opened.rename(0, "by the process")
    code, out, error = opened.end(signal.SIGINT)
    assert (code, error) == (0, "")
    assert out.endswith("Everything is saved.\n")
    assert shows_log(run)
    assert "by the process" in (run / "categories.csv").read_text()


def test_a_kill_leaves_a_whole_run(opened: Opened, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opened.rename(0, "before the kill")
    opened.end(signal.SIGKILL)
    assert "before the kill" in {c.name for c in Discovery.load(run).taxonomy_}
    assert main(["rename", str(run), "before the kill", "after the kill"]) == 0
    assert shows_log(run)
    assert "after the kill" in (run / layout.REPORT).read_text()


@pytest.mark.parametrize(("path", "kind"), [("edit", "json"), ("upload?name=a.csv", "octet-stream")])
def test_a_request_that_breaks_off_leaves_no_trace(opened: Opened, path: str, kind: str) -> None:
    head = f"POST /api/{path} HTTP/1.1\r\nHost: {opened.address}\r\nOrigin: http://{opened.address}\r\n"
    head += f"Cookie: {opened.cookie}\r\nContent-Type: application/{kind}\r\nContent-Length: 1000\r\n\r\n{{"
    with socket.create_connection(("127.0.0.1", opened.port)) as connection:
        connection.sendall(head.encode())
    assert opened.ask("GET", "/api/state").status == 200
    code, _, error = opened.end(signal.SIGINT)
    assert (code, error) == (0, "")


def test_it_listens_on_this_machine_only(opened: Opened) -> None:
    listening = Path("/proc/net/tcp")
    if not listening.exists():
        pytest.skip("only Linux lists its ports in /proc")
    found = [line.split()[1] for line in listening.read_text().splitlines()[1:] if line.split()[3] == "0A"]
    assert f"0100007F:{opened.port:04X}" in found
    assert f"00000000:{opened.port:04X}" not in found
    opened.end(signal.SIGTERM)
    assert opened.process.returncode == 128 + signal.SIGTERM


def test_without_a_run_it_lists_the_folder(saved: Path) -> None:
    opened = Opened(cwd=saved.parent)
    try:
        listed = json.loads(opened.ask("GET", "/api/start").read())
        assert [run["folder"] for run in listed["runs"]] == ["run"]
    finally:
        code, _, _ = opened.end(signal.SIGINT)
    assert code == 0
