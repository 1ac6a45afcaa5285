"""The file formats: what is read from each, whole and in chunks, and the error message for each bad file."""

from __future__ import annotations

import gzip
from pathlib import Path

import pandas as pd
import pytest
from helpers.input_files import pairs, parquet, write

from subtaxa.data import raw_files
from subtaxa.data.readers import iter_tables
from subtaxa.data.texts import read_texts
from subtaxa.errors import InputError

CSV = b"text,label\nhello,a\nworld,b\n"
PLAIN = (("hello", "a"), ("world", "b"))


GOOD = {
    "csv": ("a.csv", CSV, PLAIN),
    "upper-case ending": ("a.CSV", CSV, PLAIN),
    "no newline at the end": ("a.csv", CSV[:-1], PLAIN),
    "crlf": ("a.csv", CSV.replace(b"\n", b"\r\n"), PLAIN),
    "cr": ("a.csv", CSV.replace(b"\n", b"\r"), PLAIN),
    "blank lines": ("a.csv", b"\n\n" + CSV.replace(b"\n", b"\n\n"), PLAIN),
    "semicolons": ("a.csv", CSV.replace(b",", b";"), PLAIN),
    "tabs in a csv": ("a.csv", CSV.replace(b",", b"\t"), PLAIN),
    "bars": ("a.csv", CSV.replace(b",", b"|"), PLAIN),
    "comma beats semicolon": ("a.csv", b"text,label,x;y\nhello,a,1\nworld,b,2\n", PLAIN),
    "quotes": (
        "a.csv",
        'text,label\n"say ""hi"", now",a\n"two\nlines",b\n',
        (('say "hi", now', "a"), ("two\nlines", "b")),
    ),
    "carriage return in quotes": ("a.csv", b'text,label\n"a\rb\r\nc",x\n', (("a\rb\r\nc", "x"),)),
    "quote inside a field": ("a.csv", 'text,label\n6" pipe,a\n', (('6" pipe', "a"),)),
    "label stripped, text not": ("a.csv", "text,label\n  hi\t, a \n", (("  hi\t", "a"),)),
    "number labels stay as written": ("a.csv", "text,label\nhi,3.0\n", (("hi", "3.0"),)),
    "the word null is a label": ("a.csv", "text,label\nhi,null\n", (("hi", "null"),)),
    "stray NUL": ("a.csv", b"text,label\nfoo\0bar and so on,a\n", (("foo bar and so on", "a"),)),
    "long field": ("a.csv", "text,label\n" + "x" * 300_000 + ",a\n", (("x" * 300_000, "a"),)),
    "emoji, RTL, line separator": (
        "a.csv",
        "text,label\n👩‍👩‍👧 שלום\u2028x,ünïcode\n",
        (("👩‍👩‍👧 שלום\u2028x", "ünïcode"),),
    ),
    "utf-8 bom": ("a.csv", CSV.decode().encode("utf-8-sig"), PLAIN),
    "utf-16 bom": ("a.csv", CSV.decode().encode("utf-16"), PLAIN),
    "utf-16-be bom": ("a.csv", b"\xfe\xff" + CSV.decode().encode("utf-16-be"), PLAIN),
    "utf-16-le without bom": ("a.csv", CSV.decode().encode("utf-16-le"), PLAIN),
    "utf-16-be without bom": ("a.csv", CSV.decode().encode("utf-16-be"), PLAIN),
    "tsv": ("a.tsv", CSV.replace(b",", b"\t"), PLAIN),
    "quoted tsv": (
        "a.tab",
        b'text\tlabel\n"one\ttwo"\ta\n"say ""hi"", now"\tb\n"two\nlines"\tc\n6" pipe\td\n',
        (("one\ttwo", "a"), ('say "hi", now', "b"), ("two\nlines", "c"), ('6" pipe', "d")),
    ),
    "csv.gz": ("a.csv.gz", gzip.compress(CSV), PLAIN),
    "utf-16 tsv.gz": ("a.tsv.gz", gzip.compress(CSV.decode().replace(",", "\t").encode("utf-16")), PLAIN),
    "jsonl": ("a.jsonl", '{"text": "hello", "label": "a"}\n\n{"label": "b", "x": 1, "text": "world"}', PLAIN),
    "jsonl.gz": ("a.jsonl.gz", gzip.compress(b'{"text": "hello", "label": "a"}'), PLAIN[:1]),
    "numbers in json": (
        "a.ndjson",
        '{"text": 12, "label": 3}\n{"text": 1.5, "label": 4.0}',
        (("12", "3"), ("1.5", "4")),
    ),
    "fractions in json": (
        "a.jsonl",
        '{"text": "x", "label": 3.0}\n{"text": "y", "label": 4.5}',
        (("x", "3.0"), ("y", "4.5")),
    ),
    "half a surrogate pair": ("a.jsonl", r'{"text": "a\ud83d \ud83d\ude00", "label": "b"}', (("a\ufffd 😀", "b"),)),
    "parquet": ("a.parquet", parquet(text=["hello", "world"], label=["a", "b"], z=[1, 2]), PLAIN),
    "parquet categories": ("a.parquet", parquet(text=["x"], label=pd.Categorical(["c"])), (("x", "c"),)),
}


