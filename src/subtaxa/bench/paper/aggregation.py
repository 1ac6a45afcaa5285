"""Group run records that belong together, and compute their means and deviations over the seeds."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from subtaxa.bench.budgets import BUDGETS, describe
from subtaxa.bench.records import Record, record_variant

TITLES = {"hwu64": "HWU64", "clinc": "CLINC", "clinc-lt": "CLINC-LT", "wos": "WOS", "wos-part": "WOS-part"}
MEASURES = ("acc", "ari", "nmi")
# Protocols of the tables.
PROTOCOLS = ("paper", "centroid")
MEANING = {
    "paper": "k-means on the test embeddings with the true number of categories",
    "best-inertia": "the same with one more start of k-means, from a Ward tree; the lowest inertia wins",
    "centroid": "k-means on the training embeddings; each test text goes to the nearest centroid",
    "discover": "the categories that subtaxa discover finds inside each coarse label of the training texts, with the "
    "true total number of categories; each test text, without its coarse label, goes to the nearest category",
}
# The filters in order.
STAGES = {"knn": "k-NN", "label": "+Label", "reciprocal": "+Reciprocal", "rank": "+Rank"}


@dataclass(frozen=True)
class Spread:
    """One value for each seed."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return statistics.fmean(self.values)

    @property
    def deviation(self) -> float | None:
        """The sample standard deviation, or None for a single seed."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None

    def __str__(self) -> str:
        return f"{self.mean:.2f}" + (f" ± {self.deviation:.2f}" if self.deviation is not None else "")


def spread(values: Iterable[float | None]) -> Spread | None:
    """The values that are not None, or None if there are none."""
    found = tuple(value for value in values if value is not None)
    return Spread(found) if found else None


def scores(runs: list[Record], protocol: str, measure: str) -> Spread:
    return Spread(tuple(run.score(protocol, measure) for run in runs))


def scores_if_complete(runs: list[Record], protocol: str, measure: str) -> Spread | None:
    """The scores if every run has them. Runs of earlier versions lack some protocols."""
    return scores(runs, protocol, measure) if all(protocol in run.scores for run in runs) else None


def mean_and_deviation(name: str, found: Spread | None) -> dict[str, float | None]:
    """Two fields of a row of a CSV file."""
    return {name: found.mean if found else None, f"{name}_sd": found.deviation if found else None}


def protocols_note(protocols: Iterable[str]) -> str:
    return "Protocols: " + "; ".join(f"{protocol} = {MEANING[protocol]}" for protocol in protocols) + "."


def main_runs(records: list[Record]) -> list[Record]:
    """The runs of the main variant of each data set, which is the one with the fewest changed settings."""
    kept: list[Record] = []
    for runs in by_dataset(records).values():
        shortest = min({record_variant(run): len(run.changes) for run in runs}.items(), key=lambda item: item[::-1])[0]
        kept += [run for run in runs if record_variant(run) == shortest]
    return kept


def runs_by_value(records: list[Record], method: str, setting: str) -> dict[str, dict[int, list[Record]]]:
    """By data set, the runs of a method for each value of one setting. Everything else is as in the main runs.

    If some seeds were run with every value, only those seeds count.
    """
    main = {name: runs[0] for name, runs in by_dataset(main_runs(records)).items()}
    comparable = [
        run
        for run in records
        if run.method == method and _same_but(setting, run) == _same_but(setting, main[run.dataset])
    ]
    found: dict[str, dict[int, list[Record]]] = {}
    for name, runs in by_dataset(sorted(comparable, key=lambda run: len(run.changes))).items():
        points: dict[int, dict[int, Record]] = {}  # Value, then seed.
        for run in runs:
            points.setdefault(int(run.settings[setting]), {}).setdefault(run.seed, run)
        if len(points) > 1:
            common = set.intersection(*map(set, points.values()))
            found[name] = {
                value: [run for seed, run in sorted(points[value].items()) if seed in common or not common]
                for value in sorted(points)
            }
    return found


def _same_but(setting: str, record: Record) -> tuple[Any, ...]:
    """What the job asked for, without one setting."""
    rest = {name: value for name, value in record.changes.items() if name != setting}
    return record.preset, record.budget, record.limit, rest


def by_dataset(records: Iterable[Record]) -> dict[str, list[Record]]:
    """The runs of each data set in order of their seeds. Published data sets come first."""
    found: dict[str, list[Record]] = {}
    for record in sorted(records, key=lambda r: (_position(r.dataset), r.dataset, r.seed)):
        found.setdefault(record.dataset, []).append(record)
    return found


def _position(dataset: str) -> int:
    return list(TITLES).index(dataset) if dataset in TITLES else len(TITLES)


def title(dataset: str) -> str:
    return TITLES.get(dataset, dataset)


def of_method(records: Iterable[Record], method: str) -> list[Record]:
    return [record for record in records if record.method == method]


def epochs(record: Record) -> list[dict[str, Any]]:
    """The history without pretraining. Row 0 is the untrained encoder."""
    return [row for row in record.history if not row.get("pretraining")]


def folder_name(record: Record) -> str:
    """The folder of a run relative to the folder of all runs: hwu64/dna/default/seed-0."""
    return "/".join(record.folder.parts[-4:])


def run_names(records: Iterable[Record]) -> list[str]:
    """The folders of many runs in brace notation: hwu64/{bert,dna}/default_epochs={4,6}/seed-{0,1,2}."""
    runs = sorted(records, key=lambda r: (_position(r.dataset), r.folder.parts[-4:-1], r.seed))
    rows: list[tuple[str, ...]] = []
    for record in runs:
        dataset, method, variant = record.folder.parts[-4:-1]
        setting, equals, value = variant.rpartition("=")
        rows.append((dataset, method, setting + equals, value, str(record.seed)))
    for position in (4, 3, 1):  # Fold seeds first, then the values of a setting, then methods.
        rows = _folded(rows, position)
    return [f"{dataset}/{method}/{setting}{value}/seed-{seed}" for dataset, method, setting, value, seed in rows]


def _folded(rows: list[tuple[str, ...]], position: int) -> list[tuple[str, ...]]:
    """Merge rows that differ in one position only, with braces there."""
    found: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        found.setdefault(row[:position] + row[position + 1 :], []).append(row[position])
    return [(*rest[:position], _braces(dict.fromkeys(values)), *rest[position:]) for rest, values in found.items()]


def _braces(names: Iterable[str]) -> str:
    found = sorted(names, key=lambda name: (not name.isdigit(), int(name) if name.isdigit() else 0, name))
    return found[0] if len(found) == 1 else f"{{{','.join(found)}}}"


def budget_notes(records: Iterable[Record]) -> list[str]:
    """The budgets of the runs in words."""
    return [describe(name) for name in dict.fromkeys(run.budget for run in records) if name in BUDGETS]


def circumstances(records: list[Record]) -> str:
    """The conditions of the runs: encoder packaged, 4 epochs, 2 cores, threads per run 2."""
    parts = [
        ("encoder", {r.settings["encoder"] for r in records}, ""),
        ("", {r.settings["epochs"] for r in records if r.history and r.settings["epochs"]}, "epochs"),
        ("", {r.machine["cores"] for r in records}, "cores"),
        ("threads per run", {r.machine["threads"] for r in records}, ""),
        ("trained on", {r.limit for r in records if r.limit}, "texts"),
    ]
    return ", ".join(
        " ".join(filter(None, [before, " or ".join(map(str, sorted(values))), after]))
        for before, values, after in parts
        if values
    )
