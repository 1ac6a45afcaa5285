"""Who is filed where, and what an edit does to it. Every check comes before any change.

N texts, D dimensions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from subtaxa.errors import InputError
from subtaxa.runtime.arrays import Floats, Ints, unit
from subtaxa.taxonomy.categories import Category, Taxonomy
from subtaxa.taxonomy.naming import fresh_name, name_categories, representatives


@dataclass
class WorkingTaxonomy:
    """The texts of a run with their categories. Ids are never used again, whatever becomes of their category."""

    texts: Sequence[str]
    labels: Sequence[str]  # coarse
    rows: Ints  # (N,) of the user's file
    features: Floats  # (N, D)
    category: Ints  # (N,) ids
    categories: dict[int, Category]
    centroids: dict[int, Floats]  # (D,) each
    next_id: int = 0

    def __post_init__(self) -> None:
        self.next_id = max(self.next_id, 1 + max(self.categories, default=-1))

    def members(self, category: int) -> Ints:
        """The positions of a category's texts."""
        return np.flatnonzero(self.category == category)

    def positions(self, rows: Iterable[int]) -> Ints:
        """The positions of texts given by their row in the user's file."""
        order = np.argsort(self.rows, kind="stable")
        wanted = np.fromiter(rows, dtype=np.int64)
        place = np.searchsorted(self.rows[order], wanted).clip(max=len(order) - 1)
        found = order[place]
        for row in wanted[self.rows[found] != wanted]:
            raise InputError(f"there is no text of row {row}: the rows are in the first column of the assignments")
        return found

    def check(self, category: int) -> Category:
        """The category with this id."""
        if category not in self.categories:
            raise InputError(f"there is no category {category}: see `subtaxa info` for those there are")
        return self.categories[category]

    def merge(self, categories: Sequence[int]) -> None:
        """All texts of the categories go to the first of them, which keeps its id."""
        if len(set(categories)) < 2:
            raise InputError("name two categories or more to merge")
        first, *others = (self.check(i) for i in dict.fromkeys(categories))
        for other in others:
            if other.parent != first.parent:
                raise InputError(
                    f"{other.name!r} is below {other.parent!r} and {first.name!r} below {first.parent!r}: "
                    "only categories of one label can be merged"
                )
        given = [c for c in (first, *others) if c.named]
        self.category[np.isin(self.category, [c.id for c in others])] = first.id
        for other in others:
            self._drop(other.id)
        if given:
            self.categories[first.id] = replace(first, name=given[0].name, named=True, namer="")
        self._describe([first.id])

    def split(self, category: int, parts: Mapping[int, Sequence[int]]) -> None:
        """The category's texts, by row, go to the parts; one of them has the category's own id."""
        parent = self.check(category).parent
        places = {i: self.positions(rows) for i, rows in parts.items()}
        together = np.concatenate(list(places.values())) if places else np.empty(0, dtype=np.int64)
        if (
            category not in places
            or any(len(place) == 0 for place in places.values())
            or not np.array_equal(np.sort(together), self.members(category))
            or any(i < self.next_id for i in places if i != category)
        ):
            raise InputError(f"the parts of category {category} are not its texts, each once")
        for i, place in places.items():
            self.category[place] = i
            if i != category:
                self.categories[i] = Category(i, parent, "", (), (), 0)
        self.next_id = max(self.next_id, 1 + max(places))
        self._describe(places)

    def rename(self, category: int, name: str, model: str = "") -> None:
        """Give a category a name. A person's is kept from then on; that of a language model gives way to a person's."""
        old, name = self.check(category), " ".join(name.split())
        if model and old.named:
            raise InputError(f"a person named {old.name!r}: no model may name it {name!r}")
        if not name:
            raise InputError(f"the new name of {old.name!r} is empty: give it a name")
        for sibling in self.categories.values():
            if sibling.parent == old.parent and sibling.name == name and sibling.id != category:
                raise InputError(
                    f"{old.parent!r} has a category {name!r} already: choose another name, or merge the two"
                )
        self.categories[category] = replace(old, name=name, named=not model, namer=model)

    def move(self, rows: Sequence[int], to: int) -> None:
        """File some texts, by row, under another category of their label. A category without texts is gone."""
        target, places = self.check(to), self.positions(rows)
        if not len(places):
            raise InputError("name the rows of the texts to move")
        for place in places:
            if self.labels[place] != target.parent:
                raise InputError(
                    f"the text of row {self.rows[place]} is marked {self.labels[place]!r} and {target.name!r} is below "
                    f"{target.parent!r}: a text moves only within its label"
                )
        left = set(self.category[places].tolist()) - {to}
        self.category[places] = to
        for i in left:
            if not len(self.members(i)):
                self._drop(i)
        self._describe([i for i in (to, *sorted(left)) if i in self.categories], rename=False)

    def extend(
        self, texts: Sequence[str], labels: Sequence[str], features: Floats, category: Ints, new: Sequence[Ints]
    ) -> list[int]:
        """File more texts under the categories there are, and some of them, by position, under new ones: their ids.

        Rows are numbered on. Names and ids stay; sizes, words, examples and centroids follow the texts.
        """
        n, first = len(self.texts), 1 + int(self.rows.max())
        self.texts, self.labels = [*self.texts, *texts], [*self.labels, *labels]
        self.rows = np.concatenate([self.rows, np.arange(first, first + len(texts))])
        self.features = np.concatenate([self.features, features])
        self.category = np.concatenate([self.category, category])
        stability = {c.id: c.stability for c in self.categories.values()}
        ids = []
        for positions in new:
            self.category[n + positions] = self.next_id
            self.categories[self.next_id] = Category(self.next_id, labels[int(positions[0])], "", (), (), 0)
            ids.append(self.next_id)
            self.next_id += 1
        for parent in sorted(set(labels)):
            children = [c.id for c in self.categories.values() if c.parent == parent]
            self._describe(children, rename=False)
        for i, stable in stability.items():
            self.categories[i] = replace(self.categories[i], stability=stable)
        return ids

    def taxonomy(self) -> Taxonomy:
        """The categories by label and falling size."""
        return Taxonomy(tuple(sorted(self.categories.values(), key=lambda c: (c.parent, -c.size, c.id))))

    def _drop(self, category: int) -> None:
        del self.categories[category], self.centroids[category]

    def _describe(self, changed: Iterable[int], *, rename: bool = True) -> None:
        """Centroid, size, words and examples of changed categories, and a name where no person gave one."""
        ids = list(changed)
        parent = self.categories[ids[0]].parent
        children = [c.id for c in self.categories.values() if c.parent == parent]
        group = {i: number for number, i in enumerate(children)}
        # A label with a single child has nothing else to stand out from than all other texts.
        some = np.flatnonzero(np.isin(self.category, children)) if len(children) > 1 else np.arange(len(self.texts))
        local = np.array([group.get(int(i), len(children)) for i in self.category[some]], dtype=np.int64)
        parents = np.zeros(int(local.max()) + 1, dtype=np.int64)
        parents[len(children) :] = 1
        words = name_categories([self.texts[i] for i in some.tolist()], local, parents)
        for i in ids:
            members = self.members(i)
            self.centroids[i] = unit(self.features[members].mean(0, keepdims=True))[0]
            examples = representatives(self.texts, self.features, members, self.centroids[i])
            found, old = words[group[i]], self.categories[i]
            name, namer = old.name, old.namer
            if not name or (rename and not old.named):
                taken = {c.name for c in self.categories.values() if c.parent == parent and c.id != i}
                name, namer = fresh_name(found.name, taken), ""
            self.categories[i] = Category(
                i, parent, name, found.keywords, examples, len(members), named=old.named, namer=namer
            )
