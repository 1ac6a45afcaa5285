"""The output is harmless: no control sequences, files that follow the user's umask, and no network traffic.

Tests of spreadsheet formulas are in tests/data/test_tables.py and tests/cli/test_main.py. Tests of the report's
escaping are in tests/report/.
"""

from __future__ import annotations

import ast
import csv
import io
import os
import stat
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from helpers.commands import refused
from helpers.corpus import planted_corpus
from helpers.run_files import CATEGORIES, write_run
from hypothesis import given, settings
from hypothesis import strategies as st

import subtaxa
from subtaxa.cli.main import main
from subtaxa.runs import layout
from subtaxa.runtime import terminal
from subtaxa.runtime.atomic_files import write_whole
from subtaxa.runtime.progress import LineProgress, RichProgress
from subtaxa.runtime.terminal import PrintableBytes, printable

SOURCE = Path(subtaxa.__file__).parent
EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\x90q\x85\u202egnp.exe\u2066\u200f\x08\x7f\r"
CONTROLS = {chr(c) for c in (*range(32), *range(0x7F, 0xA0))} - {"\n", "\t"} | set(
    "\u200e\u200f\u202a\u202b\u202c\u202d\u202e"
)
CONTROLS |= set("\u2066\u2067\u2068\u2069\u061c\u2028\u2029\ufeff")


def harmless(text: str) -> bool:
    return not CONTROLS & set(text)


@settings(max_examples=50, derandomize=True, deadline=None, database=None)
@given(st.text() | st.text("\x1b[]0;m\x07\x9b\u202ea\n\t"))
def test_printable_removes_control_characters(text: str) -> None:
    shown = printable(text)
    assert harmless(shown)
    assert len(shown) == len(text)
    assert printable(shown) == shown


@cache
def syntax() -> list[tuple[str, ast.AST]]:
    """Every node of the syntax of the package, with the name of its file."""
    trees = [(path, ast.parse(path.read_text("utf-8"))) for path in sorted(SOURCE.rglob("*.py"))]
    return [(path.relative_to(SOURCE).as_posix(), node) for path, tree in trees for node in ast.walk(tree)]


def test_only_two_modules_print() -> None:
    """Both make the text printable first, so no other module can print unsafe text."""
    found = []
    for name, node in syntax():
        named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
        if named and not ast.unparse(node.args[0]).startswith("printable("):
            found.append(f"{name}:{node.lineno}")
        elif named:
            assert name in ("runtime/terminal.py", "runtime/progress.py")
    assert found == []


def hostile_run(folder: Path) -> Path:
    """A run whose labels, names, source and texts all hold escape sequences."""
    write_run(folder)
    for name in (layout.TAXONOMY, layout.RUN, "assignments.csv"):
        text = (folder / name).read_text()
        evil = EVIL.replace("\r", "") if name.endswith("csv") else ascii(EVIL).strip("'").replace("\\x", "\\u00")
        for word in ("money", "refund", "x.csv", "parcel", "packaged"):
            text = text.replace(word, f"{word}{evil}")
        (folder / name).write_text(text, newline="")
    return folder


@pytest.mark.parametrize("options", [[], ["--outliers"]])
def test_info_of_a_hostile_run(tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str]) -> None:
    assert main(["info", str(hostile_run(tmp_path / f"run{EVIL}".replace("\0", ""))), *options]) == 0
    shown = capsys.readouterr()
    assert "parcel\N{REPLACEMENT CHARACTER}" in shown.out
    assert harmless(shown.out + shown.err)


def test_errors_about_hostile_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / f"{EVIL}.csv"
    path.write_text(f'text{EVIL[:-1]},"label{EVIL}",z\nx,a,b\n', newline="")
    out = ["--out", str(tmp_path / f"run{EVIL}")]
    for arguments in (
        ["discover", str(path), *out],
        ["discover", str(path), *out, "--text", EVIL],
        ["discover", str(path), *out, f"--{EVIL}"],
        ["discover", str(path), *out, "--epochs", EVIL],
        ["discover", str(path), *out, "--preset", EVIL],
        [EVIL],
        ["info", str(tmp_path / EVIL)],
        ["assign", str(tmp_path), str(path), "--out", EVIL],
        ["assign", str(tmp_path), str(path), "--out", str(tmp_path / "a.csv"), "--text", "z", "--label", EVIL],
    ):
        assert harmless(refused(capsys, arguments)[:-1]), arguments


