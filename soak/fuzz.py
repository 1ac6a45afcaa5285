"""Search for files that break the readers or the run folder, with coverage-guided fuzzing.

    python soak/fuzz.py [SECONDS]

The default is ten minutes, divided among the targets of tests/helpers/fuzz_targets.py. A file that breaks a target is
written to tests/helpers/findings, where the tests pick it up, and the exit code is 1.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

# A file system in memory, if there is one; a disk would slow the fuzzer down.
MEMORY = Path("/dev/shm")  # noqa: S108
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
# Fragments that the fuzzer inserts into files: JSON values, escapes, column names and keys of a run folder.
DICTIONARY = [
    r"NaN",
    r"Infinity",
    r"-1",
    r"1e999",
    r"9007199254740993",
    r"true",
    r"null",
    r"[]",
    r"{}",
    r"\\ud800",
    r"\x00",
    r"\xff",
    r"\"",
    r"\x0d",
    r"=1",
    r"text",
    r"label",
    r"format",
    r"merge",
    r"split",
    r"parts",
    r"rows",
    r"categories",
    r"undo",
    r"id",
]


def fuzz_one(name: str, seconds: int, corpus: str, findings: str) -> None:
    """Fuzz one target in this process. libFuzzer ends the process."""
    import atheris

    with atheris.instrument_imports(include=["subtaxa", "gzip", "codecs", "csv"]):
        from helpers.fuzz_targets import TARGETS, seeds

        TARGETS[name](seeds(name)[0])  # The first call imports the modules to instrument.

    for number, seed in enumerate(seeds(name)):
        (Path(corpus) / f"seed-{number}").write_bytes(seed)
    (Path(corpus).parent / "words").write_text("".join(f'"{word}"\n' for word in DICTIONARY))
    limits = [
        f"-max_total_time={seconds}",
        "-max_len=20000",
        "-timeout=20",
        "-rss_limit_mb=3000",
        "-print_final_stats=1",
    ]
    places = [f"-dict={Path(corpus).parent / 'words'}", f"-artifact_prefix={findings}/{name}-", corpus]
    atheris.Setup(["fuzz", *limits, *places], TARGETS[name])
    atheris.Fuzz()


def main(seconds: int) -> int:
    """Fuzz every target in a process of its own."""
    from helpers.fuzz_targets import FINDINGS, TARGETS

    FINDINGS.mkdir(exist_ok=True)
    failed = 0
    for name in TARGETS:
        with tempfile.TemporaryDirectory(prefix="subtaxa-fuzz-", dir=MEMORY if MEMORY.is_dir() else None) as folder:
            corpus = Path(folder) / "corpus"
            corpus.mkdir()
            environment = os.environ | {"TMPDIR": folder}
            command = [
                sys.executable,
                __file__,
                "--one",
                name,
                str(seconds // len(TARGETS)),
                str(corpus),
                str(FINDINGS),
            ]
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment)
            kept = len(list(corpus.iterdir()))
        runs = re.search(r"number_of_executed_units: (\d+)", done.stderr)
        found = re.search(r"Test unit written to (\S+)", done.stderr)
        failed += done.returncode != 0
        result = "clean" if done.returncode == 0 else f"FAILED, {found[1] if found else done.stderr[-2000:]}"
        tried = f"{int(runs[1]) if runs else 0:>9,} files tried, {kept:>5,} reached new code"
        print(f"{name:12} {seconds // len(TARGETS):4} s  {tried}: {result}", flush=True)
    return min(failed, 1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        fuzz_one(sys.argv[2], int(sys.argv[3]), *sys.argv[4:6])
    else:
        sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 600))
