"""Questions that decide where categories end: are these two groups of texts one category?

A question is about the two sides of a merge in the category tree, or about two categories that are close but not
siblings in the tree. The answers about merges fit a model (clustering/answer_model.py), which decides about all merges
that were not asked about. An answer about two other categories decides about them alone: such pairs are rarely one
category, so their answers would teach the model to divide everything. The next question is the one whose answer is most
uncertain, with a little more weight on large groups. Two answers about the same groups that contradict each other are
resolved by the newer one.

N texts, M merges, P + M nodes, D dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from subtaxa.clustering.answer_model import (
    AnswerModel,
    Matrix,
    fit_answers,
    inputs,
    log_costs,
    told,
    weights_before,
)
from subtaxa.clustering.best_cut import best_cut
from subtaxa.clustering.category_tree import CategoryTree
from subtaxa.runtime.arrays import Floats, Ints
from subtaxa.taxonomy.described_tree import Group

# The number of texts of each group that a question shows.
SHOWN = 5

# The number of nearest categories of the same label that each category is compared with, besides its sibling.
NEAREST = 3

# A question is worth asking only if the more likely answer is wrong with at least this probability.
WORTH = 0.15

# A mistake counts as much as the number of texts of the smaller group to this power: with 0 every category counts the
# same, with 1 every text.
STAKE = 0.25


@dataclass(frozen=True)
class Side:
    """One group of a question.

    Attributes
    ----------
    texts : tuple of str
        Up to five texts, the most typical first.
    indices : tuple of int
        Their positions among the fitted texts.
    name : str
        The name of the group.
    size : int
        The number of its texts.
    """

    texts: tuple[str, ...]
    indices: tuple[int, ...]
    name: str
    size: int


@dataclass(frozen=True)
class Question:
    """Are the texts of `left` and `right` one category?

    Attributes
    ----------
    left, right : Side
        The two groups.
    label : str
        The coarse label of both.
    doubt : float
        The probability, from 0 to 0.5, that the answer the model expects is wrong.
    nodes : tuple of int
        The nodes of the category tree that the groups are.
    """

    left: Side
    right: Side
    label: str
    doubt: float
    nodes: tuple[int, int]


@dataclass(frozen=True)
class Answer:
    """The answer to a question about two nodes."""

    nodes: tuple[int, int]  # in increasing order
    same: bool


@dataclass
class Questioner:
    """Chooses questions and turns answers into a cut."""

    tree: CategoryTree
    features: Floats  # (N, D)
    start: Ints  # the nodes of the cut before the first answer
    answers: list[Answer] = field(default_factory=list)
    skipped: set[tuple[int, int]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.means = self.tree.means(self.features)  # (P + M, D)
        pairs = self.tree.children
        self.centre = np.zeros(3 + self.tree.n_labels)
        self.inputs = self._inputs(pairs[:, 0], pairs[:, 1])  # (M, F)
        self.stakes = self._stakes(pairs[:, 0], pairs[:, 1])  # (M,)
        self.merge_of = {tuple(sorted(pair)): i for i, pair in enumerate(pairs.tolist())}
        threshold = self._log_threshold()
        near = np.abs(log_costs(self.inputs) - threshold) < 1.0  # merges that the answers will be about
        if near.any():
            self.centre[1:3] = self.inputs[near, 1:3].mean(0)
        self.inputs[:, 1:3] -= self.centre[1:3]
        self.before = weights_before(threshold - float(log_costs(self.centre[None])[0]), self.tree.n_labels)

    def next(self) -> tuple[tuple[int, int], float] | None:
        """The nodes of the question most worth asking and its doubt, or None if nothing is worth asking."""
        worth = self.worth_asking()
        if not worth:
            return None
        nodes = np.array([pair for pair, _ in worth])
        stakes = self._stakes(nodes[:, 0], nodes[:, 1])
        return max(zip(worth, stakes.tolist(), strict=True), key=lambda each: (each[0][1] * each[1], each[0][0]))[0]

    def worth_asking(self) -> list[tuple[tuple[int, int], float]]:
        """The nodes of every question that is worth asking, and the doubt about its answer."""
        model = self._model()
        log_odds = self._merge_log_odds(model)
        undone = best_cut(self.tree, expit(log_odds), self.stakes)
        above = self.tree.parents[self.tree.n_parts :]
        shown = undone | (above < 0) | undone[np.maximum(above - self.tree.n_parts, 0)]  # merges at or above the cut
        below = (above >= 0) & shown[np.maximum(above - self.tree.n_parts, 0)]
        doubts = np.where(shown | below, expit(-np.abs(log_odds)), 0.0)  # (M,)
        pairs, cross = self._cross_pairs(model, self.tree.below(undone))
        found = [*zip(map(tuple, np.sort(self.tree.children, axis=1).tolist()), doubts.tolist(), strict=True)]
        found += zip(pairs, expit(-np.abs(cross)).tolist(), strict=True)
        return [(pair, doubt) for pair, doubt in found if doubt >= WORTH and pair not in self.skipped]

    def groups(self) -> list[Group]:
        """The categories that the answers lead to, as groups of nodes."""
        undone = best_cut(self.tree, expit(self._merge_log_odds(self._model())), self.stakes)
        cut = self.tree.below(undone)
        of_part = self.tree.index_of_parts([[node] for node in cut.tolist()])  # (P,)
        joined = np.arange(len(cut))
        for nodes, log_odds in self._told().items():
            if nodes not in self.merge_of and log_odds > 0:
                one, other = (joined[of_part[self.tree.parts_of(node)[0]]] for node in nodes)
                joined[joined == other] = one
        return [tuple(sorted(cut[joined == i].tolist())) for i in np.unique(joined)]

    def typical(self, node: int, skip: int = 0) -> Ints:
        """The positions of the texts of a node that are most similar to its mean, the most similar first."""
        members = np.flatnonzero(np.isin(self.tree.parts, self.tree.parts_of(node)))
        order = members[np.argsort(-(self.features[members] @ self.means[node]), kind="stable")]
        first = skip * SHOWN
        return order[first : first + SHOWN] if first < len(order) else order[:SHOWN]

    def times_asked(self, nodes: tuple[int, int]) -> int:
        """How often a question has been answered. When it is asked again, it shows other texts."""
        return sum(answer.nodes == nodes for answer in self.answers)

    def _model(self) -> AnswerModel:
        merges = {nodes: given for nodes, given in self._counted().items() if nodes in self.merge_of}
        counted = [Answer(nodes, same) for nodes, (same, times) in merges.items() for _ in range(times)]
        nodes = np.array([answer.nodes for answer in counted], dtype=np.int64).reshape(-1, 2)
        same = np.array([answer.same for answer in counted], dtype=bool)
        asked = self._inputs(nodes[:, 0], nodes[:, 1])
        return fit_answers(asked, same, self.before)

    def _counted(self) -> dict[tuple[int, int], tuple[bool, int]]:
        """The answer to each question that was asked, and how often it was given since the last contrary one."""
        counts: dict[tuple[int, int], tuple[bool, int]] = {}
        for answer in self.answers:
            same, times = counts.get(answer.nodes, (answer.same, 0))
            counts[answer.nodes] = answer.same, times + 1 if same == answer.same else 1
        return counts

    def _told(self) -> dict[tuple[int, int], float]:
        """What the answers add to the log-odds of each question that was asked."""
        return {nodes: told(same, times) for nodes, (same, times) in self._counted().items()}

    def _merge_log_odds(self, model: AnswerModel) -> NDArray[np.float64]:
        """The log-odds (M,) that each merge is worth keeping."""
        log_odds = model.merge_log_odds(self.inputs)  # (M,)
        for nodes, more in self._told().items():
            if nodes in self.merge_of:
                log_odds[self.merge_of[nodes]] += more
        return log_odds

    def _cross_pairs(self, model: AnswerModel, cut: Ints) -> tuple[list[tuple[int, int]], NDArray[np.float64]]:
        """Pairs of close categories that are not siblings in the tree, and their log-odds."""
        pairs = set()
        for label in range(self.tree.n_labels):
            own = cut[self.tree.labels[cut] == label]
            centres = self.means[own]
            squares = (centres**2).sum(1)
            apart = squares[:, None] + squares - 2 * centres @ centres.T  # (k, k)
            np.fill_diagonal(apart, np.inf)
            nearest = np.argsort(apart, axis=1, kind="stable")[:, : min(NEAREST, len(own) - 1)]
            pairs |= {
                (int(min(own[i], own[j])), int(max(own[i], own[j]))) for i, row in enumerate(nearest) for j in row
            }
        found = sorted(pair for pair in pairs if pair not in self.merge_of)
        nodes = np.array(found, dtype=np.int64).reshape(-1, 2)
        answered = self._told()
        more = np.array([answered.get(pair, 0.0) for pair in found])
        return found, model.log_odds(self._inputs(nodes[:, 0], nodes[:, 1])) + more

    def _inputs(self, left: Ints, right: Ints) -> Matrix:
        distances = ((self.means[left] - self.means[right]) ** 2).sum(1)
        n, m = self.tree.sizes[left].astype(np.float64), self.tree.sizes[right].astype(np.float64)
        found = inputs(distances, n * m / np.maximum(n + m, 1), self.tree.labels[left], self.tree.n_labels)
        return found - self.centre

    def _stakes(self, left: Ints, right: Ints) -> NDArray[np.float64]:
        """How much a mistake about each pair of nodes counts."""
        return np.minimum(self.tree.sizes[left], self.tree.sizes[right]) ** STAKE

    def _log_threshold(self) -> float:
        """The logarithm of a cost between those of the merges that the first cut keeps and those that it undoes."""
        kept = np.zeros(self.tree.n_nodes, dtype=bool)
        kept[self.start] = True
        for node in range(self.tree.n_nodes - 1, self.tree.n_parts - 1, -1):
            if kept[node]:
                kept[self.tree.children[node - self.tree.n_parts]] = True
        inside = kept[self.tree.n_parts :]
        if not len(inside):
            return 0.0
        number = int(inside.sum())  # the threshold keeps as many merges as the first cut
        ordered = np.sort(log_costs(self.inputs))
        return float(ordered[max(number - 1, 0)] + ordered[min(number, len(ordered) - 1)]) / 2


def question(
    questioner: Questioner,
    nodes: tuple[int, int],
    doubt: float,
    texts: Sequence[str],
    names: Callable[[int], str],
    label: str,
) -> Question:
    """The question about two nodes, with the texts that a person sees."""
    skip = questioner.times_asked(nodes)

    def side(node: int) -> Side:
        shown = questioner.typical(node, skip).tolist()
        return Side(tuple(texts[i] for i in shown), tuple(shown), names(node), int(questioner.tree.sizes[node]))

    return Question(side(nodes[0]), side(nodes[1]), label, doubt, nodes)
