"""Compare names with those that the authors of a data set gave, such as "cancel reservation" or "card declined".

    python benchmarks/quality/names.py ../shared/data hwu64 >> research/measurements/names.jsonl
    python benchmarks/quality/names.py ../shared/data hwu64 --run RUN --show >> research/measurements/names.jsonl
    python benchmarks/quality/names.py ../shared/data hwu64 --endpoint http://localhost:8080/v1 --model NAME

Without a run, the true categories are named, with features of the packaged encoder as it is. With a run folder that
`benchmarks/quality/discover.py ... --out RUN` kept, its own names count; categories and fine labels are matched one to
one, as for ACC. Names and authors' names are embedded by the packaged encoder. The program reports the mean cosine of a
name to the right author's name, how often that is the nearest of its label and of all, and how the names look.

With an endpoint, a language model names the true categories, as `subtaxa name` does; they have the names, keywords and
examples of a run. `--labels N` scores the first N labels only.

The authors' names of Web of Science are in wos/label_names.tsv. `--features` keeps the features of the texts in a file.
"""

from __future__ import annotations

import csv
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, islice
from pathlib import Path

import numpy as np
from common import options
from joblib import cpu_count
from scipy.optimize import linear_sum_assignment
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from subtaxa import Discovery
from subtaxa.bench.datasets import Dataset, load
from subtaxa.encoders.base import Encoder
from subtaxa.methods import settings_for
from subtaxa.runtime.arrays import unit
from subtaxa.taxonomy.categories import Category
from subtaxa.taxonomy.chat_client import ChatServer
from subtaxa.taxonomy.examples import representatives
from subtaxa.taxonomy.model_names import find_name, find_names
from subtaxa.taxonomy.naming import Words, name_categories
from subtaxa.training.fit_encoder import encoder_for


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--run", type=Path, help="score the names of this run folder")
    parser.add_argument("--features", type=Path, help=".npy file to keep the features of the texts in")
    parser.add_argument("--show", action="store_true", help="list all names on standard error")
    parser.add_argument("--endpoint", help="let a language model on this server name the categories")
    parser.add_argument("--model", default="model", help="its name on the server")
    parser.add_argument("--together", type=int, default=8, help="the number of categories in a question")
    parser.add_argument("--labels", type=int, default=None, help="score the first labels only")
    given = parser.parse_args()
    data = load(given.dataset, given.data)
    settings = settings_for("default", **data.settings)
    encoder = encoder_for(settings.for_data(list(data.train.texts)))
    fine, truth = np.unique(data.train.fine, return_inverse=True)
    labels = np.zeros(len(fine), dtype=np.int64)
    labels[truth] = data.train.coarse_codes
    seconds = None
    if given.run:
        names, matched = names_of_run(given.run, data, fine)
    else:
        features = encoded(encoder, data, given.features)
        start = time.perf_counter()
        words = name_categories(data.train.texts, truth, labels, features, lambda some: encoder.encode(some).numpy())
        seconds = round(time.perf_counter() - start, 1)
        names, matched = [w.name for w in words], np.arange(len(fine))
        if given.endpoint:
            start = time.perf_counter()
            chosen = labels < (given.labels or len(labels))
            server = ChatServer(given.endpoint, given.model, "")
            asked = names_by_model(server.ask, described(words, data, truth, labels, features), chosen, given.together)
            seconds = round(time.perf_counter() - start, 1)
            names = [asked.get(i, name) for i, name in enumerate(names)]
    authors = authors_names(given.data, given.dataset, fine)
    some = labels[matched] < (given.labels or len(labels))
    names, matched = [name for name, kept in zip(names, some, strict=True) if kept], matched[some]
    record = {
        "command": " ".join(
            [
                f"benchmarks/quality/names.py {given.dataset}",
                *(["--run RUN"] if given.run else []),
                *([f"--endpoint URL --model {given.model} --together {given.together}"] if given.endpoint else []),
                *([f"--labels {given.labels}"] if given.labels else []),
            ]
        ),
        **score(names, [authors[i] for i in matched], labels[matched], encoder, authors, labels, show=given.show),
        **({} if seconds is None else {"seconds": seconds}),
        "cores": cpu_count(),
    }
    print(json.dumps(record))


def encoded(encoder: Encoder, data: Dataset, path: Path | None) -> np.ndarray:
    """The features (N, D) of the training texts, from the file if there is one."""
    if path and path.exists():
        return np.asarray(np.load(path))
    features = encoder.encode(list(data.train.texts)).numpy()
    if path:
        np.save(path, features)
    return np.asarray(features)