@pytest.mark.parametrize(("name", "data", "expected"), GOOD.values(), ids=GOOD.keys())
def test_good_files(tmp_path: Path, name: str, data: bytes | str, expected: tuple[tuple[str, str], ...]) -> None:
    path = write(tmp_path, name, data)
    read = read_texts(path)
    assert pairs(read) == expected
    assert read.rows == tuple(range(1, len(expected) + 1))
    assert (read.skipped, read.source) == ((), str(path))
    assert pairs(read_texts(str(path), strict=True)) == expected


LATIN1 = "text,label\n" + "hello,a\n" * 20_000 + "caf\xe9,b\n"
BAD = {
    "empty": ("a.csv", b"", "a.csv is empty"),
    "blank": ("a.csv", b"\n \n\n", "a.csv is empty"),
    "empty parquet": ("a.parquet", b"", "a.parquet is empty"),
    "gzip of nothing": ("a.csv.gz", gzip.compress(b""), "a.csv.gz is empty"),
    "header only": ("a.csv", b"text,label\n", "a.csv has no rows below its column names"),
    "header only, any names": ("a.csv", b"foo,bar\n", "a.csv has no rows below its column names"),
    "parquet without rows": ("a.parquet", parquet(text=[], label=[]), "has no rows below its column names"),
    "unknown ending": ("a.txt", CSV, "a.txt ends in none of the supported .csv, .tsv"),
    "json array": ("a.jsonl", b'[\n{"text": 1}]', "no line that is a JSON object with keys; write one object per line"),
    "xlsx": ("a.xlsx", b"PK\x03\x04 and so on", "a.xlsx is an Excel workbook or another zip archive; save it as CSV"),
    "xlsx named csv": ("a.csv", b"PK\x03\x04 and so on", "save it as CSV"),
    "xls": ("a.xls", b"\xd0\xcf\x11\xe0\xa1", "save it as CSV"),
    "pdf": ("a.csv", b"%PDF-1.7", "is a PDF document"),
    "png": ("a.csv", b"\x89PNG\r\n", "is a PNG image"),
    "parquet named csv": ("a.csv", parquet(text=["x"], label=["y"]), "rename it to end in .parquet"),
    "gzip named csv": ("a.csv", gzip.compress(CSV), "rename it to end in .gz"),
    "csv named gzip": ("a.csv.gz", CSV, "a.csv.gz is not a complete gzip file (Not a gzipped file"),
    "truncated gzip": (
        "a.csv.gz",
        gzip.compress(CSV * 50)[:-9],
        "a.csv.gz is not a complete gzip file (Compressed file",
    ),
    "damaged gzip": ("a.csv.gz", gzip.compress(CSV)[:10] + b"\xff" * 40, "is not a complete gzip file (Error -3"),
    "csv named parquet": ("a.parquet", CSV, "a.parquet is not a complete Parquet file"),
    "truncated parquet": ("a.parquet", parquet(text=["x"], label=["y"])[:-20], "is not a complete Parquet file"),
    "binary": ("a.csv", bytes(range(256)), "a.csv is a binary file"),
    "many NULs": ("a.csv", b"text\0\0\0,label\0\0\0\nx\0\0\0\n", "a.csv is a binary file"),
    "latin1": ("a.csv", "text,label\ncafé,a\n".encode("latin1"), "not UTF-8 text: byte 0xe9 at offset 14 (line 2)"),
    "latin1 far down": ("a.csv", LATIN1.encode("latin1"), "byte 0xe9 at offset 160014 (line 20002)"),
    "latin1 after a bom": (
        "a.csv",
        b"\xef\xbb\xbftext,label\n\xe9,a\n",
        "not UTF-8 text: byte 0xe9 at offset 14 (line 2)",
    ),
    "latin1, what to type": ("a.jsonl", b'{"text": "\xe9"}', "iconv -f latin1 -t utf-8 "),
    "latin1 in gzip": (
        "a.csv.gz",
        gzip.compress(b"text,label\n\xe9,a\n"),
        "a.csv.gz | iconv -f latin1 -t utf-8 > utf8-a.csv`",
    ),
    "cut off in a character": ("a.csv", "text,label\nx,é".encode()[:-1], "byte 0xc3 at offset 13 (line 2)"),
    "cut off in utf-16": ("a.csv", CSV.decode().encode("utf-16")[:-1], "cannot be decoded; save it again as UTF-8"),
    "unclosed quote": ("a.csv", b'\ntext,label\nx,a\n"y,b\nz,c\n', "the row at line 4 of"),
    "unclosed quote in tsv": ("a.tsv", b'text\tlabel\nx\ta\n"open, it is\ta\n', "the row at line 3 of"),
    "unclosed quote in the last field": ("a.csv", b'text,label\nx,a\ny,"b\nz,c', "opens a quote that is never closed"),
    "unclosed quote in the header": ("a.csv", b'text,"label\nx,a\n', "the row at line 1 of"),
    "no plausible columns": ("a.csv", b"x,y,z\n1,2,3\n", "in 'x', 'y', 'z'; type --text COLUMN --label COLUMN"),
    "two text names": ("a.csv", b"title,body,label\n1,2,3\n", "cannot tell the text column of"),
    "two text names, two columns": ("a.csv", b"title,body\n1,2\n", "cannot tell the text and label column of"),
    "two equally varied columns": ("a.csv", b"x,y\n1,2\n", "cannot tell the text and label column of"),
    "very many columns": ("a.csv", ",".join(f"c{i}" for i in range(30)) + "\n", "'c19' and 10 more; type"),
    "repeated column": ("a.csv", b"text,label,text\n1,2,3\n", "column 'text' occurs 2 times in"),
    "all ragged": ("a.csv", b"text,label\nx,a,\ny,b,\n", "; begin with row 1: ragged row (3 fields, expected 2)"),
    "all skipped": (
        "a.csv",
        b"text,label\n ,a\ny,\n",
        "empty text (row 1), missing label (row 2); begin with row 1: empty text",
    ),
}


