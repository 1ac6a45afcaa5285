"""The table and the figure of what answers are worth, from the records of answers.py.

    python benchmarks/quality/answers_figure.py research/measurements/answers.jsonl docs/images/answers.png

The program prints a Markdown table: the ACC of the test texts relative to the same tree cut at the true total, after 0,
20 and 60 answers, as the mean over runs and simulated users. The figure has one panel per data set.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from statistics import mean

from matplotlib.figure import Figure

SHOWN = (0, 20, 60)
TITLES = {
    "hwu64": "HWU64",
    "clinc": "CLINC",
    "clinc-lt": "CLINC-LT",
    "wos-part": "WOS-part",
    "example": "built-in example",
}

# The curves of the figure, their labels and their styles. COBRAS is so much lower that it would hide the others.
DRAWN = {
    ("ask", 0.0): ("ask", "C0-"),
    ("ask", 0.05): ("ask, 1 in 20 wrong", "C1-"),
    ("ask", 0.1): ("ask, 1 in 10 wrong", "C2-"),
    ("merging", 0.0): ("closest pair", "C3:"),
    ("random pairs", 0.0): ("random pairs", "C4:"),
}

# The mean ACC after each number of answers, for each data set and each method with its share of wrong answers.
Curves = dict[str, dict[tuple[str, float], dict[int, float]]]


def read(path: Path) -> tuple[Curves, dict[str, int]]:
    """The mean curves, relative to the true total of the same run, and the number of runs of each data set."""
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    zero = {(r["dataset"], r["seed"]): r["test"]["acc"] for r in records if r["method"] == "true total"}
    values: dict[str, dict[tuple[str, float], dict[int, list[float]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for r in records:
        if r["method"] != "true total":
            gain = r["test"]["acc"] - zero[r["dataset"], r["seed"]]
            values[r["dataset"]][r["method"], r["wrong"]][r["answers"]].append(gain)
    curves = {
        dataset: {key: {n: mean(some) for n, some in sorted(curve.items())} for key, curve in methods.items()}
        for dataset, methods in values.items()
    }
    return curves, {dataset: sum(name == dataset for name, _ in zero) for dataset in curves}


def table(curves: Curves, runs: dict[str, int]) -> str:
    """The Markdown table."""
    lines = ["| | Runs | Method | Wrong answers | 0 | 20 | 60 answers |", "|---|---|---|---|---|---|---|"]
    for dataset in TITLES:
        for (method, wrong), curve in sorted(curves.get(dataset, {}).items()):
            cells = " | ".join(f"{curve[n]:+.1f}" if n in curve else "–" for n in SHOWN)
            lines.append(f"| {TITLES[dataset]} | {runs[dataset]} | {method} | {wrong:.0%} | {cells} |")
    return "\n".join(lines)


def figure(curves: Curves) -> Figure:
    """One panel per data set: ACC relative to the true total against the number of answers."""
    names = [name for name in TITLES if name in curves]
    drawn = Figure(figsize=(3.2 * len(names), 3.2), layout="constrained")
    panels = drawn.subplots(1, len(names), squeeze=False)[0]
    for panel, name in zip(panels, names, strict=True):
        for (method, wrong), (label, style) in DRAWN.items():
            curve = curves[name].get((method, wrong), {})
            panel.plot(list(curve), list(curve.values()), style, label=label, marker=".")
        panel.axhline(0, color="grey", linewidth=0.8)
        panel.set(title=TITLES[name], xlabel="answers")
    panels[0].set_ylabel("ACC of test texts\nrelative to the true total")
    panels[-1].legend(fontsize=7, frameon=False)
    return drawn


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("records", type=Path)
    parser.add_argument("picture", type=Path)
    given = parser.parse_args()
    curves, runs = read(given.records)
    figure(curves).savefig(given.picture, dpi=110)
    print(table(curves, runs))


if __name__ == "__main__":
    main()
