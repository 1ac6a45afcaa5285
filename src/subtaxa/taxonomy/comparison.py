"""Which categories of two runs are the same, split, merged, new or gone, told from the texts that both runs have.

Two categories correspond if most of the shared texts of one are in the other. Categories that correspond, directly or
through others, form one relation.

N shared texts, A and B categories.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import block_array, coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from subtaxa.errors import InputError
from subtaxa.taxonomy.categories import Category, Taxonomy

RELATIONS = ("same", "split", "merged", "regrouped", "new", "gone")


@dataclass(frozen=True)
class CategorisedTexts:
    """The categories of a run and its texts, each with its coarse label and the id of its category."""

    taxonomy: Taxonomy
    texts: Sequence[str]
    labels: Sequence[str]
    ids: Sequence[int]


@dataclass(frozen=True)
class Relation:
    """Categories of two runs that correspond: one and one, one and several, or one without a counterpart."""

    kind: str  # one of RELATIONS
    label: str
    a: tuple[Category, ...]  # largest first
    b: tuple[Category, ...]
    shared: tuple[tuple[int, int, int], ...]  # (id in a, id in b, number of shared texts), most texts first

    def categories(self) -> tuple[dict[int, Category], dict[int, Category]]:
        """The categories of a and those of b, by id."""
        return {c.id: c for c in self.a}, {c.id: c for c in self.b}

    def to_dict(self) -> dict[str, Any]:
        """The relation as JSON has it."""
        sides = {
            side: [{"id": c.id, "name": c.name, "size": c.size} for c in found]
            for side, found in (("a", self.a), ("b", self.b))
        }
        pairs = [{"a": one, "b": other, "texts": count} for one, other, count in self.shared]
        return {"relation": self.kind, "label": self.label, **sides, "shared": pairs}


@dataclass(frozen=True)
class Comparison:
    """How the categories of run b follow from those of run a."""

    relations: tuple[Relation, ...]  # by label, then in the order of RELATIONS
    both: int  # the number of texts that both runs have
    only_a: int
    only_b: int
    ari: float  # adjusted Rand index of the shared texts: 1 if the categories are the same, about 0 if unrelated
    nmi: float  # normalised mutual information, from 0 to 1

    def counts(self) -> dict[str, int]:
        """How many relations there are of each kind."""
        found = Counter(relation.kind for relation in self.relations)
        return {kind: found[kind] for kind in RELATIONS}

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON has it."""
        return {
            "texts": {"both": self.both, "only_a": self.only_a, "only_b": self.only_b},
            "ari": self.ari,
            "nmi": self.nmi,
            "counts": self.counts(),
            "categories": [relation.to_dict() for relation in self.relations],
        }


def compare(a: CategorisedTexts, b: CategorisedTexts) -> Comparison:
    """Compare two runs by the texts that both have. A text that occurs several times is matched as often."""
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    pairs = _matched(a, b)
    if not pairs:
        raise InputError("the two runs have no text with the same label in common: compare runs of the same texts")
    in_a, in_b = (_places(side, [pair[i] for pair in pairs]) for i, side in enumerate((a, b)))  # (N,), (N,)
    shape = len(a.taxonomy), len(b.taxonomy)
    shared = coo_array((np.ones(len(pairs), dtype=np.int64), (in_a, in_b)), shape).tocsr()  # (A, B)
    return Comparison(
        tuple(_relations(a.taxonomy, b.taxonomy, shared)),
        both=len(pairs),
        only_a=len(a.texts) - len(pairs),
        only_b=len(b.texts) - len(pairs),
        ari=float(adjusted_rand_score(in_a, in_b)),
        nmi=float(normalized_mutual_info_score(in_a, in_b)),
    )


def _matched(a: CategorisedTexts, b: CategorisedTexts) -> list[tuple[int, int]]:
    """The positions in a and b of each text that both have with the same label."""
    waiting = defaultdict(list)
    for i, text in enumerate(zip(b.texts, b.labels, strict=True)):
        waiting[text].append(i)
    for found in waiting.values():
        found.reverse()
    pairs = ((i, waiting.get(text)) for i, text in enumerate(zip(a.texts, a.labels, strict=True)))
    return [(i, found.pop()) for i, found in pairs if found]


def _places(side: CategorisedTexts, positions: Iterable[int]) -> list[int]:
    """For some texts, the index of their category in the taxonomy."""
    index = {category.id: i for i, category in enumerate(side.taxonomy)}
    try:
        return [index[side.ids[i]] for i in positions]
    except KeyError as error:
        wrong = f"the assignments name a category {error} that the run does not have: run discover again"
        raise InputError(wrong) from error


def _relations(a: Taxonomy, b: Taxonomy, shared: csr_array) -> Iterable[Relation]:
    """Every category of both runs in exactly one relation."""
    found = shared.tocoo()
    most_of_a = 2 * found.data > shared.sum(axis=1)[found.row]
    most_of_b = 2 * found.data > shared.sum(axis=0)[found.col]
    link = most_of_a | most_of_b
    links = coo_array((np.ones(link.sum()), (found.row[link], found.col[link])), shared.shape)
    mutual = set(zip(found.row[most_of_a & most_of_b].tolist(), found.col[most_of_a & most_of_b].tolist(), strict=True))
    count, group = connected_components(block_array([[None, links], [links.T, None]]), directed=False)  # (A + B,)
    sides: list[tuple[list[int], list[int]]] = [([], []) for _ in range(count)]
    for i, own in enumerate(group.tolist()):
        sides[own][i >= len(a)].append(i if i < len(a) else i - len(a))
    relations = [_relation(a, b, shared, one, other, mutual) for one, other in sides]
    return sorted(relations, key=lambda r: (r.label, RELATIONS.index(r.kind), -sum(c.size for c in (*r.a, *r.b))))


def _relation(
    a: Taxonomy, b: Taxonomy, shared: csr_array, one: list[int], other: list[int], mutual: set[tuple[int, int]]
) -> Relation:
    part = shared[one][:, other].tocoo()
    pairs = sorted(zip(part.data.tolist(), part.row.tolist(), part.col.tolist(), strict=True), reverse=True)
    before, after = tuple(a[i] for i in one), tuple(b[i] for i in other)
    return Relation(
        _kind(one, other, mutual),
        (before or after)[0].parent,
        _largest_first(before),
        _largest_first(after),
        tuple((before[i].id, after[j].id, count) for count, i, j in pairs),
    )


def _largest_first(categories: Iterable[Category]) -> tuple[Category, ...]:
    return tuple(sorted(categories, key=lambda category: -category.size))


def _kind(one: list[int], other: list[int], mutual: set[tuple[int, int]]) -> str:
    if not one or not other:
        return "gone" if one else "new"
    if len(one) == len(other) == 1:
        return "same" if (one[0], other[0]) in mutual else "regrouped"
    return "split" if len(one) == 1 else "merged" if len(other) == 1 else "regrouped"
