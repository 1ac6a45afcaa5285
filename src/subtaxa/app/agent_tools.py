"""What an agent can ask of a run: each public method of `AgentTools` is a tool, and its docstring its description.

Every answer is limited in count and length. Texts are shown without control characters and invisible letters.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from subtaxa.app.agent_corrections import Correction
from subtaxa.app.finding import MAX_QUERY, find_row, find_sentence
from subtaxa.app.workbench import Workbench
from subtaxa.clustering.outliers import is_outlier
from subtaxa.errors import InputError
from subtaxa.report.formatting import shorten
from subtaxa.runtime.progress import Progress
from subtaxa.runtime.terminal import printable
from subtaxa.taxonomy import corrections
from subtaxa.taxonomy.assignment import assign
from subtaxa.taxonomy.categories import Category
from subtaxa.taxonomy.fitted_state import FittedState
from subtaxa.taxonomy.text_reader import as_texts

MAX_LENGTH, MAX_NAME = 1000, 120  # characters of a text and of a name in an answer
MAX_PAGE = 100  # texts or categories in an answer

Start = Annotated[int, Field(ge=0, description="How many to leave out, to read further.")]
Limit = Annotated[int, Field(ge=1, le=MAX_PAGE)]
Sentence = Annotated[str, Field(min_length=1, max_length=MAX_QUERY)]
NewText = Annotated[str, Field(max_length=20_000)]
Known = Annotated[int, Field(ge=0, description="`edits`, as the last answer about this run had it.")]


class AgentTools:
    """The tools for one run."""

    def __init__(self, bench: Workbench) -> None:
        self.bench = bench

    def list_categories(self, label: str | None = None, start: Start = 0, limit: Limit = MAX_PAGE) -> dict[str, Any]:
        """List the categories of the run, or of one coarse label: id, name, size, keywords, example texts."""
        state = self.bench.current()
        if label is not None and label not in state.coarse_labels:
            known = ", ".join(repr(shown(name, 40)) for name in state.coarse_labels[:20])
            raise InputError(f"there is no label {shown(label, 40)!r}: use one of {known}")
        found = [c for c in state.taxonomy if label is None or c.parent == label]
        return {
            "edits": len(state.edits),
            "labels": [shown(name, MAX_NAME) for name in state.coarse_labels[:MAX_PAGE]],
            "total": len(found),
            "categories": [_category(c) for c in found[start : start + limit]],
        }

    def read_texts(
        self,
        category: int,
        start: Start = 0,
        limit: Limit = 20,
        order: Literal["surest first", "least sure first"] = "surest first",
    ) -> dict[str, Any]:
        """Read the texts of a category, each with its row and the probability that it belongs there."""
        state = self.bench.current()
        members = np.flatnonzero(state.labels == category)  # (n,)
        if not len(members):
            raise InputError(f"there is no category {category}: list_categories has the ids")
        sign = -1 if order == "surest first" else 1
        members = members[np.argsort(sign * state.confidences[members], kind="stable")]
        texts = [_text(state, i) for i in members[start : start + limit].tolist()]
        return {"edits": len(state.edits), "category": category, "total": len(members), "texts": texts}

    def search(self, sentence: Sentence) -> dict[str, Any]:
        """Find the texts and the categories that mean something similar to a sentence, whatever words they use."""
        return self._nearest(find_sentence(self.bench, sentence))

    def similar_texts(self, row: int) -> dict[str, Any]:
        """Find the texts and the categories nearest in meaning to the text in a row."""
        return self._nearest(find_row(self.bench, row))

    def assign_texts(
        self,
        texts: Annotated[list[NewText], Field(min_length=1, max_length=MAX_PAGE)],
        labels: Annotated[list[str], Field(max_length=MAX_PAGE)] | None = None,
    ) -> dict[str, Any]:
        """Find the category of each new text. With `labels`, one for each text, only categories of that label count.

        The texts are not added to the run.
        """
        state = self.bench.current()
        found = assign(state, as_texts(texts), labels, Progress())
        outlier = is_outlier(found.features, found.category_index, state.clusters, state.outlier_threshold)
        answers = zip(found.category_index.tolist(), found.confidence.tolist(), outlier.tolist(), strict=True)
        return {
            "texts": [
                {**_name(state.taxonomy[i]), "confidence": round(sure, 2), "fits_no_category_well": out}
                for i, sure, out in answers
            ]
        }

    def propose_edits(self, edits: Annotated[list[Correction], Field(min_length=1, max_length=50)]) -> dict[str, Any]:
        """Check edits and get a file for the user, without changing the run.

        The user saves `file` as corrections.json, and applies it with `subtaxa edit RUN corrections.json`.
        """
        sent = [edit.model_dump() for edit in edits]
        says, known = self.bench.try_out(sent)
        run = self.bench.facts["data"]["fingerprint"]
        file = {corrections.NAME: corrections.FORMAT, "run": run, "edits": known, "corrections": sent}
        return {"edits": known, "would": [shown(line, MAX_LENGTH) for line in says], "file": file}

    def apply_edit(self, known: Known, edit: Correction) -> dict[str, Any]:
        """Change the run at once. The user can undo it. If the run was changed meanwhile, nothing is done."""
        self.bench.correct(known, edit.model_dump())
        return self._log(known)

    def undo_edit(self, known: Known) -> dict[str, Any]:
        """Undo the last edit of the run, whoever made it."""
        self.bench.undo(known)
        return self._log(known)

    def _nearest(self, found: dict[str, Any]) -> dict[str, Any]:
        state = self.bench.current()
        by_id = state.taxonomy.by_id()
        return {
            "texts": [{**_text(state, i), "similarity": near} for i, near in found["texts"] if i < len(state.data)],
            "categories": [{**_name(by_id[i]), "similarity": near} for i, near in found["categories"] if i in by_id],
        }

    def _log(self, known: int) -> dict[str, Any]:
        log = self.bench.session.log
        return {"edits": len(log), "done": [shown(entry["says"], MAX_LENGTH) for entry in log[known:]]}


def shown(text: str, limit: int) -> str:
    """A text of the run in an answer."""
    return shorten(printable(text), limit)


def _name(category: Category) -> dict[str, Any]:
    names = {"label": shown(category.parent, MAX_NAME), "name": shown(category.name, MAX_NAME)}
    return {"category": category.id, **names}


def _category(category: Category) -> dict[str, Any]:
    return {
        **_name(category),
        "size": category.size,
        "stability": category.stability,
        "keywords": [shown(word, MAX_NAME) for word in category.keywords],
        "examples": [shown(text, 200) for text in category.examples],
    }


def _text(state: FittedState, position: int) -> dict[str, Any]:
    return {
        "row": int(state.data.rows[position]),
        "label": shown(state.data.labels[position], MAX_NAME),
        "category": int(state.labels[position]),
        "confidence": round(float(state.confidences[position]), 2),
        "text": shown(state.data.texts[position], MAX_LENGTH),
    }