def described(
    words: Sequence[Words], data: Dataset, truth: np.ndarray, labels: np.ndarray, features: np.ndarray
) -> list[Category]:
    """The true categories as a run shows them."""
    found = []
    for i, word in enumerate(words):
        members = np.flatnonzero(truth == i)
        centroid = unit(features[members].mean(0, keepdims=True))[0]
        examples = representatives(data.train.texts, features, members, centroid)
        parent = str(np.unique(data.train.coarse)[labels[i]])
        found.append(Category(i, parent, word.name, word.keywords, examples, len(members), 1.0))
    return found


def names_by_model(
    ask: Callable[[str], str], categories: list[Category], chosen: np.ndarray, together: int
) -> dict[int, str]:
    """Usable names from a language model by category, as `subtaxa name` asks for them."""
    names: dict[int, str] = {}

    def without(some: Sequence[Category]) -> list[Category]:
        ids = {c.id for c in some}
        of_label = [c for c in categories if c.parent == some[0].parent and c.id not in ids]
        return [replace(c, name=names.get(c.id, c.name)) for c in of_label]

    wanted = [c for c, kept in zip(categories, chosen, strict=True) if kept]
    of_label = groupby(sorted(wanted, key=lambda c: c.parent), key=lambda c: c.parent)
    for some in (some for _, group in of_label for some in batched(group, together)):
        if len(some) > 1:
            names |= find_names(ask, some, without(some))
        for category in some:
            if category.id not in names and (found := find_name(ask, category, without([category]))):
                names[category.id] = found
        print(f"{len(names)} names", file=sys.stderr)
    return names


def batched(some: Iterable[Category], size: int) -> Iterator[list[Category]]:
    """Lists of at most `size` items."""
    rest = iter(some)
    while batch := list(islice(rest, size)):
        yield batch


def authors_names(folder: Path, dataset: str, fine: Sequence[str]) -> list[str]:
    """The fine labels as words."""
    names = {str(label): str(label) for label in fine}
    if dataset.startswith("wos"):
        with (folder / "wos" / "label_names.tsv").open(newline="", encoding="utf-8") as file:
            names = {row["label"]: row["fine_name"] for row in csv.DictReader(file, delimiter="\t")}
    return [names[str(label)].replace("_", " ") for label in fine]


def names_of_run(folder: Path, data: Dataset, fine: np.ndarray) -> tuple[list[str], np.ndarray]:
    """The names of the categories that are matched with a fine label, and the numbers of these labels."""
    model = Discovery.load(folder)
    right = dict(zip(data.train.texts, data.train.fine, strict=True))
    table = np.zeros((len(model.taxonomy_), len(fine)))
    place = {category.id: i for i, category in enumerate(model.taxonomy_)}
    for text, category in zip(model.data_.texts, model.labels_.tolist(), strict=True):
        table[place[category], np.searchsorted(fine, right[text])] += 1
    rows, columns = linear_sum_assignment(-table)
    return [model.taxonomy_[i].name for i in rows], columns


def score(
    names: list[str],
    wanted: list[str],
    label: np.ndarray,
    encoder: Encoder,
    authors: list[str],
    labels: np.ndarray,
    *,
    show: bool,
) -> dict[str, float]:
    """The scores of names (m) against the authors' names (m) that belong to them, among all (K)."""
    similarity = encoder.encode(names).numpy() @ encoder.encode(authors).numpy().T  # (m, K)
    right = np.array([authors.index(name) for name in wanted])
    own = similarity[np.arange(len(names)), right]
    nearest = np.where(label[:, None] == labels, similarity, -np.inf).argmax(1)
    if show:
        for i in np.lexsort((right, label)):
            wrong = "" if nearest[i] == right[i] else f"   nearest: {authors[nearest[i]]}"
            print(f"{wanted[i]:<34}{names[i]}{wrong}", file=sys.stderr)
    words = [name.lower().split() for name in names]
    pairs = list(zip(label.tolist(), (name.casefold() for name in names), strict=True))
    return {
        "cosine": round(float(own.mean()), 3),
        "right_within_label": round(100 * float((nearest == right).mean()), 1),
        "right_of_all": round(100 * float((similarity.argmax(1) == right).mean()), 1),
        "words": round(float(np.mean([len(some) for some in words])), 2),
        "one_word": round(100 * float(np.mean([len(some) == 1 for some in words])), 1),
        "stop_word_at_an_end": round(
            100 * float(np.mean([not ENGLISH_STOP_WORDS.isdisjoint((some[0], some[-1])) for some in words])), 1
        ),
        "longest": max(map(len, names)),
        "duplicates": len(pairs) - len(set(pairs)),
    }


if __name__ == "__main__":
    main()
