"""Labels and other columns of a Parquet file: whatever their type, they are read or refused in one sentence."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.commands import refused

from subtaxa import Discovery
from subtaxa.assign import assign_file
from subtaxa.cli.main import main
from subtaxa.data.texts import read_texts
from subtaxa.errors import InputError

TEXTS = [f"text number {i}" for i in range(6)]


def of(first: Any, second: Any, kind: Any = None) -> pa.Array:
    return pa.array([first, second] * 3, kind)


READ: dict[str, tuple[pa.Array, tuple[str, str]]] = {
    "categories": (of("a", "b").dictionary_encode(), ("a", "b")),
    "numbered categories": (of(1, 2).dictionary_encode(), ("1", "2")),
    "decimals": (of(Decimal("1.50"), Decimal("2")), ("1.50", "2.00")),
    "decimals of 256 bits": (of(Decimal("1.50"), Decimal("2"), pa.decimal256(50, 2)), ("1.50", "2.00")),
    "numbers": (of(1, 2), ("1", "2")),
    "numbers beyond 64 bits with a sign": (of(2**63, 2**64 - 1, pa.uint64()), (str(2**63), str(2**64 - 1))),
    "whole numbers as pandas writes them": (of(1.0, 2.0), ("1", "2")),
    "numbers with 32 bits": (of(0.1, 0.5, pa.float32()), ("0.1", "0.5")),
    "numbers with 16 bits": (of(1.0, 0.5, pa.float16()), ("1.0", "0.5")),
    "true and false": (of(True, False), ("True", "False")),
    "large strings": (of(" a", "b", pa.large_string()), ("a", "b")),
    "views of strings": (of("a", "b", pa.string_view()), ("a", "b")),
    "dates": (of(datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)), ("2026-01-01", "2026-01-02")),
    "times with a zone": (of(0, 10**6, pa.timestamp("us", "UTC")), ("1970-01-01 00:00:00.000000Z",) * 2),
    "times of no zone": (of(0, 10**6, pa.timestamp("us", "No/Where")), ("1970-01-01 00:00:00.000000Z",) * 2),
}
REFUSED: dict[str, pa.Array] = {
    "lists": of(["a"], ["b"]),
    "maps": of([("a", "b")], [("a", "c")], pa.map_(pa.string(), pa.string())),
    "structs": of({"a": 1}, {"a": 2}),
    "bytes": of(b"a", b"\xff"),
    "bytes of a fixed width": of(b"ab", b"cd", pa.binary(2)),
    "categories of bytes": of(b"a", b"b").dictionary_encode(),
    "nothing": pa.nulls(6),
    "text that is not UTF-8": of(b"\xff", b"a").view(pa.string()),
}


def write(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table({"text": TEXTS, **columns}), path)
    return path


@pytest.fixture(scope="module")
def run_of_two(tmp_path_factory: pytest.TempPathFactory, tiny_encoder: str) -> Path:
    """A run with the labels 1 and 2."""
    model = Discovery(2, epochs=0, pretrain_epochs=0, encoder=tiny_encoder)
    return model.fit(TEXTS, ["1", "2"] * 3).save(tmp_path_factory.mktemp("two") / "run")


@pytest.mark.parametrize("name", READ)
def test_labels_are_the_same_for_discover_and_assign(tmp_path: Path, tiny_encoder: str, name: str) -> None:
    array, expected = READ[name]
    source = write(tmp_path / "x.parquet", label=array)
    data = read_texts(source, label="label")
    assert set(expected) <= set(data.labels)
    model = Discovery(len(set(data.labels)), epochs=0, pretrain_epochs=0, encoder=tiny_encoder)
    run = model.fit(data.texts, data.labels).save(tmp_path / "run")
    for ending in (".csv", ".jsonl", ".parquet"):
        assert assign_file(run, source, tmp_path / f"out{ending}", label="label") == 6
    assert main(["update", str(run), str(source), "--label", "label", "--quiet"]) == 0


@pytest.mark.parametrize("name", REFUSED)
def test_labels_that_are_no_strings_are_refused(
    run_of_two: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    source = write(tmp_path / "x.parquet", label=REFUSED[name])
    with pytest.raises(InputError):
        read_texts(source, label="label")
    more = ["--label", "label", "--quiet"]
    refused(capsys, ["assign", str(run_of_two), str(source), "--out", str(tmp_path / "out.csv"), *more])
    refused(capsys, ["update", str(run_of_two), str(source), *more])


def test_a_text_without_a_label_is_named_as_such(run_of_two: Path, tmp_path: Path) -> None:
    source = write(tmp_path / "x.parquet", label=pa.array(["1", None] * 3).dictionary_encode())
    with pytest.raises(InputError, match=r"^a text has no label: use 1, 2$"):
        assign_file(run_of_two, source, tmp_path / "out.csv", label="label")


def test_whole_numbers_with_a_point_are_the_labels_without_it(run_of_two: Path, tmp_path: Path) -> None:
    """pandas writes numbers with a point if one of them is missing anywhere in the column."""
    source = write(tmp_path / "x.parquet", label=of(1.0, 2.0))
    assert assign_file(run_of_two, source, tmp_path / "out.csv", label="label") == 6


@pytest.mark.parametrize("name", ["dates that Python has not", "times of no zone", "decimals"])
def test_other_columns_of_odd_types_are_kept(run_of_two: Path, tmp_path: Path, name: str) -> None:
    array = of(2**23, -(2**23), pa.date32()) if name == "dates that Python has not" else READ[name][0]
    source = write(tmp_path / "x.parquet", other=array)
    for ending in (".csv", ".tsv", ".jsonl", ".parquet"):
        assert assign_file(run_of_two, source, tmp_path / f"out{ending}") == 6


def test_nested_values_that_cannot_be_read_are_one_sentence(run_of_two: Path, tmp_path: Path) -> None:
    source = write(tmp_path / "x.parquet", other=of([2**30], [1], pa.list_(pa.date32())))
    with pytest.raises(InputError, match="holds values that cannot be read; leave it out, or write it as strings"):
        assign_file(run_of_two, source, tmp_path / "out.csv")
