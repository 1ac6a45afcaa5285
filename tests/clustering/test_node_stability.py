"""The stability of nodes: against slow loops, high for planted categories, low for what is below them."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.planted import blobs, unit_rows

from subtaxa.clustering import node_stability as module
from subtaxa.clustering.category_tree import CategoryTree
from subtaxa.clustering.forest import Forest
from subtaxa.clustering.node_stability import node_stability

DATA = blobs([[40, 30, 30], [60]], spread=0.1)


@pytest.fixture(scope="module")
def tree() -> CategoryTree:
    return Forest(DATA.features, DATA.labels).category_tree


def test_overlaps_are_those_of_the_slow_loop(tree: CategoryTree) -> None:
    some = np.sort(np.random.default_rng(0).permutation(100)[:70])  # texts of the first label
    other = Forest(DATA.features[some], np.zeros(70, dtype=np.int64)).category_tree
    found = module._best_overlaps(tree, other, tree.parts[some])
    theirs = [set(some[np.isin(other.parts, other.parts_of(node))].tolist()) for node in range(other.n_nodes)]
    for node in np.flatnonzero(tree.labels == 0).tolist():
        ours = set(np.flatnonzero(np.isin(tree.parts, tree.parts_of(node))).tolist()) & set(some.tolist())
        best = max(len(ours & texts) / len(ours | texts) for texts in theirs)
        assert found[node] == pytest.approx(best)


@pytest.mark.parametrize("label", [0, 1])
def test_the_tree_of_a_label_is_its_part_of_the_whole(tree: CategoryTree, label: int) -> None:
    nodes, own = module._of_label(tree, label)
    assert nodes.tolist() == np.flatnonzero(tree.labels == label).tolist()
    for i, node in enumerate(nodes.tolist()):
        assert nodes[own.parts_of(i)].tolist() == tree.parts_of(node).tolist()


def test_planted_categories_are_stable_and_what_is_below_them_is_not(tree: CategoryTree) -> None:
    stability = node_stability(tree, DATA.features, DATA.labels)
    planted = tree.cut(4)
    assert stability[planted] == pytest.approx(1.0)
    assert stability[np.flatnonzero(tree.parents < 0)] == pytest.approx(1.0)
    above = tree.below(np.isin(np.arange(tree.n_parts, tree.n_nodes), np.flatnonzero(tree.parents < 0)))
    below = np.setdiff1d(np.arange(tree.n_nodes), [*planted, *above, *np.flatnonzero(tree.parents < 0)])
    assert len(below) > 50
    assert stability[below].mean() < 0.8
    assert stability.min() >= 0
    assert stability.max() <= 1


def test_a_category_of_noise_is_less_stable_than_a_planted_one() -> None:
    noise = unit_rows(np.random.default_rng(0).normal(size=(120, 24)))
    labels = np.zeros(120, dtype=np.int64)
    tree = Forest(noise, labels).category_tree
    assert node_stability(tree, noise, labels)[tree.cut(3)].mean() < 0.85


def test_the_same_seed_gives_the_same_stability_and_all_texts_are_counted(tree: CategoryTree) -> None:
    done: list[int] = []
    first = node_stability(tree, DATA.features, DATA.labels, 3, done.append)
    assert sum(done) == len(DATA)
    np.testing.assert_array_equal(first, node_stability(tree, DATA.features, DATA.labels, 3))
    assert (first != node_stability(tree, DATA.features, DATA.labels, 4)).any()


def test_large_labels_are_sampled(tree: CategoryTree, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []

    class Watched(Forest):
        def __init__(self, features: np.ndarray, labels: np.ndarray) -> None:
            sizes.append(len(features))
            super().__init__(features, labels)

    monkeypatch.setattr(module, "Forest", Watched)
    monkeypatch.setattr(module, "TEXTS_PER_LABEL", 60)
    assert node_stability(tree, DATA.features, DATA.labels)[tree.cut(4)].min() > 0.9
    assert sizes == [60, 48] * module.RESAMPLES


def test_labels_of_one_text_are_stable() -> None:
    data = blobs([[1], [2]], dim=8)
    tree = Forest(data.features, data.labels).category_tree
    found = node_stability(tree, data.features, data.labels)
    assert found[0] == 1.0
    assert found[-1] == 1.0
