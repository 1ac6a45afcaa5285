"""The cut with the fewest expected mistakes, against all cuts of small trees."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from subtaxa.clustering.best_cut import best_cut
from subtaxa.clustering.category_tree import CategoryTree, ordered_tree


def random_tree(labels: list[int], seed: int) -> CategoryTree:
    """A tree with `labels[i]` parts for label i, one text each, merged at random."""
    rng = np.random.default_rng(seed)
    merges = []
    for count in labels:
        nodes, own = list(range(count)), []
        while len(nodes) > 1:
            pair = [nodes.pop(int(rng.integers(len(nodes)))) for _ in range(2)]
            nodes.append(count + len(own))
            own.append(pair)
        merges.append(np.array(own, dtype=np.int64).reshape(-1, 2))
    total = sum(labels)
    features = rng.normal(size=(total, 4)).astype(np.float32)
    return ordered_tree(features, np.arange(total), np.repeat(np.arange(len(labels)), labels), merges)


def all_cuts(tree: CategoryTree) -> Iterator[np.ndarray]:
    """Which merges each cut undoes: all sets that contain, with a merge, the merge above it."""
    m = len(tree.children)
    for bits in range(2**m):
        undone = np.array([bool(bits >> i & 1) for i in range(m)], dtype=bool)
        above = tree.parents[tree.n_parts :] - tree.n_parts
        if all(not undone[i] or above[i] < 0 or undone[above[i]] for i in range(m)):
            yield undone


def mistakes(undone: np.ndarray, same: np.ndarray, weights: np.ndarray) -> float:
    return float((weights * np.where(undone, same, 1 - same)).sum())


@pytest.mark.parametrize("labels", [[7], [4, 4], [1, 5, 3], [1], [2]])
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("weighted", [False, True])
def test_no_cut_has_fewer_mistakes(labels: list[int], seed: int, weighted: bool) -> None:
    tree, rng = random_tree(labels, seed), np.random.default_rng(100 + seed)
    same = rng.random(len(tree.children))
    weights = rng.uniform(0.1, 3, len(same)) if weighted else np.ones(len(same))
    found = best_cut(tree, same, weights)
    cuts = list(all_cuts(tree))
    assert any(np.array_equal(found, cut) for cut in cuts)
    fewest = min(mistakes(cut, same, weights) for cut in cuts)
    assert mistakes(found, same, weights) == pytest.approx(fewest)


def test_a_sure_merge_below_keeps_an_unlikely_one_undone_or_not() -> None:
    """Merges 4=(0,1) and 5=(2,3) and their merge 6. One doubtful merge below two sure ones is kept, and so on."""
    tree = CategoryTree(np.arange(4), np.zeros(4, dtype=np.int64), np.array([[0, 1], [2, 3], [4, 5]]), np.arange(3.0))
    assert best_cut(tree, np.array([0.9, 0.9, 0.9])).tolist() == [False, False, False]
    assert best_cut(tree, np.array([0.1, 0.1, 0.1])).tolist() == [True, True, True]
    assert best_cut(tree, np.array([0.9, 0.1, 0.1])).tolist() == [False, True, True]
    assert best_cut(tree, np.array([0.9, 0.1, 0.95])).tolist() == [False, False, False]
    assert best_cut(tree, np.array([0.1, 0.1, 0.7])).tolist() == [True, True, True]


def test_a_tie_keeps_the_merge() -> None:
    tree = random_tree([5], 0)
    assert not best_cut(tree, np.full(4, 0.5)).any()
