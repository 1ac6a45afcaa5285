"""Questions about categories: with an oracle that knows the truth, they lead to the true number."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.planted import Planted, blobs, unit_rows

from subtaxa.clustering.answer_model import WRONG
from subtaxa.clustering.category_tree import CategoryTree
from subtaxa.clustering.forest import Forest
from subtaxa.taxonomy.questions import SHOWN, STAKE, WORTH, Answer, Questioner, question

DATA = blobs([[30, 20, 25, 25], [40, 30], [18, 22, 20]], spread=0.12)


def tree_of(data: Planted) -> CategoryTree:
    return Forest(data.features, data.labels).category_tree


@pytest.fixture(scope="module")
def tree() -> CategoryTree:
    return tree_of(DATA)


def asker(tree: CategoryTree, total: int, data: Planted = DATA) -> Questioner:
    return Questioner(tree, data.features, tree.cut(total))


def main_category(tree: CategoryTree, node: int, data: Planted = DATA) -> int:
    """The planted category of most texts of a node."""
    return int(np.bincount(data.truth[np.isin(tree.parts, tree.parts_of(node))]).argmax())


def ask(questioner: Questioner, most: int = 60, wrong: float = 0.0, seed: int = 0, data: Planted = DATA) -> int:
    """Ask until nothing is worth asking. Each answer is wrong with the given probability. Returns their number."""
    rng = np.random.default_rng(seed)
    for number in range(most):
        found = questioner.next()
        if found is None:
            return number
        nodes, doubt = found
        assert WORTH <= doubt <= 0.5
        left, right = (main_category(questioner.tree, node, data) for node in nodes)
        questioner.answers.append(Answer(nodes, (left == right) != (rng.random() < wrong)))
    return most


def overlap(questioner: Questioner, data: Planted = DATA) -> float:
    """The share of the texts in a category that is most of a planted one, and of whose texts it is most."""
    tree, right = questioner.tree, 0
    for group in questioner.groups():
        inside = np.isin(tree.parts, [part for node in group for part in tree.parts_of(node)])
        kind = int(np.bincount(data.truth[inside]).argmax())
        shared = int((inside & (data.truth == kind)).sum())
        if 2 * shared > inside.sum() and 2 * shared > (data.truth == kind).sum():
            right += shared
    return right / len(data)


def test_before_the_first_answer_the_first_cut_is_kept() -> None:
    """One label, in which the order of the tree is that of the costs."""
    data = blobs([[30, 20, 25, 25]], spread=0.05)
    tree = tree_of(data)
    found = asker(tree, 4, data).groups()
    assert set(found) == {(node,) for node in tree.cut(4).tolist()}


@pytest.mark.parametrize("start", [3, 6, 9, 14, 25])
def test_with_an_oracle_the_number_is_found_from_any_start(tree: CategoryTree, start: int) -> None:
    questioner = asker(tree, start)
    asked = ask(questioner)
    assert asked < 40
    assert len(questioner.groups()) == 9
    assert overlap(questioner) > 0.98


def test_groups_contain_each_part_exactly_once(tree: CategoryTree) -> None:
    questioner = asker(tree, 12)
    for _ in range(5):
        ask(questioner, most=3)
        parts = [part for group in questioner.groups() for node in group for part in tree.parts_of(node).tolist()]
        assert sorted(parts) == list(range(tree.n_parts))
        assert all(len({int(tree.labels[node]) for node in group}) == 1 for group in questioner.groups())


@pytest.mark.parametrize("seed", range(3))
def test_with_some_wrong_answers_the_number_is_about_right(tree: CategoryTree, seed: int) -> None:
    questioner = asker(tree, 14)
    ask(questioner, most=40, wrong=WRONG, seed=seed)
    assert abs(len(questioner.groups()) - 9) <= 2
    assert overlap(questioner) > 0.85


def test_one_wrong_answer_changes_only_the_categories_that_it_is_about(tree: CategoryTree) -> None:
    questioner = asker(tree, 9)
    ask(questioner)
    before = set(questioner.groups())
    first, second = (node for node in tree.cut(9).tolist() if tree.labels[node] == 1)
    questioner.answers.append(Answer((min(first, second), max(first, second)), True))
    now = set(questioner.groups())
    assert len(before - now) <= 2
    assert {int(tree.labels[node]) for group in before - now for node in group} <= {1}


def test_a_skipped_question_does_not_return(tree: CategoryTree) -> None:
    questioner = asker(tree, 14)
    seen = []
    for _ in range(200):
        found = questioner.next()
        if found is None:
            break
        seen.append(found[0])
        questioner.skipped.add(found[0])
    assert questioner.next() is None
    assert len(set(seen)) == len(seen) > 3
    assert questioner.groups() == asker(tree, 14).groups()  # What was skipped says nothing.


def test_the_next_question_has_most_at_stake(tree: CategoryTree) -> None:
    """That is its doubt, with a little more weight on large groups."""
    questioner, stakes = asker(tree, 14), []
    while (found := questioner.next()) is not None:
        stakes.append(found[1] * min(tree.sizes[list(found[0])]) ** STAKE)
        questioner.skipped.add(found[0])
    assert len(stakes) > 3
    assert stakes == pytest.approx(sorted(stakes, reverse=True))


def together(questioner: Questioner, pair: tuple[int, int]) -> bool:
    index = questioner.tree.index_of_parts(questioner.groups())
    return bool(index[questioner.tree.parts_of(pair[0])[0]] == index[questioner.tree.parts_of(pair[1])[0]])


def strangers(tree: CategoryTree) -> tuple[int, int]:
    """Two categories of one label that are not siblings in the tree."""
    cut, known = tree.cut(9).tolist(), {tuple(sorted(pair)) for pair in tree.children.tolist()}
    pairs = ((a, b) for a in cut for b in cut if a < b and tree.labels[a] == tree.labels[b])
    return next(pair for pair in pairs if pair not in known)


@pytest.mark.parametrize("siblings", [True, False])
def test_the_newer_of_two_contradicting_answers_counts(tree: CategoryTree, siblings: bool) -> None:
    doubtful = asker(tree, 14).next()
    assert doubtful is not None
    pair = doubtful[0] if siblings else strangers(tree)
    for answers in ([True, False], [False, True], [True, True, False], [False, False, True]):
        questioner = asker(tree, 14)
        for same in answers:
            questioner.answers.append(Answer(pair, same))
        assert together(questioner, pair) == answers[-1]


def test_categories_that_are_not_siblings_can_be_one(tree: CategoryTree) -> None:
    pair, questioner = strangers(tree), asker(tree, 9)
    before = len(questioner.groups())
    questioner.answers.append(Answer(pair, True))
    assert pair in questioner.groups()
    assert len(questioner.groups()) == before - 1


def test_the_texts_of_a_question_are_the_most_typical_and_others_when_it_is_asked_again(tree: CategoryTree) -> None:
    questioner = asker(tree, 9)
    a, b = (node for node in tree.cut(9).tolist() if tree.labels[node] == 1)
    texts = [f"text {i}" for i in range(len(DATA))]
    first = question(questioner, (a, b), 0.3, texts, lambda node: f"node {node}", "label")
    assert (first.left.name, first.right.name, first.label, first.doubt) == (f"node {a}", f"node {b}", "label", 0.3)
    assert first.left.size == tree.sizes[a]
    assert first.left.texts == tuple(texts[i] for i in first.left.indices)
    for side, node in ((first.left, a), (first.right, b)):
        members = np.flatnonzero(np.isin(tree.parts, tree.parts_of(node)))
        centre = DATA.features[members].mean(0)
        ranked = sorted(members.tolist(), key=lambda i: -float(DATA.features[i] @ centre))
        assert list(side.indices) == ranked[:SHOWN]
    questioner.answers.append(Answer((a, b), False))
    second = question(questioner, (a, b), 0.3, texts, str, "label")
    assert not set(first.left.indices) & set(second.left.indices)


def test_labels_of_a_single_text_have_no_questions() -> None:
    data = blobs([[1], [1]], dim=8)
    questioner = asker(tree_of(data), 2, data)
    assert questioner.next() is None
    assert questioner.groups() == [(0,), (1,)]


def test_answers_about_one_label_carry_over_to_the_others() -> None:
    """Every planted category has two halves. The oracle says in four labels that they are one category."""
    halves = blobs([[40] * 2] * 6, spread=0.05)
    extra = np.where(np.arange(len(halves)) % 2, 0.35, -0.35)[:, None] * np.eye(24)[12 + halves.truth]
    data = Planted(unit_rows(halves.features + extra), halves.labels, halves.truth)
    tree = tree_of(data)
    questioner = asker(tree, 24, data)
    assert len(questioner.groups()) == 24
    merges = {tuple(sorted(pair)): node for node, pair in enumerate(tree.children.tolist(), tree.n_parts)}
    whole = set(tree.cut(12).tolist())
    for pair, node in merges.items():
        if node in whole and tree.labels[node] < 4:
            questioner.answers.append(Answer((pair[0], pair[1]), True))
    assert len(questioner.answers) == 8
    numbers = tree.numbers(np.array([group[0] for group in questioner.groups()]))
    assert numbers[:4] == [2] * 4
    assert numbers[4:] == [2, 2]
