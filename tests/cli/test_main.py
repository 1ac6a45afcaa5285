"""The command line: what a user types and sees."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from helpers import forks
from helpers.commands import refused
from helpers.corpus import planted_corpus

from subtaxa import __version__
from subtaxa.cli.main import main
from subtaxa.report.text_tables import CHOICE_NOTE, SCORE_NOTE

TEXTS, LABELS, _ = planted_corpus(10)


def write_csv(path: Path, rows: list[tuple[str, ...]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


@pytest.fixture(scope="module")
def flags(tiny_encoder: str) -> list[str]:
    return f"--encoder {tiny_encoder} --epochs 1 --learning-rate 1e-3 --batch-size 32 --quiet".split()


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [
        ("message", "department", "id"),
        *((t, c, str(i)) for i, (t, c) in enumerate(zip(TEXTS, LABELS, strict=True))),
    ]
    return write_csv(tmp_path_factory.mktemp("cli") / "tickets.csv", rows)


@pytest.fixture(scope="module")
def run(source: Path, flags: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "run"
    assert main(["discover", str(source), "--out", str(out), "--categories", "6", *flags]) == 0
    return out


def test_discover_shows_the_tree_and_writes_the_run(
    source: Path, flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert main(["discover", str(source), "--out", str(out), "--categories", "6", *flags]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "post  (10 texts, " in printed.out
    assert "6 categories in 3 labels" in printed.out
    assert str(out / "report.html") in printed.out
    assert json.loads((out / "run.json").read_text())["data"]["text_column"] == "message"
    assert not (out / "checkpoint").exists()


def test_progress_goes_to_the_error_stream_as_plain_lines(
    source: Path, flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loud = [flag for flag in flags if flag != "--quiet"]
    assert main(["discover", str(source), "--out", str(tmp_path / "run"), "--categories", "6", *loud]) == 0
    printed = capsys.readouterr()
    assert "60 texts in 3 labels" in printed.err
    assert "\x1b" not in printed.err + printed.out


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
def test_assign_keeps_rows_and_columns(run: Path, source: Path, tmp_path: Path, kind: str) -> None:
    target = tmp_path / f"assigned.{kind}"
    assert main(["assign", str(run), str(source), "--out", str(target), "--quiet"]) == 0
    read = {
        "csv": pd.read_csv,
        "tsv": lambda path: pd.read_csv(path, sep="\t"),
        "jsonl": lambda path: pd.read_json(path, lines=True),
        "parquet": pd.read_parquet,
    }
    table = read[kind](target)
    assert table["message"].tolist() == TEXTS
    assert list(map(str, table["id"])) == [str(i) for i in range(len(TEXTS))]
    trained = pd.read_csv(run / "assignments.csv")
    assert table["category_id"].tolist() == trained["category_id"].tolist()
    assert table["category"].tolist() == trained["category"].tolist()
    assert table["category_label"].tolist() == LABELS
    assert table["confidence"].between(0, 1).all()
    assert table["outlier"].tolist() == trained["outlier"].tolist()


def test_assign_to_standard_output_and_with_known_labels(
    run: Path, source: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    wrong = write_csv(tmp_path / "new.csv", [("text", "label", "category"), ("parcel lost", "money", "x")])
    assert main(["assign", str(run), str(wrong), "--out", "-", "--label", "label", "--quiet"]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert rows[0]["category"] == "x"  # The user's own column is kept.
    assert rows[0]["subtaxa_category_label"] == "money"


def test_info_and_methods(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(run)]) == 0
    printed = capsys.readouterr().out
    assert "money  (30 texts, " in printed
    assert "tickets.csv (60 texts, 0 rows skipped)" in printed
    assert re.search(r"money +3 as given", printed)
    assert main(["info", str(run), "--outliers"]) == 0
    first, *listed = capsys.readouterr().out.splitlines()
    marked = pd.read_csv(run / "assignments.csv").query("outlier == 'yes'")
    assert first.startswith(f"{len(marked)} of 60 texts are outliers")
    assert [line.split("\t")[0] for line in listed] == marked["row"].astype(str).tolist()
    assert main(["methods"]) == 0
    printed = capsys.readouterr().out
    assert "soft-dna" in printed
    assert "(default)" in printed


def test_info_explains_the_score_and_the_choice_of_an_estimated_number(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["info", str(run)]) == 0
    assert "silhouette" not in capsys.readouterr().out  # The numbers of this run were given.
    estimated = Path(shutil.copytree(run, tmp_path / "run"))
    facts = json.loads((run / "run.json").read_text())
    facts["numbers"]["money"] |= {"chosen": 3, "low": 2, "high": 4, "curve": [[2, 0.1], [3, 0.2], [4, 0.3]]}
    (estimated / "run.json").write_text(json.dumps(facts))
    assert main(["info", str(estimated)]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "money 3, plausible 2 to 4 2 ▁▅█ 4" in printed
    assert SCORE_NOTE in printed
    assert CHOICE_NOTE in printed


def test_skipped_rows_are_reported_and_strict_refuses_them(
    flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [("text", "label"), *zip(TEXTS, LABELS, strict=True), ("  ", "money"), ("lost", "")]
    path = write_csv(tmp_path / "gaps.csv", rows)
    loud = [flag for flag in flags if flag != "--quiet"]
    assert main(["discover", str(path), "--out", str(tmp_path / "run"), "--categories", "6", *loud]) == 0
    assert "skipped 2 rows: empty text (row 61), missing label (row 62)" in capsys.readouterr().err
    error = refused(capsys, ["discover", str(path), "--out", str(tmp_path / "strict"), "--strict", *flags])
    assert "row 61" in error
    assert not (tmp_path / "strict").exists()


def test_wrong_input_gives_one_sentence_and_writes_nothing(
    source: Path, run: Path, flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "binary.csv").write_bytes(bytes(range(256)) * 10)
    (tmp_path / "file").write_text("x")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    (stranger / "pytorch_model.bin").write_bytes(b"\x80\x04")
    to = ["--out", str(out), *flags]
    file = str(source)
    cases = {
        "there is no column 'mesage'": ["discover", file, "--text", "mesage", *to],
        "did you mean 'message'": ["discover", file, "--text", "mesage", *to],
        "is empty": ["discover", str(tmp_path / "empty.csv"), *to],
        "binary.csv": ["discover", str(tmp_path / "binary.csv"), *to],
        "nothing.csv": ["discover", str(tmp_path / "nothing.csv"), *to],
        "already holds a run": ["discover", file, *flags, "--out", str(run)],
        "holds a file that is not subtaxa's": [
            "discover",
            file,
            *flags,
            "--overwrite",
            "--out",
            str(tmp_path / "mine"),
        ],
        "is a file": ["discover", file, *flags, "--out", str(tmp_path / "file")],
        "weights are pickled": ["discover", file, *to, "--encoder", str(stranger)],
        "epochs is 'ten'": ["discover", file, *to, "--epochs", "ten"],
        "temperature is '0'": ["discover", file, *to, "--temperature", "0"],
        "--categories is '-4'": ["discover", file, *to, "--categories", "-4"],
        "categories is 2: with 3 labels": ["discover", file, *to, "--categories", "2"],
        "unknown preset 'fast'": ["discover", file, *to, "--preset", "fast"],
        "--seed is 'x'": ["discover", file, *to, "--seed", "x"],
        "unrecognized arguments: --epoch-count": ["discover", file, *to, "--epoch-count", "3"],
        "there is no folder": ["assign", str(tmp_path / "no"), file, "--out", str(tmp_path / "a.csv")],
        "is not a finished run": ["assign", str(tmp_path / "mine"), file, "--out", str(tmp_path / "a.csv")],
        "must end in": ["assign", str(run), file, "--out", str(tmp_path / "a.xlsx")],
        "exists: name a new file": ["assign", str(run), file, "--out", str(source)],
        "there is no column 'txt'": ["assign", str(run), file, "--text", "txt", "--out", str(tmp_path / "a.csv")],
        "no folder": ["assign", str(run), file, "--out", str(tmp_path / "deep" / "a.csv")],
        "there is no folder 'nowhere'": ["info", "nowhere"],
    }
    for fragment, arguments in cases.items():
        error = refused(capsys, arguments)
        assert fragment in error
        assert not out.exists(), fragment
    assert not (tmp_path / "a.csv").exists()
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "years of work"


def test_a_run_is_replaced_only_with_overwrite_and_a_finished_run_is_not_repeated(
    source: Path, flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    arguments = ["discover", str(source), "--out", str(out), "--categories", "6", *flags]
    assert main(arguments) == 0
    made = (out / "run.json").stat().st_mtime_ns
    assert main([*arguments, "--resume"]) == 0
    assert "already finished" in capsys.readouterr().out
    assert (out / "run.json").stat().st_mtime_ns == made
    assert main([*arguments, "--overwrite"]) == 0
    assert (out / "run.json").stat().st_mtime_ns > made


def test_spreadsheet_formulas_and_terminal_codes_in_texts_are_harmless(
    flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = '=HYPERLINK("http://x")'
    rows = [("text", "label"), *((t, f"\x1b[31m{c}") for t, c in zip(TEXTS, LABELS, strict=True)), (evil, "=1+1")]
    path = write_csv(tmp_path / "evil.csv", rows)
    out = tmp_path / "run"
    assert main(["discover", str(path), "--out", str(out), "--categories", "7", *flags]) == 0
    printed = capsys.readouterr()
    assert "\x1b" not in printed.out + printed.err
    last = list(csv.DictReader((out / "assignments.csv").open(newline="")))[-1]
    assert last["text"] == f"'{evil}"
    assert last["label"] == "'=1+1"
    assert main(["assign", str(out), str(path), "--out", str(tmp_path / "a.csv"), "--quiet"]) == 0
    assert list(csv.DictReader((tmp_path / "a.csv").open(newline="")))[-1]["text"] == f"'{evil}"


def test_a_full_disk_while_assigning_leaves_no_output(run: Path, source: Path, tmp_path: Path) -> None:
    target = tmp_path / "a.csv"
    done = forks.run("assign", str(run), str(source), "--out", str(target), file_size=1024)
    assert done.returncode == 2, done.stderr
    assert "free some space" in done.stderr.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []


def test_help_and_version_do_not_import_torch() -> None:
    code = "import sys; from subtaxa.cli.main import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
    code += "heavy = {'torch', 'pandas', 'sklearn', 'numpy', 'rich'} & set(sys.modules)\n"
    code += "sys.exit(f'{heavy}' if heavy else 0)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert shown.returncode == 0, shown.stderr
    assert "discover" in shown.stdout
    version = subprocess.run([sys.executable, "-m", "subtaxa", "--version"], capture_output=True, text=True)
    assert version.stdout.strip() == f"subtaxa {__version__}"
