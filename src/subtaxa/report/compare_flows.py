"""Where the texts of each category go from one run to another: a Sankey diagram of each label, as numbers to draw.

Lengths are in pixels, y downwards. The categories of run a are on the left, those of run b on the right.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from subtaxa.taxonomy.categories import Category
from subtaxa.taxonomy.comparison import Comparison, Relation

# The height of the largest category, the smallest height (a line of text fits), and the space below a category.
LARGEST, SMALLEST, GAP = 72.0, 18.0, 6.0


@dataclass(frozen=True)
class Box:
    """A category in the diagram."""

    category: Category
    top: float
    height: float


@dataclass(frozen=True)
class Flow:
    """Texts that are in `before` and in `after`. The band is `height` high and begins and ends at these heights."""

    before: Category
    after: Category
    texts: int
    kind: str
    left: float
    right: float
    height: float


@dataclass(frozen=True)
class Flows:
    """The diagram of a label."""

    label: str
    relations: tuple[Relation, ...]
    left: tuple[Box, ...]
    right: tuple[Box, ...]
    flows: tuple[Flow, ...]
    height: float


def flows_by_label(found: Comparison) -> Iterator[Flows]:
    """The diagram of each label, in the order of the labels."""
    by_label: dict[str, list[Relation]] = defaultdict(list)
    for relation in found.relations:
        by_label[relation.label].append(relation)
    largest = max((c.size for relation in found.relations for c in (*relation.a, *relation.b)), default=1)
    for label, relations in by_label.items():
        yield _flows(label, relations, LARGEST / largest)


def _flows(label: str, relations: Sequence[Relation], scale: float) -> Flows:
    """Corresponding categories have the same place on both sides, so that few bands cross."""
    left: list[Box] = []
    right: list[Box] = []
    flows: list[Flow] = []
    top = 0.0
    for relation in relations:
        before, after = _stacked(relation.a, top, scale), _stacked(relation.b, top, scale)
        left += before
        right += after
        flows += _bands(relation, before, after, scale)
        top = max(box.top + box.height + GAP for box in (*before, *after))
    return Flows(label, tuple(relations), tuple(left), tuple(right), tuple(flows), top)


def _stacked(categories: Sequence[Category], top: float, scale: float) -> list[Box]:
    boxes = []
    for category in categories:
        boxes.append(Box(category, top, max(SMALLEST, category.size * scale)))
        top += boxes[-1].height + GAP
    return boxes


def _bands(relation: Relation, left: Sequence[Box], right: Sequence[Box], scale: float) -> Iterator[Flow]:
    """The bands of a relation. Each begins where the one above it ends."""
    before, after = ({box.category.id: box for box in side} for side in (left, right))
    begin, end = ({i: box.top for i, box in side.items()} for side in (before, after))
    for a, b, texts in sorted(relation.shared, key=lambda pair: (before[pair[0]].top, after[pair[1]].top)):
        height = max(1.0, texts * scale)
        yield Flow(before[a].category, after[b].category, texts, relation.kind, begin[a], end[b], height)
        begin[a] += height
        end[b] += height
