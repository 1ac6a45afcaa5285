"""The jobs of `subtaxa bench run --all`: every row of the tables and every point of the figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from subtaxa.bench.records import Job

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
    "k-means per label": "kmeans-per-label",
    "HDBSCAN": "hdbscan",
    "BERTopic per label": "bertopic-per-label",
}
# Methods that are run with three seeds.
REPEATED = ("bert", "kmeans", "dna", "down", "star", "wscl")
# Methods that are also run on CLINC and WOS-part.
ON_ALL_DATA = (*BASELINE_ROWS.values(), "bert", "dna", "down", "wscl")
# Values of the settings that figures 4 and 7 vary.
SWEEPS: dict[str, tuple[int, ...]] = {"neighbours": (15, 30, 60, 240), "rank_top_m": (1, 2, 10)}


def everything(preset: str, limit: int | None, changes: Mapping[str, Any]) -> Iterator[Job]:
    """All jobs, the most useful ones first."""

    def job(dataset: str, method: str, seed: int = 0, **more: Any) -> Job:
        return Job(dataset, method, preset, seed, limit, {**changes, **more})

    rows = dict.fromkeys([*BASELINE_ROWS.values(), *TABLE2.values(), *LATER.values(), *TABLE3.values()])
    yield from (job("hwu64", method) for method in rows)
    yield from (job(dataset, method) for dataset in ("clinc", "wos-part") for method in ON_ALL_DATA)
    yield from (job("hwu64", method, seed) for method in REPEATED for seed in (1, 2))
    yield from (job("hwu64", "dna", **{name: value}) for name, values in SWEEPS.items() for value in values)
