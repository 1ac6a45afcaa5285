"""Answer the questions of `model.ask` from the true labels, and see how the categories improve.

    python benchmarks/quality/answers.py ../shared/data hwu64 RUN [--wrong 0 0.05 0.1] [--seeds 0 1 2]

RUN is a run folder that `benchmarks/quality/discover.py DATA DATASET --categories auto --out RUN` kept, or one of
`subtaxa demo` if the data set is `example`. A simulated user sees the five typical texts of both groups and says that
they are one category if most texts of both have the same true label. A share of the answers is wrong (`--wrong`). After
some numbers of answers the program prints one JSON record: the number of categories, and the scores of the training
texts and of the test texts, which go to the nearest category without their label. There are baselines too:
- `true total`: the same tree, cut at the true total, without any answer;
- `merging`: the two closest categories are asked about, and merged if they are one;
- `random pairs`: pairs of texts are asked about, and k-means respects the answers;
- `cobras`: COBRAS (Van Craenendonck et al. 2018) in each label, if the package `cobras-ts` can be imported.
Fine labels play the user and score; nothing else sees them.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from subtaxa import Discovery
from subtaxa.bench.datasets import DATASETS, load
from subtaxa.bench.scoring import score
from subtaxa.runtime.arrays import Floats, Ints, means, unit
from subtaxa.taxonomy.questions import Question

STEPS = (0, 5, 10, 20, 30, 40, 60)


@dataclass(frozen=True)
class Task:
    """A run, the true labels of its texts, and the test texts."""

    folder: Path
    fine: Ints  # (N,) in the order of the run
    coarse: Ints  # (N,)
    features: Floats  # (N, D)
    test_fine: list[str]
    test: Floats  # (n, D)

    def scores(self, assignment: Ints) -> dict[str, Any]:
        """The number of categories and the scores of both parts."""
        names, index = np.unique(assignment, return_inverse=True)
        centroids = unit(means(self.features, index, len(names))[0])
        found = {
            "train": score(self.fine, assignment),
            "test": score(self.test_fine, (self.test @ centroids.T).argmax(1)),
        }
        rounded = {part: {k: round(v, 1) for k, v in vars(each).items()} for part, each in found.items()}
        return {"categories": len(names), **rounded}


def read_task(data: Path, dataset: str, folder: Path) -> Task:
    """The run with its true labels."""
    model = Discovery.load(folder)
    if dataset == "example":
        path = resources.files("subtaxa.data.example").joinpath("support_fine.csv")
        rows = {int(row["row"]): row["fine"] for row in csv.DictReader(path.read_text("utf-8").splitlines())}
        fine = [rows[row] for row in model.data_.rows]
        test_texts, test_fine = list(model.data_.texts), fine
    else:
        part, test = load(dataset, data).train, load(dataset, data).test
        if tuple(part.texts) != model.data_.texts:
            raise SystemExit(f"{folder} is not a run of {dataset}: its texts differ")
        fine, test_texts, test_fine = list(part.fine), list(test.texts), list(test.fine)
    return Task(
        folder,
        np.unique(fine, return_inverse=True)[1],
        np.unique(model.data_.labels, return_inverse=True)[1],
        model.features_,
        test_fine,
        model.transform(test_texts),
    )


def user(fine: Ints, wrong: float, seed: int) -> Callable[[Question], bool]:
    """A simulated user."""
    rng = np.random.default_rng(seed)

    def answer(question: Question) -> bool:
        left, right = (np.bincount(fine[list(side.indices)]).argmax() for side in (question.left, question.right))
        return bool((left == right) != (rng.random() < wrong))

    return answer


def asked(task: Task, wrong: float, seed: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """The scores after each number of answers of `model.ask`."""
    model, answer, done = Discovery.load(task.folder), user(task.fine, wrong, seed), 0
    for step in STEPS:
        model.ask(answer, step - done)
        done = step
        yield step, task.scores(model.labels_)


def merged(task: Task, wrong: float, seed: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """The closest pair of categories of one label is asked about, again and again."""
    own = np.unique(Discovery.load(task.folder).labels_, return_inverse=True)[1]
    rng, known = np.random.default_rng(seed), set[tuple[int, int]]()
    for step in range(max(STEPS) + 1):
        if step in STEPS:
            yield step, task.scores(own)
        ids = np.unique(own)
        centroids = unit(means(task.features, own, int(own.max()) + 1)[0])[ids]
        label = np.array([task.coarse[own == i][0] for i in ids])
        similarity = np.where(label[:, None] == label, centroids @ centroids.T, -np.inf)
        for i, j in known:
            similarity[np.ix_(ids == i, ids == j)] = similarity[np.ix_(ids == j, ids == i)] = -np.inf
        np.fill_diagonal(similarity, -np.inf)
        if not np.isfinite(similarity).any():
            continue
        i, j = (int(ids[x]) for x in np.unravel_index(similarity.argmax(), similarity.shape))
        same = np.bincount(task.fine[own == i]).argmax() == np.bincount(task.fine[own == j]).argmax()
        if same != (rng.random() < wrong):
            own = np.where(own == j, i, own)
        else:
            known.add((i, j))


def random_pairs(task: Task, wrong: float, seed: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """K-means from the run's categories, in which random pairs of texts of one label must or must not be together."""
    start = np.unique(Discovery.load(task.folder).labels_, return_inverse=True)[1]
    rng, links = np.random.default_rng(seed), list[tuple[int, int, bool]]()
    labels = np.array([task.coarse[start == i][0] for i in range(int(start.max()) + 1)])
    for step in range(max(STEPS) + 1):
        if step in STEPS:
            yield step, task.scores(_constrained(task, start, labels, links))
        i = int(rng.integers(len(start)))
        j = int(rng.choice(np.flatnonzero(task.coarse == task.coarse[i])))
        links.append((i, j, bool((task.fine[i] == task.fine[j]) != (rng.random() < wrong))))


