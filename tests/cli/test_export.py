"""`subtaxa export`: every format from one run, and what is refused."""

from __future__ import annotations

import csv
import io
import json
import shutil
import zipfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from helpers.commands import refused
from helpers.run_files import CATEGORIES, FACTS, write_run

from subtaxa.cli import export
from subtaxa.cli.main import main
from subtaxa.data.kept_columns import KeptColumns
from subtaxa.runs import column_files, layout
from subtaxa.runs.digests import digests
from subtaxa.runs.export import FORMATS
from subtaxa.runtime.json_files import json_text

OLD_RUN = Path(__file__).parents[1] / "runs" / "run_0_1_0"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of three texts with two other columns."""
    folder = write_run(tmp_path / "run")
    kept = KeptColumns.of({"channel": ["web", None, "=1+1"], "when": ["2026-01-01", "2026-01-02", ""]}, 3)
    column_files.write_columns(folder / layout.COLUMNS, kept)
    facts = FACTS | {"columns": kept.kinds}
    (folder / layout.RUN).write_text(json_text(facts | {"digests": digests(folder)}))
    return folder


def test_the_names_of_the_formats_are_those_that_can_be_written() -> None:
    assert set(export.NAMES) == set(FORMATS)


@pytest.mark.parametrize(("form", "ending"), FORMATS.items())
def test_every_format_is_written_by_its_ending(run: Path, tmp_path: Path, form: str, ending: str) -> None:
    out = tmp_path / f"out{ending}"
    assert main(["export", str(run), "--out", str(out)]) == 0
    content = out.read_bytes()
    names = [c.name for c in CATEGORIES]
    if form == "csv":
        assert [row["category"] for row in csv.DictReader(io.StringIO(content.decode()))] == names
    elif form == "parquet":
        assert pq.read_table(out).column("category").to_pylist() == names
    elif form == "json":
        assert [row["name"] for row in json.loads(content)] == names
    elif form == "xlsx":
        sheets = [zipfile.ZipFile(out).read(f"xl/worksheets/sheet{i}.xml").decode() for i in (1, 2)]
        assert all(f">{name}<" in sheets[0] for name in names)
        assert ">parcel lost<" in sheets[1]
        assert ">=1+1<" in sheets[1]
        assert "<v>46023.0</v>" in sheets[1]
    else:
        assert all(name in content.decode() for name in names)


def test_a_text_format_is_printed(run: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["export", str(run), "--format", "markdown"]) == 0
    assert capfdbinary.readouterr().out.startswith(b"## money\n")


def test_the_base_of_skos_is_the_users(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.ttl"
    assert main(["export", str(run), "--out", str(out), "--base", "https://example.org/t/"]) == 0
    assert "<https://example.org/t/category-2> a skos:Concept" in out.read_text("utf-8")


def test_a_run_of_an_earlier_version_is_exported(tmp_path: Path) -> None:
    old, out = shutil.copytree(OLD_RUN, tmp_path / "old"), tmp_path / "old.xlsx"
    assert main(["export", str(old), "--out", str(out)]) == 0
    assert zipfile.is_zipfile(out)


def test_what_is_refused(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.csv"
    out.write_text("mine")
    assert "add --overwrite" in refused(capsys, ["export", str(run), "--out", str(out)])
    assert out.read_text() == "mine"
    assert "there is no format" in refused(capsys, ["export", str(run), "--out", str(tmp_path / "x.doc")])
    assert "the format 'doc'" in refused(capsys, ["export", str(run), "--format", "doc"])
    assert "cannot be printed" in refused(capsys, ["export", str(run), "--format", "xlsx"])
    assert "cannot be written" in refused(capsys, ["export", str(run), "--out", str(tmp_path / "no" / "x.csv")])
    (run / layout.COLUMNS).write_bytes(b"PAR1")
    assert "columns.parquet" in refused(capsys, ["export", str(run), "--out", str(tmp_path / "x.xlsx")])
