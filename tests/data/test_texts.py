"""Reading a user's texts: the columns that are chosen, the rows that are skipped, and data in memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.input_files import pairs, parquet, write

from subtaxa.data.columns import text_column
from subtaxa.data.texts import CoarseTexts, Skipped, read_texts
from subtaxa.errors import InputError

ROWS = "text,label\nx,a\n ,a\ny, \nz,a,b,c\nshort\n\nw,b\n,\n"
SKIPPED = {
    "csv": (
        "a.csv",
        ROWS,
        {
            2: "empty text",
            3: "missing label",
            4: "ragged row (4 fields, expected 2)",
            5: "ragged row (1 field, expected 2)",
            7: "empty text",
        },
        (1, 6),
    ),
    "jsonl": (
        "a.jsonl",
        '{"text": "x", "label": "a"}\n{"text": ["x"], "label": "a"}\noops\n["x", "a"]\n{"text": null, "label": "a"}\n\n'
        '{"text": "x"}\n{"text": "x", "label": NaN}\n{"text": "x", "label": {}}\n'
        + "[" * 100_000
        + '\n{"text": "y", "label": 0}',
        {
            2: "text is not a string",
            3: "invalid JSON",
            4: "invalid JSON",
            5: "empty text",
            6: "missing label",
            7: "missing label",
            8: "label is not a string",
            9: "invalid JSON",
        },
        (1, 10),
    ),
    "parquet": (
        "a.parquet",
        parquet(text=["x", None, "y", "z"], label=[1, 2, None, 3]),
        {2: "empty text", 3: "missing label"},
        (1, 4),
    ),
}


@pytest.mark.parametrize("case", SKIPPED)
def test_skipped_rows(tmp_path: Path, case: str) -> None:
    name, data, reasons, rows = SKIPPED[case]
    path = write(tmp_path, name, data)
    read = read_texts(path)
    assert read.skipped == tuple(Skipped(row, reason) for row, reason in reasons.items())
    assert read.rows == rows
    first = min(reasons)
    with pytest.raises(InputError) as caught:
        read_texts(path, strict=True)
    assert f"row {first} of {path} cannot be used: {reasons[first]} ({len(reasons)} such rows in all)" in str(
        caught.value
    )


def test_bytes_are_not_text(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"text is not a string \(rows 1, 2\)"):
        read_texts(write(tmp_path, "a.parquet", parquet(text=[b"x", b"y"], label=[1, 2])))


def test_whole_float_labels_are_written_without_a_fraction(tmp_path: Path) -> None:
    name, data, _, _ = SKIPPED["parquet"]
    assert read_texts(write(tmp_path, name, data)).labels == ("1", "3")


def test_describe_counts_and_duplicates(tmp_path: Path) -> None:
    lines = ["x,b", "x,a", "x,a", "x,a", ",a", "y,", ",a", *["x,a,"] * 7]
    read = read_texts(write(tmp_path, "a.csv", "\n".join(["text,label", *lines])))
    assert read.describe() == [
        "4 texts in 2 labels; 2 exact duplicates kept",
        "skipped 10 rows: empty text (rows 5, 7), missing label (row 6), ragged row (rows 8, 9, 10, 11, 12 and 2 more)",
    ]
    assert (len(read), read.n_duplicates) == (4, 2)
    assert list(read.counts.items()) == [("a", 3), ("b", 1)]
    assert read_texts([("x", "a")]).describe() == ["1 text in 1 label"]
    many = CoarseTexts.from_lists([str(i) for i in range(1234)], ["a"] * 1234)
    assert many.describe() == ["1,234 texts in 1 label"]


CHOICES = {
    "by name": ("id,Message,Department", {}, ("Message", "Department")),
    "spaces around": (" text , label,z", {}, (" text ", " label")),
    "text given": ("title,body,topic", {"text": "body"}, ("body", "topic")),
    "text given, spaces around": (" foo ,label,z", {"text": "foo"}, (" foo ", "label")),
    "label takes a text name": ("title,body,x", {"label": "title"}, ("body", "title")),
    "both given": ("a,b,c", {"text": "c", "label": "a"}, ("c", "a")),
    "two columns, text known": ("body,x", {}, ("body", "x")),
    "two columns, label known": ("topic,x", {}, ("x", "topic")),
    "two columns, label given": ("x,y", {"label": "y"}, ("x", "y")),
    "two columns, neither": ("few,varied", {}, ("varied", "few")),
    "two columns, neither, turned": ("varied,few", {}, ("varied", "few")),
    "others may repeat": ("text,z,label,z,", {}, ("text", "label")),
}


@pytest.mark.parametrize(("header", "given", "expected"), CHOICES.values(), ids=CHOICES.keys())
def test_choice_of_columns(tmp_path: Path, header: str, given: dict[str, str], expected: tuple[str, str]) -> None:
    columns = header.split(",")
    rows = [",".join("same" if c in ("few", expected[1]) else f"{c.strip()}{i}" for c in columns) for i in range(3)]
    read = read_texts(write(tmp_path, "a.csv", "\n".join([header, *rows])), **given)
    assert (read.text_column, read.label_column) == expected
    assert read.texts == tuple(f"{expected[0].strip()}{i}" for i in range(3))
    assert set(read.labels) == {"same"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"text": "Txet"}, "there is no column 'Txet' in {}, only 'text', 'label', 'x', 'x'; did you mean 'text'?"),
        ({"text": "LABEL"}, "did you mean 'label'?"),
        (
            {"label": "zzz"},
            "there is no column 'zzz' in {}, only 'text', 'label', 'x', 'x'; name one of them with --label",
        ),
        ({"text": "label", "label": "label"}, "column 'label' of {} is given as both text and label"),
        ({"label": "x"}, "column 'x' occurs 2 times in {}; rename all but one"),
    ],
)
def test_columns_that_cannot_be_used(tmp_path: Path, given: dict[str, str], message: str) -> None:
    path = write(tmp_path, "a.csv", "text,label,x,x\n1,2,3,4\n")
    with pytest.raises(InputError) as caught:
        read_texts(path, **given)
    assert message.format(path) in str(caught.value)


FRAME = pd.DataFrame(
    {"id": [7, 8, 9, 10], "text": ["x", None, "z", " w"], "label": [1, 2, np.nan, 4]}, index=[5, 5, 6, 7]
)


@pytest.mark.parametrize(
    "source",
    [
        FRAME,
        FRAME.astype({"label": "Int64"}),
        FRAME.astype(object),
        {"text": np.array(["x", "", "z", " w"]), "label": (1, 2, float("nan"), 4)},
        [("x", 1), (None, 2), ["z", pd.NA], (" w", 4)],
        (("x", " 1 "), ("\0", 2), ("z", "\0"), (" w", "4")),
    ],
)
def test_data_in_memory(source: object) -> None:
    read = read_texts(source)
    assert pairs(read) == (("x", "1"), (" w", "4"))
    assert all(type(value) is str for value in read.texts + read.labels)
    assert read.rows == (1, 4)
    assert read.skipped == (Skipped(2, "empty text"), Skipped(3, "missing label"))
    assert read.source == ""


def test_frames_with_odd_columns() -> None:
    frame = pd.DataFrame([["x", "a"], ["y", "a"]])
    assert (read_texts(frame).text_column, read_texts(frame, label="1").texts) == ("0", ("x", "y"))
    with pytest.raises(InputError, match="column 'text' occurs 2 times in the data"):
        read_texts(pd.DataFrame([["x", "y", "a"]], columns=["text", "text", "label"]))
    assert read_texts({"text": ["x"], "label": [True]}).labels == ("True",)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (["ab", "cd"], "item 1 of the list is 'ab'; give (text, label) pairs"),
        ([("a", "b"), ("a", "b", "c")], "item 2 of the list is"),
        ([], "the data has no rows"),
        (FRAME[:0], "the data has no rows"),
        (FRAME[1:3], "no row of the data can be used, for empty text (row 1), missing label (row 2)"),
        ({"text": ["a", "b"], "label": ["c"]}, "column 'label' has 1 values but column 'text' 2"),
        ({"text": "ab", "label": ["c", "d"]}, "column 'text' is 'ab'; give a list of values"),
        (42, "cannot read a int; give a path"),
        (None, "cannot read a NoneType; give a path"),
    ],
)
def test_bad_data_in_memory(source: object, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_texts(source)
    assert message in str(caught.value)


@pytest.mark.parametrize("kind", [list, tuple, np.array, pd.Series, iter])
def test_from_lists(kind: type) -> None:
    read = CoarseTexts.from_lists(kind(["x", "", "y"]), kind(["a", "b", "a "]))
    assert pairs(read) == (("x", "a"), ("y", "a"))
    assert (read.rows, read.skipped) == ((1, 3), (Skipped(2, "empty text"),))
    with pytest.raises(InputError, match=r"row 2 of the data cannot be used: empty text \(1 such row in all\)"):
        CoarseTexts.from_lists(kind(["x", "", "y"]), kind(["a", "b", "a"]), strict=True)


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        ("hello", ["a"], "texts is a single str, 'hello'; give a list of strings"),
        (["hello"], "a", "labels is a single str, 'a'"),
        (None, ["a"], "texts is a single NoneType, None"),
        (["x", "y"], ["a"], "there are 2 texts but 1 labels; give each text one label"),
        ([], [], "the data has no rows"),
    ],
)
def test_bad_lists(texts: list[str], labels: list[str], message: str) -> None:
    with pytest.raises(InputError) as caught:
        CoarseTexts.from_lists(texts, labels)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("columns", "text", "expected"),
    [
        (["id", "Review"], None, "Review"),
        (["anything"], None, "anything"),
        (["topic"], None, "topic"),
        (["label", "x"], None, "x"),
        (["title", "body"], "body", "body"),
    ],
)
def test_text_column(columns: list[str], text: str | None, expected: str) -> None:
    assert text_column(pd.Index(columns), text) == expected


def test_the_import_is_fast() -> None:
    heavy = ("torch", "pandas", "pyarrow", "numpy")
    code = f"import sys, subtaxa.data.texts; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


LOOKALIKES = ["Billing", "billing", "Billing", " billing", "Caf\u00e9", "Cafe\u0301", "other"]


def test_labels_that_look_alike_are_named_and_can_be_joined() -> None:
    data = CoarseTexts.from_lists(list("abcdefg"), LOOKALIKES)
    assert data.describe()[1] == (
        "labels that look alike: 'Billing' and 'billing'; 'Cafe\u0301' and 'Caf\u00e9' (--normalise-labels joins them)"
    )
    joined = data.with_normalised_labels()
    assert joined.counts == {"Billing": 4, "Cafe\u0301": 2, "other": 1}
    assert joined.texts == data.texts
    assert len(joined.describe()) == 1