def _constrained(task: Task, own: Ints, labels: Ints, links: list[tuple[int, int, bool]]) -> Ints:
    """A few rounds of k-means, each with the links applied afterwards (COP-KMeans, without backtracking)."""
    for _ in range(5 if links else 0):
        centroids = unit(means(task.features, own, len(labels))[0])
        similarity = np.where(task.coarse[:, None] == labels, task.features @ centroids.T, -np.inf)
        own = similarity.argmax(1)
        for i, j, same in links:
            if same:
                own[j] = own[i]
            elif own[i] == own[j] and i != j:
                second = np.argsort(-similarity[j])[1]
                own[j] = second if np.isfinite(similarity[j, second]) else own[j]
    return own


def cobras(task: Task, wrong: float, seed: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """COBRAS inside each label; the answers are divided among the labels by their numbers of texts."""
    setattr(np, "int", int)  # noqa: B010 - The package was written for an older NumPy.
    from cobras_ts.cobras_kmeans import COBRAS_kmeans

    rng = np.random.default_rng(seed)

    class User:
        def __init__(self, fine: Ints) -> None:
            self.fine = fine

        def continue_cluster_process(self) -> bool:
            return True

        def update_clustering(self, clustering: Any) -> None:
            pass

        def query_points(self, idx1: int, idx2: int) -> bool:
            return bool((self.fine[idx1] == self.fine[idx2]) != (rng.random() < wrong))

    shares = np.bincount(task.coarse) / len(task.coarse)
    for step in STEPS[1:]:
        own, begin = np.empty(len(task.fine), dtype=np.int64), 0
        for label, budget in enumerate(np.maximum(1, np.round(step * shares)).astype(int)):
            rows = np.flatnonzero(task.coarse == label)
            found = COBRAS_kmeans(task.features[rows], User(task.fine[rows]), int(budget)).cluster()[0]
            result = np.asarray(found[-1] if isinstance(found, list) else found.construct_cluster_labeling())
            own[rows] = begin + result
            begin += int(result.max()) + 1
        yield step, task.scores(own)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="folder with the authors' files")
    parser.add_argument("dataset", choices=[*DATASETS, "example"])
    parser.add_argument("run", type=Path)
    parser.add_argument("--wrong", type=float, nargs="+", default=[0.0, 0.05, 0.1])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="seeds of the wrong answers")
    parser.add_argument("--no-baselines", action="store_true")
    given = parser.parse_args()
    task = read_task(given.data, given.dataset, given.run)
    model = Discovery.load(given.run)
    model.recut(len(np.unique(task.fine)))
    base = {"benchmark": "answers", "dataset": given.dataset, "seed": model.seed}
    print(json.dumps({**base, "method": "true total", **task.scores(model.labels_)}), flush=True)
    baselines: dict[str, Any] = {} if given.no_baselines else {"merging": merged, "random pairs": random_pairs}
    if not given.no_baselines and importlib.util.find_spec("cobras_ts"):
        baselines["cobras"] = cobras
    for wrong in given.wrong:
        for seed in given.seeds if wrong else given.seeds[:1]:
            for name, method in {"ask": asked, **baselines}.items():
                for step, found in method(task, wrong, seed):
                    record = {**base, "method": name, "wrong": wrong, "user": seed, "answers": step, **found}
                    print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