@pytest.mark.parametrize(("name", "data", "message"), BAD.values(), ids=BAD.keys())
def test_bad_files(tmp_path: Path, name: str, data: bytes | str, message: str) -> None:
    path = write(tmp_path, name, data)
    with pytest.raises(InputError) as caught:
        read_texts(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "; " in str(caught.value), "the fix comes after the problem"


def test_paths_that_are_not_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "a.csv", CSV)
    with pytest.raises(InputError, match=r"b\.csv does not exist; check the path"):
        read_texts(tmp_path / "b.csv")
    with pytest.raises(InputError, match="is a directory"):
        read_texts(tmp_path)
    with pytest.raises(InputError, match="/dev/null is not a regular file"):
        read_texts("/dev/null")
    with pytest.raises(InputError, match="cannot be read"):
        read_texts(tmp_path / ("x" * 5000 + ".csv"))

    def denied(*_: object, **__: object) -> None:
        raise PermissionError

    paths = path, write(tmp_path, "a.parquet", b"x")
    monkeypatch.setattr(Path, "open", denied)
    for name in paths:
        with pytest.raises(InputError, match=rf"{name.name} cannot be read by this user"):
            read_texts(name)


def test_decompression_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "a.csv.gz", gzip.compress(b"text,label\n" + b"hello,a\n" * 50_000))
    assert len(read_texts(path)) == 50_000  # It unpacks to over 200 times its size but is small.
    monkeypatch.setattr(raw_files, "MAX_EXPANDED", 100_000)
    with pytest.raises(InputError, match="unpacks to over 200 times its size"):
        read_texts(path)
    monkeypatch.setattr(raw_files, "MAX_EXPANSION", 10_000)
    assert len(read_texts(path)) == 50_000


def chunks_of(path: Path, text: str | None = None, size: int = 50_000) -> list[list[list[object]]]:
    """The column names and the rows of each chunk."""
    return [
        [list(table.names), *map(list, zip(*map(table.__getitem__, table.names), strict=True))]
        for table in iter_tables(path, text, chunk_rows=size)
    ]


