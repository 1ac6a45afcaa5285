"""Ask a user where categories end: the next question about a run, and the edit that an answer leads to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from subtaxa.errors import InputError
from subtaxa.runtime.arrays import Ints
from subtaxa.taxonomy import edit_log
from subtaxa.taxonomy.described_tree import Group
from subtaxa.taxonomy.edits import as_groups
from subtaxa.taxonomy.questions import Answer, Question, Questioner, question
from subtaxa.taxonomy.working_taxonomy import WorkingTaxonomy

# Answers a question: True if both groups are one category, False if they are two, None to skip the question.
Answerer = Callable[[Question], bool | None]


class Asking:
    """A series of questions about a run. Labels with categories that were split by hand are not asked about."""

    def __init__(self, working: WorkingTaxonomy, log: Iterable[edit_log.Edit]) -> None:
        self.restart(working, log)

    def restart(self, working: WorkingTaxonomy, log: Iterable[edit_log.Edit]) -> None:
        """Begin again with another state of the categories, for instance after an undo."""
        self.working = working
        self.described = working.described_tree()
        self.names = sorted(set(working.labels))
        active = edit_log.active_edits(log)
        answers = [Answer((edit["left"], edit["right"]), edit["same"]) for edit in active if edit["do"] == "answer"]
        self.questioner = Questioner(self.described.tree, working.features, self._start(active), answers)

    def next(self) -> Question | None:
        """The question most worth asking, or None if nothing is worth asking."""
        by_hand = self._labels_by_hand()
        while (found := self.questioner.next()) is not None:
            nodes, doubt = found
            label = self.names[self.described.tree.labels[nodes[0]]]
            if label not in by_hand:
                return question(
                    self.questioner, nodes, doubt, self.working.texts, lambda i: self.described.nodes[i].name, label
                )
            self.questioner.skipped.add(nodes)
        return None

    def answer(self, asked: Question, same: bool | None) -> edit_log.Edit | None:
        """Take an answer. Returns the edit that it leads to, or None if the question was skipped."""
        if same is None:
            self.questioner.skipped.add(asked.nodes)
            return None
        before = len(self.working.categories)
        self.questioner.answers.append(Answer(asked.nodes, same))
        groups = self._changed(self.questioner.groups())
        after = before + len(groups) - self._replaced(groups)
        kind = "one category" if same else "two categories"
        return {
            "do": "answer",
            "groups": as_groups(self.working, groups),
            "left": asked.nodes[0],
            "right": asked.nodes[1],
            "same": same,
            "says": f"{asked.left.name!r} and {asked.right.name!r} are {kind}: {before} to {after} categories",
        }

    def left_to_ask(self) -> int:
        """How many questions are worth asking now. Most answers settle several of them."""
        return len(self.questioner.worth_asking())

    def _changed(self, groups: list[Group]) -> list[Group]:
        """The groups of those labels in which the categories change."""
        tree, by_hand = self.described.tree, self._labels_by_hand()
        now = set(self.working.groups.values())
        labels = {int(tree.labels[group[0]]) for group in {*groups} ^ now}
        return [
            group
            for group in groups
            if int(tree.labels[group[0]]) in labels and self.names[tree.labels[group[0]]] not in by_hand
        ]

    def _replaced(self, groups: list[Group]) -> int:
        """How many categories the labels of these groups have now."""
        labels = {self.names[self.described.tree.labels[group[0]]] for group in groups}
        return sum(category.parent in labels for category in self.working.categories.values())

    def _labels_by_hand(self) -> set[str]:
        return {c.parent for c in self.working.categories.values() if c.id not in self.working.groups}

    def _start(self, active: list[edit_log.Edit]) -> Ints:
        """The nodes that were categories before the first answer, or after the last recut."""
        recuts = [edit for edit in active if edit["do"] == "recut"]
        nodes = {node for group in self.working.groups.values() for node in group}
        first = next((edit for edit in active if edit["do"] == "answer"), None)
        if first is not None:
            nodes = set(self.working.start_nodes)
            for edit in recuts:
                nodes = self._replace_labels(nodes, {node for group in edit["groups"] for node in group["nodes"]})
        return np.array(sorted(nodes), dtype=np.int64)

    def _replace_labels(self, nodes: set[int], new: set[int]) -> set[int]:
        labels = {int(self.described.tree.labels[node]) for node in new}
        return {node for node in nodes if int(self.described.tree.labels[node]) not in labels} | new


def ask_all(asking: Asking, answer: Answerer, budget: int, apply: Callable[[edit_log.Edit], Any]) -> int:
    """Ask up to `budget` questions and apply what the answers lead to. Returns the number of answers."""
    given = 0
    for _ in range(budget):
        asked = asking.next()
        if asked is None:
            break
        same = answer(asked)
        if same is not None and not isinstance(same, bool | np.bool_):
            raise InputError(f"the answer is {same!r}: it must be True (one category), False (two) or None (skip)")
        edit = asking.answer(asked, None if same is None else bool(same))
        if edit is not None:
            apply(edit)
            given += 1
    return given