def test_progress_shows_no_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    out = io.StringIO()
    lines = LineProgress(out)
    lines.say(EVIL)
    rich = RichProgress()
    rich.say(EVIL)
    with rich.step(f"step {EVIL}", 2) as step:
        step.note(EVIL)
        step.advance()
    shown = out.getvalue() + capsys.readouterr().err
    assert "\N{REPLACEMENT CHARACTER}" in shown
    assert harmless(shown)


def test_a_table_on_a_terminal_is_printable() -> None:
    sink = io.BytesIO()
    PrintableBytes(sink).write(f"text,category\n{EVIL},é\n".encode())
    assert harmless(sink.getvalue().decode())
    assert sink.getvalue().decode().endswith(",é\n")


def test_letters_that_the_stream_cannot_encode_become_question_marks() -> None:
    narrow = io.TextIOWrapper(io.BytesIO(), "ascii")
    terminal.say(str(CATEGORIES), narrow)
    assert b"?? refund  1" in narrow.buffer.getvalue()  # type: ignore[attr-defined]


FIT = """
import os, socket, sys
def refuse(*_, **__):
    os._exit(99)  # The network was used. No library can catch this exit.
class Refused(socket.socket):
    __init__ = refuse
socket.socket, socket.create_connection, socket.getaddrinfo = Refused, refuse, refuse
used = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.bind", "socket.sendto")
sys.addaudithook(lambda event, _: refuse() if event.startswith(used) else None)
os.umask(int(sys.argv[1], 8))
from subtaxa.cli.main import main
code = main(sys.argv[2:])
assert not {"ray", "pyspark"} & sys.modules.keys()
sys.exit(code)
"""


def test_a_run_needs_no_network_imports_no_engine_and_its_files_follow_the_umask(
    tmp_path: Path, tiny_encoder: str
) -> None:
    """Run discover without a network and with an empty home folder. No setting says that it is offline."""
    umask = 0o027
    texts, labels, _ = planted_corpus(10)
    with (tmp_path / "a.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *zip(texts, labels, strict=True)])
    arguments = ["discover", str(tmp_path / "a.csv"), "--out", str(tmp_path / "deep" / "run"), "--categories", "6"]
    arguments += f"--encoder {tiny_encoder} --epochs 1 --batch-size 32 --quiet".split()
    home = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "XDG_", "TRANSFORMERS_"))}
    call = [sys.executable, "-c", FIT, oct(umask)[2:], *arguments]
    done = subprocess.run(call, capture_output=True, text=True, env=home | {"HOME": str(tmp_path / "home")})
    assert done.returncode == 0, done.stderr
    for path in [tmp_path / "deep", *(tmp_path / "deep").rglob("*")]:
        wanted = (0o777 if path.is_dir() else 0o666) & ~umask
        assert stat.S_IMODE(path.stat().st_mode) == wanted, path


@pytest.mark.parametrize("umask", [0o022, 0o027, 0o077])
def test_single_files_follow_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        write_whole(tmp_path / "x", b"x")
        write_whole(tmp_path / "x", b"y")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o666 & ~umask


# Modules with which a program opens connections or waits for them.
CONNECTING = {"socket", "ssl", "http.client", "http.server", "urllib.request", "requests", "httpx", "aiohttp"}


def test_there_is_no_telemetry() -> None:
    """Only `subtaxa name` and `ask`, which ask a language model, and the app, which listens, have a connection."""
    found = set()
    for name, node in syntax():
        names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(f"{node.module}.{each.name}" for each in node.names)]
        if CONNECTING & {*names, *(each.partition(".")[0] for each in names)}:
            found.add(name)
    assert found == {"taxonomy/chat_client.py", "app/server.py"}
