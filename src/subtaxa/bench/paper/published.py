"""The paper's own figures, and DOWN's as its authors gave them, from the files in paper/."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files

BENCHMARKS = {"hwu64": "hwu64", "clinc": "clinc", "wos": "wos", "wos-part": "wos"}  # ours: the paper's
WOS_PART = (
    "† WOS-part is not the published WOS benchmark: it has fewer and other training texts of the same classes and the "
    "same test texts. The published figures are those of the whole WOS, for orientation only."
)
COUNTS = ("coarse", "fine", "train", "test")


@cache
def _rows(name: str) -> tuple[dict[str, str], ...]:
    text = (files("subtaxa.bench.paper") / name).read_text("utf-8")
    return tuple(csv.DictReader(text.splitlines()))


def heading(dataset: str) -> str:
    """What the published figures beside a data set's are called."""
    return "published WOS †" if dataset == "wos-part" else "published"


def notes(datasets: list[str]) -> list[str]:
    return [WOS_PART] if "wos-part" in datasets else []


def counts(dataset: str) -> dict[str, int]:
    """Table 1: coarse and fine categories, training and test texts; empty for data that the paper has not."""
    rows = {row["dataset"].lower(): row for row in _rows("table1_datasets.csv")}
    row = rows.get(BENCHMARKS.get(dataset, ""))
    return {name: int(row[name]) for name in COUNTS} if row else {}


def score(row: str, dataset: str, measure: str) -> float:
    """Table 2: one figure by the paper's row name; DOWN's line says more after its name."""
    rows = {found["method"].split(" (")[0]: found for found in _rows("table2.csv")}
    return float(rows[row][f"{BENCHMARKS[dataset]}_{measure}"])


def ablation(row: str, dataset: str, measure: str) -> float | None:
    """Table 3, which the paper has for HWU64 only."""
    rows = {found["model"]: found for found in _rows("table3_hwu64_ablation.csv")}
    return float(rows[row][measure]) if dataset == "hwu64" else None


def neighbour_accuracy(stage: str, dataset: str) -> float | None:
    """Table 4, by the name of the filter."""
    rows = {found["filter"]: found for found in _rows("table4_neighbour_accuracy.csv")}
    return float(rows[stage][BENCHMARKS[dataset]]) if dataset in BENCHMARKS else None
