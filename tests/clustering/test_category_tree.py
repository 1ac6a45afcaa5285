"""The category tree: its cuts against slow loops, its nodes, its growth, and the categories of a cut."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.planted import Planted, blobs, same_partition

from subtaxa.clustering import category_tree
from subtaxa.clustering.category_tree import CategoryTree, ordered_tree
from subtaxa.clustering.forest import Forest
from subtaxa.errors import SettingError

DATA = blobs([[30, 20, 25], [40], [18, 22], [1]], spread=0.25)


def tree_of(data: Planted) -> CategoryTree:
    return Forest(data.features, data.labels).category_tree


@pytest.fixture(scope="module")
def tree() -> CategoryTree:
    return tree_of(DATA)


def texts_of(tree: CategoryTree, node: int) -> frozenset[int]:
    """The texts of a node, by walking down."""
    if node < tree.n_parts:
        return frozenset(np.flatnonzero(tree.parts == node).tolist())
    first, second = tree.children[node - tree.n_parts].tolist()
    return texts_of(tree, first) | texts_of(tree, second)


def test_a_label_has_about_two_roots_of_its_texts_as_parts(tree: CategoryTree) -> None:
    assert tree.max_numbers.tolist() == [round(2 * 75**0.5), round(2 * 40**0.5), round(2 * 40**0.5), 1]
    assert tree.n_labels == 4
    assert tree.n_nodes == 2 * tree.n_parts - 4
    assert (tree.part_labels[tree.parts] == DATA.labels).all()
    assert np.bincount(tree.parts, minlength=tree.n_parts).min() > 0


def test_small_labels_have_eight_parts_or_as_many_as_distinct_texts() -> None:
    data = blobs([[10], [5], [3, 2]], spread=0.2)
    data.features[data.labels == 1] = data.features[data.labels == 1][0]
    assert tree_of(data).max_numbers.tolist() == [category_tree.MIN_PARTS, 1, 5]


def test_a_single_text_is_no_part_of_its_own_unless_texts_are_few_or_parts_are_asked_for() -> None:
    data = blobs([[95], [12]], spread=0.05)
    data.features[[3, 40, 97]] = np.eye(24, dtype=np.float32)[[20, 21, 22]]  # strays
    forest = Forest(data.features, data.labels)
    tree = forest.category_tree
    assert np.bincount(tree.parts)[tree.part_labels == 0].min() > 1
    assert np.bincount(tree.parts)[tree.parts[97]] == 1
    asked = forest.tree_with([60, 1])
    assert np.bincount(asked.parts)[asked.parts[3]] == 1


def test_every_node_has_the_texts_below_it(tree: CategoryTree) -> None:
    centres = tree.means(DATA.features)
    for node in range(tree.n_nodes):
        own = sorted(texts_of(tree, node))
        assert tree.sizes[node] == len(own)
        assert np.flatnonzero(np.isin(tree.parts, tree.parts_of(node))).tolist() == own
        assert {int(DATA.labels[i]) for i in own} == {int(tree.labels[node])}
        np.testing.assert_allclose(centres[node], DATA.features[own].mean(0), atol=1e-5)
        above = tree.parents[node]
        assert above < 0 or node in tree.children[above - tree.n_parts]
    assert (tree.parents < 0).sum() == tree.n_labels


def test_heights_are_the_cost_of_a_merge_and_never_fall(tree: CategoryTree) -> None:
    """Within a label, a merge that costs less than one below it counts as much as that one."""

    def cost(first: frozenset[int], second: frozenset[int]) -> float:
        apart = DATA.features[sorted(first)].mean(0) - DATA.features[sorted(second)].mean(0)
        n, m = len(first), len(second)
        return float((apart**2).sum()) * (n * m / (n + m)) ** 0.75

    slow = np.zeros(tree.n_nodes)
    for node, (first, second) in enumerate(tree.children.tolist(), tree.n_parts):
        sides = texts_of(tree, first), texts_of(tree, second)
        slow[node] = max(cost(*sides), slow[first], slow[second])
    np.testing.assert_allclose(tree.heights, slow[tree.n_parts :], atol=1e-4)
    assert (np.diff(tree.heights) >= 0).all()
    assert (tree.children < np.arange(tree.n_parts, tree.n_nodes)[:, None]).all()


def test_a_merge_that_would_come_before_its_own_parts_waits_for_them() -> None:
    """The means of the first merge are far apart; the third part lies between them and is cheap to add."""
    features = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 0.1], [9.0, 0.0], [9.0, 0.5]], dtype=np.float32)
    merges = [np.array([[0, 1], [3, 2]]), np.array([[0, 1]])]
    found = ordered_tree(features, np.arange(5), np.array([0, 0, 0, 1, 1]), merges)
    assert found.children.tolist() == [[3, 4], [0, 1], [6, 2]]
    assert found.heights.tolist() == pytest.approx([0.25 * 0.5**0.75, 4 * 0.5**0.75, 4 * 0.5**0.75])
    assert sorted(found.cut(3).tolist()) == [2, 5, 6]


@pytest.mark.parametrize("total", [4, 5, 9, 20, 43])
def test_a_cut_has_its_total_and_each_text_once(tree: CategoryTree, total: int) -> None:
    cut = tree.cut(total)
    assert len(cut) == total
    texts = [texts_of(tree, node) for node in cut]
    assert sum(map(len, texts)) == len(DATA)
    assert frozenset().union(*texts) == frozenset(range(len(DATA)))
    assert tree.numbers(cut) == [int((tree.labels[cut] == label).sum()) for label in range(4)]
    assert min(tree.numbers(cut)) >= 1


def test_each_cut_divides_one_category_of_the_cut_before(tree: CategoryTree) -> None:
    assert tree.n_parts == 44
    before = set(tree.cut(4).tolist())
    assert before == set(np.flatnonzero(tree.parents < 0).tolist())
    for total in range(5, tree.n_parts + 1):
        now = set(tree.cut(total).tolist())
        (divided,) = before - now
        assert now - before == set(tree.children[divided - tree.n_parts].tolist())
        assert tree.heights[divided - tree.n_parts] == max(
            tree.heights[node - tree.n_parts] for node in before if node >= tree.n_parts
        )
        before = now
    assert before == set(range(tree.n_parts))


def test_fixed_numbers_are_kept_and_the_others_are_cut_as_before(tree: CategoryTree) -> None:
    for total in (9, 12, 30):
        cut = tree.cut(total, {0: 6})
        assert len(cut) == total
        assert tree.numbers(cut)[0] == 6
        rest = cut[tree.labels[cut] != 0]
        free = next(some for n in range(4, 45) if tree.numbers(some := tree.cut(n))[0] + len(rest) == n)
        assert set(rest.tolist()) == set(free[tree.labels[free] != 0].tolist())
    assert tree.numbers(tree.cut(11, {0: 6, 1: 1, 2: 3, 3: 1})) == [6, 1, 3, 1]


@pytest.mark.parametrize(
    ("total", "fixed", "range_"),
    [(3, {}, "4 to 44"), (45, {}, "4 to 44"), (8, {0: 6}, "9 to 33"), (34, {0: 6}, "9 to 33"), (0, None, "4 to 44")],
)
def test_a_total_that_the_tree_does_not_have_is_refused(
    tree: CategoryTree, total: int, fixed: dict[int, int] | None, range_: str
) -> None:
    with pytest.raises(SettingError, match=rf"categories is {total}: the tree has {range_} categories"):
        tree.cut(total, fixed)


@pytest.mark.parametrize("number", [0, 18, 99])
def test_a_fixed_number_that_the_tree_does_not_have_is_refused(tree: CategoryTree, number: int) -> None:
    with pytest.raises(SettingError, match=f"categories is {number} for a label: the tree has 1 to 17"):
        tree.cut(3 + number, {0: number})


@pytest.mark.parametrize("seed", range(4))
def test_nodes_of_are_the_fewest_nodes_with_these_parts(tree: CategoryTree, seed: int) -> None:
    rng = np.random.default_rng(seed)
    wanted = {int(part) for part in np.flatnonzero(rng.random(tree.n_parts) < 0.8)}
    inside = [node for node in range(tree.n_nodes) if set(tree.parts_of(node).tolist()) <= wanted]
    largest = tuple(node for node in inside if tree.parents[node] not in inside)
    assert tree.nodes_of(wanted) == largest
    for node in range(tree.n_nodes):
        assert tree.nodes_of(tree.parts_of(node).tolist()) == (node,)
    assert tree.nodes_of([]) == ()


def test_parts_know_their_group(tree: CategoryTree) -> None:
    cut = tree.cut(9).tolist()
    index = tree.index_of_parts([cut[:2], [cut[5]]])
    for part in range(tree.n_parts):
        owner = next(node for node in cut if part in tree.parts_of(node))
        assert index[part] == {cut[0]: 0, cut[1]: 0, cut[5]: 1}.get(owner, -1)


def test_a_cut_at_the_planted_number_has_the_planted_categories() -> None:
    data = blobs([[30, 20, 25], [40], [18, 22]], spread=0.05)
    tree = tree_of(data)
    found = tree.clusters(data.features, [[node] for node in tree.cut(6).tolist()])
    assert same_partition(found.nearest(data.features, data.labels), data.truth)
    np.testing.assert_allclose(np.linalg.norm(found.centroids, axis=1), 1.0, atol=1e-5)


def test_the_categories_of_groups_have_the_labels_of_their_nodes(tree: CategoryTree) -> None:
    cut = tree.cut(9).tolist()
    first, second = [node for node in cut if tree.labels[node] == 0][:2]
    groups = [[first, second], *([node] for node in cut if node not in (first, second))]
    found = tree.clusters(DATA.features, groups)
    assert len(found) == 8
    assert found.parents.tolist() == [int(tree.labels[group[0]]) for group in groups]
    assert np.bincount(found.nearest(DATA.features, DATA.labels), minlength=8).min() > 0


def test_an_extended_tree_has_the_new_texts_and_parts_and_all_old_nodes(tree: CategoryTree) -> None:
    n = tree.n_parts
    more = np.array([0, 0, n, n + 1, n + 1, n + 2])
    larger = tree.extended(more, [0, 2, 0])
    assert larger.n_labels == 4
    assert larger.n_parts == n + 3
    assert larger.part_labels.tolist() == [*tree.part_labels.tolist(), 0, 2, 0]
    assert (np.diff(larger.heights) >= 0).all()
    assert (larger.children < np.arange(larger.n_parts, larger.n_nodes)[:, None]).all()
    assert len(np.unique(larger.children)) == larger.children.size
    for node in range(tree.n_nodes):
        again = larger.renumbered(node, 0)
        assert again == node
        again = tree.renumbered(node, 3)
        assert set(larger.parts_of(again).tolist()) == set(tree.parts_of(node).tolist())
        assert larger.labels[again] == tree.labels[node]
    assert larger.sizes[n : n + 3].tolist() == [1, 2, 1]
    assert larger.sizes[0] == tree.sizes[0] + 2
    roots = np.flatnonzero(larger.parents < 0)
    assert {int(larger.labels[r]): int(larger.sizes[r]) for r in roots} == {0: 75 + 4, 1: 40, 2: 40 + 2, 3: 1}
    assert {n, n + 1, n + 2} <= set(larger.cut(7).tolist())


def test_a_tree_is_rebuilt_with_more_parts_if_a_label_needs_more_categories() -> None:
    forest = Forest(DATA.features, DATA.labels)
    before = forest.category_tree
    assert forest.tree_with([5, 1, 1, 1]) is before
    larger = forest.tree_with([30, 1, 1, 1])
    assert larger.max_numbers[0] == 60
    assert larger is forest.category_tree
    assert larger.numbers(larger.cut(33, {0: 30}))[0] == 30


def test_labels_of_one_text_are_a_tree_without_merges() -> None:
    tree = tree_of(blobs([[1], [1]], dim=8))
    assert tree.children.shape == (0, 2)
    assert tree.cut(2).tolist() == [0, 1]
    assert tree.extended(np.array([2, 2]), [1]).cut(3).tolist() == [0, 1, 2]
