"""The category tree as a compact block of the page's data. With it, the page can cut the tree at other numbers.

N texts, P parts, M merges, P + M nodes, L labels.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from subtaxa.clustering.number_of_categories import CategoryCount
from subtaxa.report.formatting import shorten
from subtaxa.taxonomy.described_tree import DescribedTree, Group
from subtaxa.taxonomy.examples import LENGTH

MAX_KEYWORDS = 5
MAX_EXAMPLES = 3
# Characters of an example that is not among the texts of the run.
EXAMPLE_LENGTH = 200


@dataclass(frozen=True)
class TreeContent:
    """The category tree of a run, and which of its nodes are or were categories."""

    described: DescribedTree
    labels: Sequence[str]  # (L) in the order of the tree
    groups: Mapping[int, Group]  # by id: the nodes of a category
    ids: Mapping[Group, int]  # the id that a group has or had
    next_id: int
    given_names: Mapping[Group, str] = field(default_factory=dict)  # names that a person gave
    numbers: Mapping[str, CategoryCount] = field(default_factory=dict)  # by label: its plausible numbers


def tree_block(content: TreeContent, texts: Sequence[str], shown: Mapping[str, int]) -> dict[str, Any]:
    """The tree for the page, where `shown` gives the index of each label on the page.

    Lists about nodes begin with the parts. An example is the index of its text, which takes less space than the text.
    """
    tree, nodes = content.described.tree, content.described.nodes
    index = {text[:LENGTH]: i for i, text in reversed(list(enumerate(texts)))}
    return {
        "parts": tree.parts.tolist(),
        "labels": [shown[content.labels[label]] for label in tree.part_labels.tolist()],
        "children": tree.children.ravel().tolist(),
        "names": [shorten(node.name, 120) for node in nodes],
        "keywords": [[shorten(word, 60) for word in node.keywords[:MAX_KEYWORDS]] for node in nodes],
        "examples": [
            [index.get(text, shorten(text, EXAMPLE_LENGTH)) for text in node.examples[:MAX_EXAMPLES]] for node in nodes
        ],
        "stability": [None if node.stability is None else round(node.stability, 2) for node in nodes],
        "plausible": [_range(content.numbers.get(name)) for name in shown],
        "exact": _exact(shown),
    } | changing_block(content)


def changing_block(content: TreeContent) -> dict[str, Any]:
    """What an edit can change of the tree."""
    return {
        "categories": [[i, group[0]] for i, group in content.groups.items() if len(group) == 1],
        "ids": [[group[0], i] for group, i in content.ids.items() if len(group) == 1],
        "given": [[group[0], shorten(name, 120)] for group, name in content.given_names.items() if len(group) == 1],
        "next": content.next_id,
    }


def _range(count: CategoryCount | None) -> list[int] | None:
    """The plausible numbers of a label, or None if its number was not estimated."""
    return [count.low, count.high] if count is not None and count.curve else None


def _exact(shown: Mapping[str, int]) -> str:
    """By index: the labels that the page shortens or changes, for the file of corrections.

    It is JSON inside a string, so that it has only ASCII characters and passes through the page unchanged.
    """
    return json.dumps({i: name for name, i in shown.items() if shorten(name, 120) != name or not name.isprintable()})
