"""The published scores of the paper, and those of DOWN as its authors reported them, from the CSV files here."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files

# Our data sets and the paper's data sets that they are compared with.
BENCHMARKS = {"hwu64": "hwu64", "clinc": "clinc", "wos": "wos", "wos-part": "wos"}
WOS_PART = (
    "† WOS-part is not the published WOS benchmark: its training texts are fewer and different, with the same classes "
    "and the same test texts. The published scores are those of the whole WOS and are not comparable."
)
COUNTS = ("coarse", "fine", "train", "test")


@cache
def _rows(name: str) -> tuple[dict[str, str], ...]:
    text = (files("subtaxa.bench.paper") / name).read_text("utf-8")
    return tuple(csv.DictReader(text.splitlines()))


def heading(dataset: str) -> str:
    """The column heading of the published scores next to ours."""
    return "published WOS †" if dataset == "wos-part" else "published"


def notes(datasets: list[str]) -> list[str]:
    return [WOS_PART] if "wos-part" in datasets else []


def counts(dataset: str) -> dict[str, int]:
    """Table 1: coarse and fine categories, training and test texts. Empty for data sets that the paper does not use."""
    rows = {row["dataset"].lower(): row for row in _rows("table1_datasets.csv")}
    row = rows.get(BENCHMARKS.get(dataset, ""))
    return {name: int(row[name]) for name in COUNTS} if row else {}


def score(row: str, dataset: str, measure: str) -> float:
    """Table 2: one score, by the row name of the paper. The row of DOWN has a remark after its name."""
    rows = {found["method"].split(" (")[0]: found for found in _rows("table2.csv")}
    return float(rows[row][f"{BENCHMARKS[dataset]}_{measure}"])


def ablation(row: str, dataset: str, measure: str) -> float | None:
    """Table 3: one score. The paper has this table for HWU64 only."""
    rows = {found["model"]: found for found in _rows("table3_hwu64_ablation.csv")}
    return float(rows[row][measure]) if dataset == "hwu64" else None


def neighbour_accuracy(stage: str, dataset: str) -> float | None:
    """Table 4: the accuracy of the neighbours after a filter, given its name."""
    rows = {found["filter"]: found for found in _rows("table4_neighbour_accuracy.csv")}
    return float(rows[stage][BENCHMARKS[dataset]]) if dataset in BENCHMARKS else None
