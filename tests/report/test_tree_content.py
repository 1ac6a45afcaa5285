"""The category tree in the page's data: compact, complete and harmless."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from subtaxa.clustering.category_tree import CategoryTree
from subtaxa.clustering.number_of_categories import CategoryCount
from subtaxa.report.content import Content, as_json
from subtaxa.report.tree_content import TreeContent
from subtaxa.taxonomy.categories import Category, Taxonomy
from subtaxa.taxonomy.described_tree import DescribedTree, Node

TEXTS = [f"text {i}" for i in range(6)]


def described(*names: str) -> DescribedTree:
    """Label 0 has the parts 0, 1 and 3, and label 1 the part 2; the merges are 4 = 0 + 3 and 5 = 4 + 1."""
    parts, labels = np.array([0, 1, 2, 3, 0, 1]), np.array([0, 0, 1, 0])
    tree = CategoryTree(parts, labels, np.array([[0, 3], [4, 1]]), np.array([0.5, 1.0]))
    words = tuple(f"w{i}" for i in range(8))
    nodes = [Node(name, words, ("text 4", "elsewhere " * 90, "text 1", "text 2"), 0.12345) for name in names]
    return DescribedTree(tree, tuple(nodes))


def content(labels: tuple[str, str] = ("a", "b"), name: str = "n") -> Content:
    tree = TreeContent(
        described=described(*[f"{name}{i}" for i in range(6)]),
        labels=labels,
        groups={7: (4,), 8: (1,), 9: (2,)},
        ids={(4,): 7, (1,): 8, (2,): 9, (0,): 3, (0, 1): 4},
        next_id=10,
        given_names={(0,): "mine", (0, 1): "both"},
        numbers={labels[0]: CategoryCount(2, 1, 3, ((2, 0.5),)), labels[1]: CategoryCount.given(1)},
    )
    taxonomy = Taxonomy(
        (
            Category(7, labels[0], "x", (), (), 3),
            Category(8, labels[0], "y", (), (), 2),
            Category(9, labels[1], "z", (), (), 1),
        )
    )
    return Content(
        fingerprint="abc",
        edits=0,
        taxonomy=taxonomy,
        texts=TEXTS,
        rows=range(2, 8),
        categories=np.array([7, 8, 9, 7, 7, 8]),
        confidences=np.full(6, 0.8),
        outliers=np.zeros(6, dtype=bool),
        positions=np.zeros((6, 2), dtype=np.float32),
        confused={},
        tree=tree,
    )


def block(given: Content) -> Any:
    return json.loads(as_json(given))["tree"]


def test_the_tree_has_its_parts_merges_and_descriptions() -> None:
    tree = block(content())
    assert tree["parts"] == [0, 1, 2, 3, 0, 1]
    assert tree["labels"] == [0, 0, 1, 0]
    assert tree["children"] == [0, 3, 4, 1]
    assert tree["names"] == ["n0", "n1", "n2", "n3", "n4", "n5"]
    assert tree["keywords"] == [["w0", "w1", "w2", "w3", "w4"]] * 6
    assert tree["stability"] == [0.12] * 6
    assert tree["plausible"] == [[1, 3], None]
    assert tree["next"] == 10


def test_an_example_is_the_index_of_its_text_or_a_short_text() -> None:
    first, other, second = block(content())["examples"][0]
    assert (first, second) == (4, 1)
    assert other.startswith("elsewhere")
    assert len(other) <= 200


def test_only_single_nodes_have_ids_and_names() -> None:
    """A slider never makes a category of several nodes."""
    tree = block(content())
    assert tree["categories"] == [[7, 4], [8, 1], [9, 2]]
    assert tree["ids"] == [[4, 7], [1, 8], [2, 9], [0, 3]]
    assert tree["given"] == [[0, "mine"]]


def test_labels_follow_the_order_of_the_page() -> None:
    given = content(("b", "a"))
    assert block(given)["labels"] == [0, 0, 1, 0]
    swapped = replace(given, taxonomy=Taxonomy(tuple(reversed(tuple(given.taxonomy)))))
    assert block(swapped)["labels"] == [1, 1, 0, 1]
    assert block(swapped)["plausible"] == [None, [1, 3]]


@pytest.mark.parametrize(
    "label", ["plain", "y" * 5000, " spaces ", "", "\ud800 half", "c1 \x85\x07", "</script><script>alert(1)</script>"]
)
def test_a_label_that_the_page_changes_is_kept_exactly(label: str) -> None:
    given = content(("first", label))
    written = as_json(given)
    assert "<" not in written
    tree = json.loads(written)["tree"]
    assert tree["exact"].isascii()
    assert json.loads(tree["exact"]).get("1", label) == label
    assert ("1" in json.loads(tree["exact"])) is (label not in ("plain", "</script><script>alert(1)</script>"))


def test_hostile_names_are_escaped() -> None:
    assert "<" not in as_json(content(name="</script><b onclick=alert(1)>"))


def test_a_run_without_a_tree_has_no_block() -> None:
    assert block(replace(content(), tree=None)) is None