TABLES = {
    "csv": (
        "a.csv",
        b"id,text\n1,x\n2,\n3\n\n4,z\0z zzz zzz zzz\n",
        [["1", "x"], ["2", ""], ["3", ""], ["4", "z z zzz zzz zzz"]],
    ),
    "tsv": ("a.tsv.gz", gzip.compress(b'id\ttext\n1\t"x\ty"\n2\t\n'), [["1", "x\ty"], ["2", ""]]),
    "jsonl": (
        "a.jsonl",
        '{"id": 1, "text": "x"}\n{"id": null, "text": 2}\n{"text": null, "id": [true, "é"]}\n{"id": 1.5}',
        [["1", "x"], ["", "2"], ['[true, "é"]', ""], ["1.5", ""]],
    ),
    "parquet": ("a.parquet", parquet(id=[1, 2, 3], text=["x", None, "z"]), [[1, "x"], [2, ""], [3, "z"]]),
}


@pytest.mark.parametrize(("name", "data", "rows"), TABLES.values(), ids=TABLES.keys())
@pytest.mark.parametrize("size", [1, 2, 50_000])
def test_iter_tables(tmp_path: Path, name: str, data: bytes | str, rows: list[list[object]], size: int) -> None:
    chunks = [rows[i : i + size] for i in range(0, len(rows), size)]
    assert chunks_of(write(tmp_path, name, data), size=size) == [[["id", "text"], *chunk] for chunk in chunks]


def test_iter_tables_keeps_every_row_of_a_plain_list_of_texts(tmp_path: Path) -> None:
    assert chunks_of(write(tmp_path, "a.csv", 'anything\nx; y\n\n"z\nz"\n')) == [
        [["anything"], ["x; y"], [""], ["z\nz"]]
    ]


def test_iter_tables_keeps_whole_numbers_and_the_index_of_parquet(tmp_path: Path) -> None:
    frame = pd.DataFrame({"n": pd.array([2**60 + 1, None], dtype="Int64"), "text": ["x", "y"]}, index=[7, 8])
    path = tmp_path / "a.parquet"
    frame.to_parquet(path)
    (read,) = iter_tables(path, "text")
    assert list(read["n"]) == [2**60 + 1, None]
    assert list(read["__index_level_0__"]) == [7, 8]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.csv", b"id,text\n1,x\n2,y,z\n", "row 2 of {} is a ragged row (3 fields, expected 2)"),
        ("a.jsonl", b'{"text": "x"}\n{"text"\n', "row 2 of {} is invalid JSON"),
        (
            "a.jsonl",
            b'{"text": "x"}\n{"text": "x"}\n{"text": ["y"]}\n',
            "row 3 of {} has a text that is not a string, ['y']",
        ),
        ("a.parquet", parquet(text=[["x"], ["y"]]), "row 1 of {} has a text that is not a string"),
        ("a.csv", b"id,text\n", "{} has no rows below its column names"),
        ("a.csv", b"x,y\n1,2\n", "cannot tell which column of {} is the text in 'x', 'y'; type --text COLUMN"),
    ],
)
def test_iter_tables_never_skips_a_row_silently(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    path = write(tmp_path, name, data)
    with pytest.raises(InputError) as caught:
        chunks_of(path, size=1)
    assert message.format(path) in str(caught.value)


def test_iter_tables_refuses_a_bad_column_before_the_first_chunk(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no column 'txet'"):
        iter_tables(write(tmp_path, "a.csv", CSV), "txet")


def test_without_a_label_column_all_texts_have_one_label(tmp_path: Path) -> None:
    """One column, or no column with the usual name of a label: the reader is told, and can name a column."""
    path = tmp_path / "a.csv"
    path.write_text("text\nhello\n\ngood bye\n")
    data = read_texts(path)
    assert data.texts == ("hello", "good bye")
    assert data.labels == ("all", "all")
    assert data.describe()[1] == "no label column: all texts have the label 'all' (--label names a column)"
    path.write_text("text,when,who\nhello,1,a\ngood bye,2,b\n")
    assert read_texts(path).labels == ("all", "all")
    assert read_texts(path, label="who").labels == ("a", "b")
    frame = pd.DataFrame({"text": ["hello", "good bye"], "when": [1, 2], "who": ["a", "b"]})
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    for source in (tmp_path / "a.parquet", tmp_path / "a.jsonl", frame):
        assert read_texts(source).labels == ("all", "all")
