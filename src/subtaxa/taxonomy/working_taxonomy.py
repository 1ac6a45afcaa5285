"""Categories and their texts while they are being edited. An edit is checked before it changes anything.

N texts, D dimensions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np

from subtaxa.data.values import clean
from subtaxa.errors import InputError
from subtaxa.runtime.arrays import Floats, Ints, unit
from subtaxa.taxonomy.categories import Category, Taxonomy
from subtaxa.taxonomy.described_tree import DescribedTree, Group
from subtaxa.taxonomy.examples import differences, representatives
from subtaxa.taxonomy.naming import fresh_name, name_categories
from subtaxa.taxonomy.phrase_space import Embed


@dataclass
class WorkingTaxonomy:
    """The texts of a run with their categories. The id of a category is never reused."""

    texts: Sequence[str]
    labels: Sequence[str]  # coarse labels
    rows: Ints  # (N,) rows in the user's file
    features: Floats  # (N, D)
    category: Ints  # (N,) ids
    categories: dict[int, Category]
    centroids: dict[int, Floats]  # (D,) each
    next_id: int = 0
    embed: Embed | None = None  # computes the features of phrases for names
    tree: DescribedTree | None = None
    groups: dict[int, Group] = field(default_factory=dict)  # by id: the nodes of a category, if it has any
    ids: dict[Group, int] = field(default_factory=dict)  # the id that a group of nodes has or had
    given_names: dict[Group, str] = field(default_factory=dict)  # names that a person gave to groups of nodes
    moved: dict[int, int] = field(default_factory=dict)  # position of a text that a person moved, and where to
    saved_names: Mapping[int, str] = field(default_factory=dict)  # used while an old log is replayed, without `embed`
    touched: set[int] = field(default_factory=set)  # categories whose texts an edit other than a recut changed
    outdated: set[str] = field(default_factory=set)  # labels in which touched categories must be described anew
    renamed: set[str] = field(default_factory=set)  # labels in which the lines about differences are out of date
    is_deferring: bool = False

    def __post_init__(self) -> None:
        self.next_id = max(self.next_id, 1 + max(self.categories, default=-1))
        self.ids = {group: i for i, group in self.groups.items()} | self.ids
        self.start_nodes = [node for group in self.groups.values() for node in group]  # the nodes before all edits
        named = {group: self.categories[i] for i, group in self.groups.items() if i in self.categories}
        self.given_names = {group: c.name for group, c in named.items() if c.named} | self.given_names

    def copy(self) -> WorkingTaxonomy:
        """A copy that can be edited while this one stays as it is."""
        copied = copy(self)
        copied.category = self.category.copy()
        for name in ("categories", "centroids", "groups", "ids", "given_names", "moved"):
            setattr(copied, name, dict(getattr(self, name)))
        for name in ("touched", "outdated", "renamed"):
            setattr(copied, name, set(getattr(self, name)))
        return copied

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Describe changed categories once at the end, instead of after each edit. The result is the same."""
        self.is_deferring = True
        try:
            yield
            self.settle()
        finally:
            self.is_deferring = False

    def settle(self) -> None:
        """Describe the categories whose description was deferred."""
        outdated, renamed = sorted(self.outdated), sorted(self.renamed - self.outdated)
        self.outdated, self.renamed = set(), set()
        for parent in outdated:
            self._describe_label(parent)
        for parent in renamed:
            self._tell_apart_label(parent)

    def members(self, category: int) -> Ints:
        """The positions of the texts of a category."""
        return np.flatnonzero(self.category == category)

    def positions(self, rows: Iterable[int]) -> Ints:
        """The positions of texts given by their row in the user's file."""
        order = self._order
        wanted = np.fromiter(rows, dtype=np.int64)
        index = np.searchsorted(self.rows[order], wanted).clip(max=len(order) - 1)
        found = order[index]
        for row in wanted[self.rows[found] != wanted]:
            raise InputError(f"no text has row {row}: the first column of the assignments lists the rows")
        return found

    @cached_property
    def _order(self) -> Ints:
        """The positions (N,) in the order of the rows."""
        return np.argsort(self.rows, kind="stable")

    def check(self, category: int) -> Category:
        """The category with this id."""
        if category not in self.categories:
            raise InputError(f"there is no category {category}: `subtaxa info` lists the categories")
        return self.categories[category]

    def mergeable(self, categories: Sequence[int]) -> list[Category]:
        """Different categories of one label, or an error."""
        if len(set(categories)) < 2:
            raise InputError("a merge needs at least two different categories: name them")
        first, *others = found = [self.check(i) for i in dict.fromkeys(categories)]
        for other in others:
            if other.parent != first.parent:
                raise InputError(
                    f"{other.name!r} is below {other.parent!r} and {first.name!r} below {first.parent!r}: "
                    "merge only categories of one label"
                )
        return found

    def merge(self, categories: Sequence[int], names: Mapping[int, str] = MappingProxyType({})) -> None:
        """Move all texts of the categories to the first of them, which keeps its id.

        `names` has names that were found when the edit was made.
        """
        first, *others = self.mergeable(categories)
        named = [c for c in (first, *others) if c.named]
        groups = [self.groups.pop(c.id, None) for c in (first, *others)]
        known = [group for group in groups if group is not None]
        if self.tree is not None and len(known) == len(groups):
            self.groups[first.id] = self.tree.canonical(known)
        self.category[np.isin(self.category, [c.id for c in others])] = first.id
        for other in others:
            self.drop(other.id)
        if named:
            self.categories[first.id] = replace(first, name=named[0].name, named=True, namer="")
        self._describe([first.id], names=names)

    def split(
        self, category: int, parts: Mapping[int, Sequence[int]], names: Mapping[int, str] = MappingProxyType({})
    ) -> None:
        """Divide the texts of a category, given by row, among parts. One part keeps the id of the category.

        `names` has names that were found when the edit was made.
        """
        parent = self.check(category).parent
        positions = {i: self.positions(rows) for i, rows in parts.items()}
        all_positions = np.concatenate(list(positions.values())) if positions else np.empty(0, dtype=np.int64)
        if (
            category not in positions
            or any(len(some) == 0 for some in positions.values())
            or not np.array_equal(np.sort(all_positions), self.members(category))
            or any(i < self.next_id for i in positions if i != category)
        ):
            raise InputError(
                f"the parts of category {category} do not contain each of its texts exactly once: split it again"
            )
        self.groups.pop(category, None)
        for i, some in positions.items():
            self.category[some] = i
            if i != category:
                self.categories[i] = Category(i, parent, "", (), (), 0)
        self.next_id = max(self.next_id, 1 + max(positions))
        self._describe(positions, names=names)

    def rename(self, category: int, name: str, model: str = "") -> None:
        """Rename a category. A name from a person is final; a name from a language model (`model`) is not."""
        old, name = self.check(category), " ".join(clean(name).split())
        if model and old.named:
            raise InputError(f"a person chose the name {old.name!r}: a model may not replace it with {name!r}")
        if not name:
            raise InputError(f"the new name of {old.name!r} is empty: give a name with at least one letter")
        for sibling in self.categories.values():
            if sibling.parent == old.parent and sibling.name == name and sibling.id != category:
                raise InputError(
                    f"{old.parent!r} already has a category {name!r}: choose another name, or merge the two"
                )
        self.categories[category] = replace(old, name=name, named=not model, namer=model)
        if not model and category in self.groups:
            self.given_names[self.groups[category]] = name
        self.renamed.add(old.parent)
        if not self.is_deferring:
            self.settle()

    def move(self, rows: Sequence[int], to: int) -> None:
        """Move texts, given by row, to another category of their label. A category left without texts is removed."""
        target, positions = self.check(to), self.positions(rows)
        if not len(positions):
            raise InputError("no rows are given: name the rows of the texts to move")
        for i in positions:
            if self.labels[i] != target.parent:
                raise InputError(
                    f"the text in row {self.rows[i]} has the label {self.labels[i]!r} and {target.name!r} is below "
                    f"{target.parent!r}: move a text only within its label"
                )
        sources = set(self.category[positions].tolist()) - {to}
        self.category[positions] = to
        self.moved |= dict.fromkeys(positions.tolist(), to)
        for source in sources:
            if not len(self.members(source)):
                self.drop(source)
        self._describe([i for i in (to, *sorted(sources)) if i in self.categories], rename=False)

    def described_tree(self) -> DescribedTree:
        """The category tree of the run."""
        if self.tree is None:
            raise InputError(
                "this run has no tree of categories, because an earlier version of subtaxa made it: run discover again"
            )
        return self.tree

    def extend(
        self, texts: Sequence[str], labels: Sequence[str], features: Floats, category: Ints, new: Sequence[Ints]
    ) -> list[int]:
        """Add texts to existing categories and, for the positions in `new`, to new ones. Returns the ids of these.

        Row numbers continue. Names and ids stay; sizes, keywords, examples and centroids are updated.
        """
        n, first = len(self.texts), 1 + int(self.rows.max())
        self.__dict__.pop("_order", None)
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
        """The categories, ordered by label and then by decreasing size."""
        return Taxonomy(tuple(sorted(self.categories.values(), key=lambda c: (c.parent, -c.size, c.id))))

    def drop(self, category: int) -> None:
        """Remove a category that has no texts any more."""
        del self.categories[category]
        self.centroids.pop(category, None)
        self.groups.pop(category, None)
        self.touched.discard(category)

    def _describe(
        self, changed: Iterable[int], *, rename: bool = True, names: Mapping[int, str] = MappingProxyType({})
    ) -> None:
        """Update changed categories of one label: centroid, size, keywords, examples, and names that no person gave.

        A name in `names` is used as it is. All lines about differences within the label are updated.
        """
        ids = list(changed)
        parent = self.categories[ids[0]].parent
        unnamed = [i for i in ids if not self.categories[i].name or (rename and not self.categories[i].named)]
        if self.embed is None:
            names = {**self.saved_names, **names}
        for i in ids:
            self.categories[i] = replace(self.categories[i], stability=None)
        self.touched |= set(ids)
        self.outdated.add(parent)
        if self.is_deferring and all(names.get(i) for i in unnamed):
            for i in unnamed:
                self._give_name(i, names[i])
            return
        self.outdated.discard(parent)
        self.renamed.discard(parent)
        self._describe_label(parent, unnamed, names)

    def _give_name(self, category: int, name: str) -> None:
        """Give a category a name that is not from a person. A number tells it from a sibling of the same name."""
        old = self.categories[category]
        taken = {c.name for c in self.categories.values() if c.parent == old.parent and c.id != category}
        self.categories[category] = replace(old, name=fresh_name(name, taken), namer="")

    def _describe_label(
        self, parent: str, unnamed: Sequence[int] = (), names: Mapping[int, str] = MappingProxyType({})
    ) -> None:
        """Describe the touched categories of a label. Those in `unnamed` get the name in `names`, or a new one."""
        children = [c.id for c in self.categories.values() if c.parent == parent]
        group = {i: number for number, i in enumerate(children)}
        # The only category of a label has no siblings, so it is compared with all other texts.
        rows = np.flatnonzero(np.isin(self.category, children)) if len(children) > 1 else np.arange(len(self.texts))
        local = np.array([group.get(int(i), len(children)) for i in self.category[rows]], dtype=np.int64)
        parents = np.zeros(int(local.max()) + 1, dtype=np.int64)
        parents[len(children) :] = 1
        words = name_categories(
            [self.texts[i] for i in rows.tolist()],
            local,
            parents,
            self.features[rows],
            self.embed,
            [group[i] for i in unnamed if i not in names],
        )
        for i in [i for i in children if i in self.touched]:
            members = self.members(i)
            self.centroids[i] = unit(self.features[members].mean(0, keepdims=True))[0]
            examples = representatives(self.texts, self.features, members, self.centroids[i])
            if i in unnamed:
                self._give_name(i, names.get(i) or words[group[i]].name)
            self.categories[i] = replace(
                self.categories[i], keywords=words[group[i]].keywords, examples=examples, size=len(members)
            )
        self.tell_apart(children)

    def _tell_apart_label(self, parent: str) -> None:
        self.tell_apart([c.id for c in self.categories.values() if c.parent == parent])

    def tell_apart(self, children: Sequence[int]) -> None:
        """Update the lines that tell the categories of a label apart."""
        categories = [self.categories[i] for i in children]
        lines = differences(
            [c.name for c in categories],
            [c.keywords for c in categories],
            np.stack([self.centroids[i] for i in children]),
            np.zeros(len(children), dtype=np.int64),
        )
        for category, line in zip(categories, lines, strict=True):
            self.categories[category.id] = replace(category, difference=line)
