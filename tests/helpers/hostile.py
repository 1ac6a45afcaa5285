"""Hostile files that no reader may fail on: the content of each, and the expected result of reading it.

The expected result is a part of the error message, or the (text, label) pairs that are read.
"""

from __future__ import annotations

import datetime
import decimal
import gzip
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Content = bytes | str | Callable[[Path], None]
Expected = str | list[tuple[str, str]]

HEAD = "text,label\n"
HELLO = [("hello", "a")]
# An earlier CSV reader used this as its own mark for the end of the file.
END = "\0end of file\0"
MILLION = 2**20
GIGABYTE = 2**30


def table(**columns: Any) -> bytes:
    """The columns as a Parquet file."""
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


def twice_named() -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_arrays([pa.array(["x"])] * 3, names=["text", "text", "label"]), out)
    return out.getvalue()


def same_text(rows: int, size: int) -> bytes:
    """A Parquet file with many rows of one long text, which it stores only once."""
    out = io.BytesIO()
    values = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["x" * size]))
    pq.write_table(pa.table({"text": values.cast(pa.string()), "label": ["a"] * rows}), out, compression="zstd")
    return out.getvalue()


def sparse(start: bytes, size: int) -> Callable[[Path], None]:
    """A file with this start and NULs up to `size`, which take no space on the disk."""

    def build(path: Path) -> None:
        path.write_bytes(start)
        os.truncate(path, size)

    return build


