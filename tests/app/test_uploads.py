"""Dropped files: names, limits, columns and errors."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from subtaxa.app import uploads
from subtaxa.app.uploads import Upload, Uploads, look_into, safe_name
from subtaxa.errors import InputError


@pytest.fixture
def kept() -> Iterator[Uploads]:
    kept = Uploads()
    yield kept
    kept.close()
    assert not kept.folder.exists()


async def _parts(content: bytes) -> AsyncIterator[bytes]:
    for begin in range(0, len(content), 100):
        yield content[begin : begin + 100]


def take(kept: Uploads, name: str, content: bytes) -> Upload:
    """Take a file in a thread, because a browser that is open in this one has an event loop there."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, kept.take(name, _parts(content))).result()


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("tickets.csv", "tickets.csv"),
        ("../../etc/tickets.CSV", "tickets.CSV"),
        ("C:\\data\\my tickets (1).csv.gz", "my-tickets-1-.csv.gz"),
        ("-rf.tsv", "rf.tsv"),
        ("...hidden.jsonl", "hidden.jsonl"),
        ("Übersicht\0\n<b>.parquet", "Übersicht-b-.parquet"),
        ("x-" + "y" * 95 + ".csv", "y" * 95 + ".csv"),
        ("x." + "y" * 95 + ".csv", "y" * 95 + ".csv"),
        ("票" * 200 + ".csv.gz", "票" * 31 + ".csv.gz"),
    ],
)
def test_a_name_means_nothing_in_a_path(name: str, safe: str) -> None:
    assert safe_name(name) == safe


@pytest.mark.parametrize("name", ["", "tickets", "tickets.exe", "tickets.csv/", "x.csv.zip", ".csv", "..csv"])
def test_other_endings_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="supported"):
        safe_name(name)


def test_a_file_above_the_limit_is_refused_and_removed(kept: Uploads, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MAX_UPLOAD", 250)
    with pytest.raises(InputError, match="larger"):
        take(kept, "big.csv", b"text\n" * 100)
    assert list(kept.folder.iterdir()) == []
    assert take(kept, "small.csv", b"text\nhello\n").path.read_bytes() == b"text\nhello\n"


def test_only_the_last_file_is_kept(kept: Uploads) -> None:
    first = take(kept, "a.csv", b"text\nhello\n")
    second = take(kept, "a.csv", b"text\nother\n")
    assert not first.path.exists()
    assert kept.get(second.number) is second
    with pytest.raises(InputError, match="another file"):
        kept.get(first.number)


@pytest.mark.parametrize(
    ("content", "text", "label"),
    [
        ("id,message,queue\n1,hello there,a\n2,goodbye,b\n", "message", "queue"),
        ("a;b\nwhere is my parcel;post\nlost it;post\n", "a", "b"),
        ("x,y,z\nhello there you,1,2\n", "x", None),
        ("text\nhello\n", "text", None),
    ],
)
def test_columns_are_guessed(kept: Uploads, content: str, text: str, label: str | None) -> None:
    found = look_into(take(kept, "t.csv", content.encode()))
    assert (found["text"], found["label"]) == (text, label)
    assert len(found["rows"]) <= uploads.SHOWN_ROWS


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", b""),
        ("t.csv", b"text,label\n"),
        ("t.csv", b'text\n"never closed\n'),
        ("t.csv.gz", b"not gzip"),
        ("t.csv.gz", gzip.compress(b"text\n" + b"a" * 200_000_000)),
        ("t.jsonl", b"[1, 2]\n"),
        ("t.parquet", b"PAR1 nothing else"),
        ("t.csv", b"\xff\xfe\x00\xd8\x00\xd8"),
        ("t.csv", b"PK\x03\x04 a zip"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_sentence_with_its_own_name(kept: Uploads, name: str, content: bytes) -> None:
    upload = take(kept, name, content)
    with pytest.raises(InputError) as refused:
        look_into(upload)
    assert str(kept.folder) not in str(refused.value)
    assert name in str(refused.value)
    assert "\n" not in str(refused.value)


def test_markup_in_a_file_stays_text(kept: Uploads) -> None:
    found = look_into(take(kept, "t.csv", b"<b>text</b>,label\n<script>alert(1)</script>,a\n"))
    assert found["rows"] == [["<script>alert(1)</script>", "a"]]
    assert isinstance(found["columns"], list)
    assert Path(found["name"]).name == found["name"]
