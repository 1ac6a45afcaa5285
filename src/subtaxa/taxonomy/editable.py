"""A fitted model whose categories can be edited: it takes the state that training gave, and the log of edits on top.

N texts, K categories, D dimensions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from subtaxa.clustering.calibration import Calibration, confidence_of, probabilities
from subtaxa.clustering.clusters import Clusters
from subtaxa.clustering.known_texts import KnownTexts
from subtaxa.clustering.outliers import is_outlier, outlier_threshold
from subtaxa.data.texts import CoarseTexts
from subtaxa.runtime.arrays import Floats, Ints
from subtaxa.taxonomy import edit_log
from subtaxa.taxonomy.categories import Taxonomy
from subtaxa.taxonomy.working_taxonomy import WorkingTaxonomy

CONFUSED = 0.01  # how likely another category must be on average to be named


class Trained(NamedTuple):
    """What training gave, before any edit."""

    labels: Ints
    clusters: Clusters
    taxonomy: Taxonomy
    memory: KnownTexts
    confidences: NDArray[np.float64]
    next_id: int = 0  # ids below it may have been used


class Editable:
    """What an edit needs of a model, and what it changes."""

    trained_: Trained
    data_: CoarseTexts
    features_: Floats  # (N, D) of the data's texts
    map_: Floats  # (N, 2) places of them on a plane
    coarse_labels_: list[str]
    calibration_: Calibration

    edits_: list[edit_log.Edit]
    earlier_edits_ = ""  # the log of edits before the last update, which can no longer be undone
    labels_: Ints  # (N,) category ids
    confidences_: NDArray[np.float64]  # (N,)
    taxonomy_: Taxonomy  # (K)
    clusters_: Clusters  # (K), in the order of the taxonomy
    known_texts_: KnownTexts

    def edit(self, kind: str, **what: Any) -> Taxonomy:
        """Carry out one edit of the taxonomy, or refuse it and change nothing."""
        edit = edit_log.make(kind, self.filing(), self.edits_, **what)
        self.follow([*self.edits_, edit_log.numbered(edit, self.edits_)])
        return self.taxonomy_

    def follow(self, log: list[edit_log.Edit]) -> None:
        """Take the state that training gave with the edits of a log."""
        self._take(edit_log.replayed(self._filing(), log))
        self.edits_ = log

    def filing(self) -> WorkingTaxonomy:
        """The state as it is, edits and all."""
        return edit_log.replayed(self._filing(), self.edits_)

    def build_on(self, filing: WorkingTaxonomy, data: CoarseTexts, places: Floats) -> None:
        """Take a state, perhaps of more texts, as what further edits build upon."""
        self.data_, self.features_, self.map_ = data, filing.features, places
        self._take(filing)
        self.trained_ = Trained(
            self.labels_, self.clusters_, self.taxonomy_, self.known_texts_, self.confidences_, filing.next_id
        )
        self.earlier_edits_ += edit_log.write_log(self.edits_)
        self.edits_ = []

    def _take(self, filing: WorkingTaxonomy) -> None:
        taxonomy = replace(filing.taxonomy(), editor=self.edit)
        number = {name: i for i, name in enumerate(self.coarse_labels_)}
        centroids = np.stack([filing.centroids[c.id] for c in taxonomy])
        clusters = Clusters(centroids, np.array([number[c.parent] for c in taxonomy], dtype=np.int64))
        place = {c.id: i for i, c in enumerate(taxonomy)}
        assignment = np.array([place[i] for i in filing.category.tolist()], dtype=np.int64)
        coarse = clusters.parents[assignment]
        likely = probabilities(self.features_, clusters, self.calibration_, coarse)
        self.known_texts_ = KnownTexts.of(self.data_.texts, self.features_, assignment, clusters)
        self.confidences_ = confidence_of(likely, assignment, self.calibration_, coarse)
        self.labels_, self.clusters_, self.taxonomy_ = filing.category, clusters, taxonomy

    @property
    def outliers_(self) -> NDArray[np.bool_]:
        """Which texts (N,) fit nowhere, as far as one can tell; they are filed all the same."""
        place = self._places()
        return is_outlier(self.features_, place, self.clusters_, self.outlier_threshold_)

    @property
    def outlier_threshold_(self) -> NDArray[np.float64]:
        """How similar a text must be to each category's centroid (K,) to fit there."""
        return outlier_threshold(self.features_, self._places(), self.clusters_)

    def confusions(self, most: int = 4) -> dict[int, list[tuple[int, float]]]:
        """By category id: the other categories that are likely for its texts, and how likely on average."""
        place, k = self._places(), len(self.taxonomy_)
        coarse = self.clusters_.parents[place]
        likely = probabilities(self.features_, self.clusters_, self.calibration_, coarse)  # (N, K)
        size = np.maximum(np.bincount(place, minlength=k), 1)
        member = csr_matrix((np.ones(len(place)), (place, np.arange(len(place)))), shape=(k, len(place)))
        mean = (member @ likely) / size[:, None]  # (K, K)
        np.fill_diagonal(mean, 0.0)
        ids, nearest = [c.id for c in self.taxonomy_], np.argsort(-mean, axis=1, kind="stable")[:, :most]
        return {ids[i]: [(ids[j], float(mean[i, j])) for j in nearest[i] if mean[i, j] >= CONFUSED] for i in range(k)}

    def _places(self) -> Ints:
        """The place of each text's category in the taxonomy (N,)."""
        place = {c.id: i for i, c in enumerate(self.taxonomy_)}
        return np.array([place[i] for i in self.labels_.tolist()], dtype=np.int64)

    def _filing(self) -> WorkingTaxonomy:
        """The state that training gave."""
        labels, clusters, taxonomy = self.trained_[:3]
        return WorkingTaxonomy(
            texts=self.data_.texts,
            labels=self.data_.labels,
            rows=np.array(self.data_.rows, dtype=np.int64),
            features=self.features_,
            category=labels,
            categories=taxonomy.by_id(),
            centroids={c.id: clusters.centroids[i] for i, c in enumerate(taxonomy)},
            next_id=self.trained_.next_id,
        )