def bomb(start: bytes, block: bytes, size: int) -> bytes:
    """A gzip file of at most a few megabytes that unpacks to `size` bytes."""
    return gzip.compress(start) + gzip.compress(block) * (size // len(block))


def wide(columns: int) -> str:
    names = [*(f"c{i}" for i in range(columns - 2)), "text", "label"]
    return ",".join(names) + "\n" + "," * (columns - 2) + "hello,a\n"


def lines(*objects: str) -> str:
    return "\n".join(objects)


def rows(*pairs: tuple[str, str]) -> str:
    return HEAD + "".join(f"{text},{label}\n" for text, label in pairs)


FILES: dict[str, tuple[str, Content, Expected]] = {
    # encodings
    "utf-32 with a BOM": ("a.csv", (HEAD + "hello,a\n").encode("utf-32"), HELLO),
    "utf-32 without a BOM": ("a.csv", (HEAD + "hello,a\n").encode("utf-32-le"), "is a binary file"),
    "utf-7": ("a.csv", (HEAD + "caf+AOk-,a\n"), [("caf+AOk-", "a")]),
    "shift-jis": ("a.csv", (HEAD + "こんにちは,a\n").encode("shift-jis"), "is not UTF-8 text: byte 0x82"),
    "gb18030": ("a.csv", (HEAD + "你好,a\n").encode("gb18030"), "is not UTF-8 text: byte 0xc4"),
    "windows-1252": ("a.csv", (HEAD + "“hi”,a\n").encode("cp1252"), "is not UTF-8 text: byte 0x93 at offset 11"),
    "ebcdic": ("a.csv", (HEAD + "hello,a\n").encode("cp500"), "is not UTF-8 text"),
    "overlong utf-8": ("a.csv", HEAD.encode() + b"\xc0\xaf,a\n", "is not UTF-8 text: byte 0xc0"),
    "surrogates in utf-8": ("a.csv", HEAD.encode() + b"\xed\xa0\x80,a\n", "is not UTF-8 text: byte 0xed"),
    "half a surrogate pair in utf-16": (
        "a.csv",
        (HEAD + "x").encode("utf-16") + b"\x00\xd8,\0a\0",
        "is not UTF-16 text",
    ),
    "utf-8, then utf-16": ("a.csv", (HEAD + "x,a\n" * 99).encode() + "y,b\n".encode("utf-16"), "is a binary file"),
    "two BOMs": ("a.csv", "\ufeff\ufeff" + HEAD + "hello,a\n", HELLO),
    "only a BOM": ("a.csv", "\ufeff", "is empty"),
    "a BOM in jsonl": ("a.jsonl", '\ufeff{"text": "hello", "label": "a"}', HELLO),
    # NULs
    "NULs": ("a.csv", bytes(1000), "is a binary file"),
    "a gigabyte of NULs": ("a.csv", sparse(b"", GIGABYTE), "is a binary file"),
    "a header, then a gigabyte of NULs": ("a.csv", sparse(HEAD.encode(), GIGABYTE), "is a binary file"),
    "rows, then a gigabyte of NULs": (
        "a.csv",
        sparse((HEAD + "hello,a\n" * 20_000).encode(), GIGABYTE),
        "line 20002 of",
    ),
    "NULs in the header": ("a.csv", "te\0xt,label\nhello and so on and on,a\n", [("hello and so on and on", "a")]),
    "a text of NULs": (
        "a.csv",
        rows(("\0\0", "a"), ("hello and so on and on", "a")),
        [("hello and so on and on", "a")],
    ),
    # too long, too much, too wide
    "a line of a gigabyte": ("a.csv.gz", bomb(HEAD.encode(), b"x" * MILLION, GIGABYTE), "line 2 of"),
    "a line of a gigabyte in jsonl": ("a.jsonl.gz", bomb(b'{"text": "', b"x" * MILLION, GIGABYTE), "line 1 of"),
    "a header of a gigabyte": ("a.tsv.gz", bomb(b"", b"x\t" * MILLION, GIGABYTE), "line 1 of"),
    "a gzip bomb": (
        "a.csv.gz",
        bomb(HEAD.encode(), b"x" * MILLION + b",a\n", GIGABYTE // 16),
        "unpacks to over 200 times",
    ),
    "a gzip bomb of jsonl": (
        "a.jsonl.gz",
        bomb(b"", b'{"text": "%s", "label": "a"}\n' % (b"x" * MILLION), GIGABYTE // 16),
        "unpacks to over 200 times",
    ),
    "a gzip bomb of NULs": ("a.csv.gz", bomb(b"", bytes(MILLION), GIGABYTE), "is a binary file"),
    "a parquet bomb": ("a.parquet", same_text(2000, 100_000), "unpacks to over 200 times"),
    "gzip in gzip": ("a.csv.gz", gzip.compress(gzip.compress(HEAD.encode())), "is gzip-compressed"),
    "gzip with a wrong checksum": (
        "a.csv.gz",
        gzip.compress((HEAD + "hello,a\n").encode())[:-8] + bytes(8),
        "is not a complete gzip file (CRC",
    ),
    "gzip, then something else": ("a.csv.gz", gzip.compress((HEAD + "hello,a\n").encode()) + b"more", "gzip file"),
    "gzip, then zeros": ("a.csv.gz", gzip.compress((HEAD + "hello,a\n").encode()) + bytes(99), HELLO),
    "10,000 columns": ("a.csv", wide(10_000), HELLO),
    "10,000 columns in jsonl": (
        "a.jsonl",
        '{"text": "hello", "label": "a", ' + ", ".join(f'"c{i}": {i}' for i in range(10_000)) + "}",
        HELLO,
    ),
    "1,000 columns in parquet": (
        "a.parquet",
        table(text=["hello"], label=["a"], **{f"c{i}": [i] for i in range(998)}),
        HELLO,
    ),
    "10,000 columns with unknown names": ("a.csv", wide(10_000).replace("text,label", "x,y"), "and 9980 more; type"),
    "100,000 columns without a name": ("a.csv", "," * 100_000 + "\n", "cannot tell the text and label column"),
    "a row of 100,000 fields": ("a.csv", HEAD + "x," * 100_000 + "\nhello,a\n", HELLO),
    "100,000 blank lines": ("a.csv", "\n" * 100_000 + HEAD + "\r\n" * 100_000 + "hello,a\n", HELLO),
    # quotes and delimiters
    "nested quotes": ("a.csv", HEAD + '"a ""b """"c"""" d"" e",a\n', [('a "b ""c"" d" e', "a")]),
    "nothing but quotes": ("a.csv", HEAD + '"""""",a\n', [('""', "a")]),
    "10,000 quotes": ("a.csv", HEAD + '"' * 10_000 + ",a\n", [('"' * 4999, "a")]),
    "a quote after a space": ("a.csv", HEAD + ' "x, y" ,a\nhello,a\n', HELLO),
    "text after a quote": ("a.csv", HEAD + '"x" y,a\n', [("x y", "a")]),
    "a quote opened in the last row": ("a.csv", HEAD + 'hello,a\nx,"b\n', "the row at line 3 of"),
    "a quote around all rows": ("a.csv", HEAD + '"hello,a\nhello,b\n"\n', "ragged row (1 field, expected 2)"),
    "line breaks of all kinds": ("a.csv", "text,label\rhello,a\r\nhello,a\n\rhello,a", HELLO * 3),
    "only delimiters": ("a.csv", ",,,\n,,,\n", "cannot tell the text and label column"),
    "the old end mark in a text": ("a.csv", HEAD + f"{END},a\nhello,a\n", [(END.replace("\0", " "), "a"), *HELLO]),
    "the old end mark as a row": ("a.csv", HEAD + f"hello,a\n{END}\nworld,b\n", [*HELLO, ("world", "b")]),
    # values
    "mixed types": (
        "a.jsonl",
        lines(
            '{"text": 1, "label": "a"}',
            '{"text": true, "label": 2}',
            '{"text": 1.5, "label": false}',
            '{"text": [1], "label": "a"}',
            '{"text": {"a": 1}, "label": "a"}',
            '{"text": null, "label": "a"}',
        ),
        [("1", "a"), ("True", "2"), ("1.5", "False")],
    ),
    "NaN and Infinity": (
        "a.jsonl",
        lines('{"text": NaN, "label": 1}', '{"text": "x", "label": NaN}', '{"text": "hello", "label": -Infinity}'),
        [("hello", "-inf")],
    ),
    "a number too large": ("a.jsonl", '{"text": "hello", "label": 1e999}', [("hello", "inf")]),
    "a number of 400 digits": ("a.jsonl", f'{{"text": "hello", "label": {10**400}}}', [("hello", str(10**400))]),
    "a number of 5,000 digits": (
        "a.jsonl",
        '{"text": "x", "label": %s}' % ("9" * 5000),
        "no line that is a JSON object",
    ),
    "a float of 300 digits": ("a.jsonl", '{"text": "hello", "label": 1e300}', [("hello", str(int(1e300)))]),
    "keys given twice": ("a.jsonl", '{"text": "x", "text": "hello", "label": "b", "label": "a"}', HELLO),
    "an empty key": ("a.jsonl", '{"": 1, "text": "hello", "label": "a"}', HELLO),
    "nesting without end": ("a.jsonl", '{"text": "x", "label": ' + '{"a":' * 100_000, "no line that is a JSON object"),
    "deep nesting beside a text": (
        "a.jsonl",
        '{"text": "x", "label": "a", "z": ' + "[" * 100_000 + "]" * 100_000 + "}\n" + '{"text": "hello", "label": "a"}',
        HELLO,
    ),
    "only strings": ("a.jsonl", '"text"\n"label"', "no line that is a JSON object"),
    "half a surrogate pair as a label": ("a.jsonl", r'{"text": "hello", "label": "\udc00"}', [("hello", "\ufffd")]),
    # labels
    "labels that are numbers": (
        "a.csv",
        rows(("x", "1"), ("y", "02"), ("z", "1e3")),
        [("x", "1"), ("y", "02"), ("z", "1e3")],
    ),
    "labels that look like missing values": (
        "a.csv",
        rows(("x", "NaN"), ("y", "None"), ("z", "null"), ("w", "N/A")),
        [("x", "NaN"), ("y", "None"), ("z", "null"), ("w", "N/A")],
    ),
    "labels of blanks": ("a.csv", rows(("x", " "), ("y", "\u00a0\u3000"), ("hello", " a\u2003")), HELLO),
    "labels like paths": (
        "a.csv",
        rows(("x", "../../etc/passwd"), ("y", "/")),
        [("x", "../../etc/passwd"), ("y", "/")],
    ),
    "labels of HTML": ("a.csv", rows(("x", "</script><script>alert(1)//")), [("x", "</script><script>alert(1)//")]),
    "labels of formulas": ("a.csv", rows(("x", "=1+1"), ("y", "@x")), [("x", "=1+1"), ("y", "@x")]),
    "labels of escape sequences": (
        "a.csv",
        rows(("x", "\x1b[2J"), ("y", "\x9b2J")),
        [("x", "\x1b[2J"), ("y", "\x9b2J")],
    ),
    "labels that change the text direction": ("a.csv", rows(("x", "\u202eevil")), [("x", "\u202eevil")]),
    "a label of a million letters": ("a.csv", rows(("x", "y" * MILLION)), [("x", "y" * MILLION)]),
    "labels with line breaks": ("a.csv", HEAD + 'x,"a\nb"\n', [("x", "a\nb")]),
    # too little
    "one row": ("a.csv", rows(("hello", "a")), HELLO),
    "one class": ("a.csv", rows(*[(f"t{i}", "a") for i in range(50)]), [(f"t{i}", "a") for i in range(50)]),
    "all duplicates": ("a.csv", rows(*HELLO * 100), HELLO * 100),
    "every row a label of its own": (
        "a.csv",
        rows(*[("same", f"l{i}") for i in range(50)]),
        [("same", f"l{i}") for i in range(50)],
    ),
    "all texts empty": ("a.csv", rows(*[("", "a")] * 9), "for empty text (rows 1, 2, 3, 4, 5 and 4 more)"),
    "all labels empty": ("a.csv", rows(*[("x", "")] * 9), "for missing label (rows 1, 2, 3, 4, 5 and 4 more)"),
    "all empty": ("a.csv", HEAD + ",\n" * 9, "for empty text (rows 1, 2, 3, 4, 5 and 4 more)"),
    "the header twice": ("a.csv", HEAD + HEAD + "hello,a\n", [("text", "label"), *HELLO]),
    "one byte": ("a.csv", b"x", "cannot tell the text and label column"),
    "one brace": ("a.jsonl", b"{", "no line that is a JSON object"),
    # parquet
    "parquet of bytes": ("a.parquet", table(text=[b"\xff"], label=["a"]), "text is not a string (row 1)"),
    "parquet of structs": ("a.parquet", table(text=[{"a": "x"}], label=["a"]), "text is not a string (row 1)"),
    "parquet of lists": ("a.parquet", table(text=["x"], label=[["a"]]), "label is not a string (row 1)"),
    "parquet of nothing": ("a.parquet", table(text=pa.nulls(2), label=pa.nulls(2)), "for empty text (rows 1, 2)"),
    "parquet without columns": ("a.parquet", table(), "cannot tell the text and label column"),
    "parquet with a column twice": ("a.parquet", twice_named(), "column 'text' occurs 2 times"),
    "parquet of dates": ("a.parquet", table(text=["x"], label=[datetime.date(1, 1, 1)]), [("x", "0001-01-01")]),
    "parquet of dates no calendar has": (
        "a.parquet",
        table(text=["x"], label=pa.array([2**62], pa.timestamp("ms"))),
        "is not a complete Parquet file",
    ),
    "parquet of spans no clock has": (
        "a.parquet",
        table(text=["x"], label=pa.array([2**62], pa.duration("ms"))),
        "is not a complete Parquet file",
    ),
    "parquet of decimals": ("a.parquet", table(text=["x"], label=[decimal.Decimal("1.50")]), [("x", "1.50")]),
    "parquet of floats": ("a.parquet", table(text=["x", "y"], label=[1.0, float("nan")]), [("x", "1")]),
    "parquet that lies about its end": (
        "a.parquet",
        b"PAR1" + b"\xff" * 40 + b"\xff\xff\xff\x7fPAR1",
        "not a complete",
    ),
    "parquet that is encrypted": ("a.parquet", b"PARE" + bytes(40) + b"PARE", "not a complete Parquet file"),
    "parquet in gzip": ("a.parquet.gz", gzip.compress(table(text=["x"], label=["a"])), "is a Parquet file; rename it"),
    # names
    "a name with a line break": ("a\n\x1b[31m.csv", b"", "is empty"),
    "a name with two endings": ("a.csv.exe", (HEAD + "hello,a\n").encode(), "ends in none of the supported"),
    "a name that is an ending": (".csv", (HEAD + "hello,a\n").encode(), HELLO),
    "a link to itself": ("a.csv", lambda path: path.symlink_to(path), "cannot be read"),
    "a pipe": ("a.csv", lambda path: os.mkfifo(path), "is not a regular file"),
}


def write(folder: Path, name: str) -> Path:
    """Write the hostile file with this name."""
    file, content, _ = FILES[name]
    path = folder / file
    if callable(content):
        content(path)
    else:
        path.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
    return path


def small_files(ending: str) -> list[bytes]:
    """The small files of one format, from which a fuzzer can start."""
    found = [content for file, content, _ in FILES.values() if file.endswith(f".{ending}") and not callable(content)]
    if ending == "tsv":
        found.append("text\tlabel\nhello\ta\n")
    small = [content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content for content in found]
    return [content for content in small if len(content) < 5000]
