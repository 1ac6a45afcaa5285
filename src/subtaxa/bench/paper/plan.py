"""The rows of the tables, and the jobs of `subtaxa bench run --all` in the order in which they are run.

The budget `short` has every row of table 2 on each data set, the paper's ablation on HWU64 and the sweeps of figures 4
and 7 on CLINC. The budget `full` has six rows with three seeds. The preset `paper` has the paper's own recipe on HWU64.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from subtaxa.bench.records import Job, Record

# Rows of the paper's table 2 and the methods that reproduce them.
TABLE2 = {
    "BERT": "bert",
    "BERT+CE": "bert+ce",
    "DeepCluster": "deepcluster",
    "DeepAligned": "deepaligned",
    "DeepCluster+CE": "deepcluster+ce",
    "DeepAligned+CE": "deepaligned+ce",
    "NNCL": "nncl",
    "CLNN": "clnn",
    "SimCSE": "simcse",
    "Ancor+CE": "ancor+ce",
    "Ancor": "ancor",
    "Delete": "delete",
    "Delete+CE": "delete+ce",
    "SimCSE+CE": "simcse+ce",
    "WSCL": "wscl",
    "DNA": "dna",
}
# Methods that are not in the paper.
LATER = {
    "DNA as released": "dna-as-released",
    "DOWN": "down",
    "STAR": "star",
    "STAR-DNA": "star-dna",
    "subtaxa": "soft-dna",
}
# Rows of the paper's ablation, table 3.
TABLE3 = {
    "NNCL": "nncl",
    "+ Multi. Neighbors": "ladder-neighbours",
    "+ Coarse Labels": "ladder-coarse",
    "+ Label": "ladder-label",
    "+ Reciprocal": "ladder-reciprocal",
    "+ Rank (DNA)": "dna",
}
# Baselines that a practitioner would try first.
BASELINE_ROWS = {
    "k-means": "kmeans",
    "k-means with words": "kmeans-lexical",
    "k-means per label": "kmeans-per-label",
    "HDBSCAN": "hdbscan",
    "BERTopic per label": "bertopic-per-label",
}
# Data sets of table 2, in the order in which they are run. CLINC is the largest.
DATASETS = ("hwu64", "clinc-lt", "wos-part", "clinc")
# The default method adds lexical features on these data sets, so the baseline with words belongs there.
WITH_WORDS = ("wos-part",)
# Rows without training, which take minutes.
CHEAP = ("bert", "kmeans", "kmeans-lexical", "kmeans-per-label", "hdbscan", "bertopic-per-label")
# Trained rows in the order in which they are run: first those that are compared most, then by their time per epoch.
TRAINED = (
    *("dna", "down", "star", "wscl", "soft-dna", "bert+ce", "deepaligned", "deepaligned+ce", "ancor", "ancor+ce"),
    *("deepcluster", "deepcluster+ce", "delete", "delete+ce", "simcse", "simcse+ce", "star-dna", "dna-as-released"),
    *("nncl", "clnn"),
)
# Methods that are run with the full budget.
FULL = ("bert", "dna", "down", "star", "wscl", "soft-dna")
SEEDS = (0, 1, 2)
# Values of the settings that figures 4 and 7 vary, on CLINC as in the paper.
SWEEPS: dict[str, tuple[int, ...]] = {"neighbours": (30, 60, 250, 500), "rank_top_m": (1, 2, 10, 20)}
# Rows that differ by less than this many points of ACC get three seeds.
CLOSE = 2.0


def belongs(method: str, dataset: str) -> bool:
    """Whether a row is part of the table of a data set."""
    return method != "kmeans-lexical" or dataset in WITH_WORDS


def everything(budget: str | None, preset: str, limit: int | None, changes: Mapping[str, Any]) -> Iterator[Job]:
    """All jobs of a budget, the cheap ones first; or, without a budget, the paper's ablation on HWU64."""

    def job(dataset: str, method: str, seed: int = 0, **more: Any) -> Job:
        return Job(dataset, method, preset, seed, limit, {**changes, **more}, budget)

    if budget == "full":
        yield from (job(dataset, method, seed) for seed in SEEDS for dataset in DATASETS for method in FULL)
    elif budget is not None:
        for dataset in DATASETS:
            yield from (job(dataset, name) for name in CHEAP if belongs(name, dataset))
        yield from (job("hwu64", method) for method in dict.fromkeys([*TRAINED, *TABLE3.values()]))
        yield from (job(dataset, method) for dataset in DATASETS[1:] for method in TRAINED)
        yield from (job("clinc", "dna", **{name: value}) for name, values in SWEEPS.items() for value in values)
    else:
        yield from (job("hwu64", method) for method in reversed(TABLE3.values()))


def closer_look(records: Iterable[Record], budget: str) -> list[Job]:
    """The other seeds of the rows whose ACC, by the protocol paper, is close to that of another row."""
    rows: dict[str, list[Record]] = {}
    for record in records:
        plain = not record.changes and not record.limit
        if record.budget == budget and record.seed == 0 and plain and record.method in (*CHEAP, *TRAINED):
            rows.setdefault(record.dataset, []).append(record)
    found = []
    for dataset in filter(rows.__contains__, DATASETS):
        ordered = sorted(rows[dataset], key=lambda record: record.score("paper", "acc"))
        close = {
            record.method
            for low, high in pairwise(ordered)
            if high.score("paper", "acc") - low.score("paper", "acc") < CLOSE
            for record in (low, high)
        }
        found += [
            Job(dataset, method, seed=seed, budget=budget)
            for method in (*CHEAP, *TRAINED)
            for seed in SEEDS[1:]
            if method in close
        ]
    return found
