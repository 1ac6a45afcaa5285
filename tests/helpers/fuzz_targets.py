"""Fuzz targets. Each takes the bytes of one file and may raise only a `SubtaxaError`.

`soak/fuzz.py` searches for bytes that break this. What it has found is in `findings/`, and the tests run it.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from helpers.hostile import small_files
from helpers.run_files import write_run
from subtaxa.errors import SubtaxaError
from subtaxa.runs import layout, reading

FINDINGS = Path(__file__).parent / "findings"
Target = Callable[[bytes], None]


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="subtaxa-fuzz-"))


@cache
def _run() -> Path:
    from subtaxa.runs import load

    load.check_folder = lambda folder: None  # The model is not fuzzed.
    run = write_run(_folder() / "run")
    _write_tree(run)
    return run


def _write_tree(run: Path) -> None:
    """The tree of the run: the two texts of the first label are merged to node 3."""
    import numpy as np

    from subtaxa.clustering.category_tree import CategoryTree
    from subtaxa.runs.tree_files import write_tree
    from subtaxa.taxonomy.described_tree import DescribedTree, Node

    tree = CategoryTree(np.arange(3), np.array([0, 0, 1]), np.array([[0, 1]]), np.array([0.5]))
    nodes = tuple(Node(f"node {i}", (f"word {i}",), (f"text {i}",), 0.5) for i in range(4))
    write_tree(run, DescribedTree(tree, nodes), {i: (i,) for i in range(3)}, {0: 1})


def clean_up() -> None:
    """Remove what the targets wrote."""
    shutil.rmtree(_folder(), ignore_errors=True)
    _folder.cache_clear()
    _run.cache_clear()


def reader(name: str) -> Target:
    """Read the bytes as the texts of a file with this name, and as a table in chunks."""

    def target(data: bytes) -> None:
        from subtaxa.data.readers import iter_tables
        from subtaxa.data.texts import read_texts

        path = _folder() / name
        path.write_bytes(data)
        try:
            read = read_texts(path)
            assert len(read.texts) == len(read.labels) == len(read.rows) > 0
            assert all(map(str.strip, read.texts + read.labels)), "an empty text or label was kept"
            "".join(read.texts + read.labels).encode()
            read.describe()
        except SubtaxaError as error:
            str(error).encode("utf-8", "surrogateescape")
        try:
            for table in iter_tables(path, chunk_rows=100):
                assert len(table)
        except SubtaxaError:
            pass

    return target


def run_file(name: str) -> Target:
    """Load a run folder in which one file has these bytes, and build the output of `subtaxa info`."""

    def target(data: bytes) -> None:
        from subtaxa.discovery import Discovery
        from subtaxa.report.text_tables import OUTLIER_COLUMNS, number_lines, outlier_lines

        path = _run() / name
        before = path.read_bytes() if path.exists() else None
        if name == layout.EDITS:
            shutil.copy(_run() / layout.TAXONOMY, _run() / layout.TRAINED)
        path.write_bytes(data)
        for look in (
            lambda: Discovery.load(_run()),
            lambda: list(number_lines(reading.read_category_counts(reading.read_run(_run())))),
            lambda: _shown(reading.read_taxonomy(_run())),
            lambda: list(outlier_lines(reading.read_assignments(_run(), OUTLIER_COLUMNS))),
        ):
            with contextlib.suppress(SubtaxaError):
                look()
        if before is None:
            path.unlink()
        else:
            path.write_bytes(before)

    return target


def _shown(taxonomy: Any) -> None:
    str(taxonomy), taxonomy._repr_html_(), taxonomy.to_frame() if len(taxonomy) else None


TARGETS: dict[str, Target] = {
    "csv": reader("a.csv"),
    "tsv": reader("a.tsv"),
    "gz": reader("a.csv.gz"),
    "jsonl": reader("a.jsonl"),
    "parquet": reader("a.parquet"),
    "run": run_file(layout.RUN),
    "taxonomy": run_file(layout.TAXONOMY),
    "edits": run_file(layout.EDITS),
    "clusters": run_file(layout.CLUSTERS),
    "features": run_file(layout.FEATURES),
    "assignments": run_file("assignments.csv"),
    "tree": run_file(layout.TREE),
    "nodes": run_file(layout.TREE_NODES),
}
# Edits that cut the tree of the run elsewhere.
CUTS = (
    {"edit": 1, "do": "recut", "groups": [{"id": 3, "nodes": [3]}], "says": "recut"},
    {
        **{"edit": 2, "do": "answer", "left": 0, "right": 1, "same": False, "says": "two categories"},
        "groups": [{"id": 0, "nodes": [0]}, {"id": 1, "nodes": [1]}],
    },
)


def seeds(target: str) -> list[bytes]:
    """Files that the fuzzer starts from."""
    if target in ("csv", "tsv", "gz", "jsonl", "parquet"):
        return small_files(target)
    files = {"run": layout.RUN, "taxonomy": layout.TAXONOMY, "assignments": "assignments.csv"}
    files |= {"clusters": layout.CLUSTERS, "features": layout.FEATURES, "tree": layout.TREE, "nodes": layout.TREE_NODES}
    if target == "edits":
        from helpers.run_files import EDITS
        from subtaxa.taxonomy.edit_log import write_log

        return [write_log(log).encode() for log in (EDITS[:1], EDITS[:2], EDITS, CUTS[:1], CUTS)]
    return [(_run() / files[target]).read_bytes()]
