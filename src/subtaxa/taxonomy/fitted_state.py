"""What a fit learned, as one plain dataclass. `Discovery` holds it; other packages edit, plot, save and load it.

N texts, K categories, D dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subtaxa.clustering.calibration import Calibration
from subtaxa.clustering.clusters import Clusters
from subtaxa.clustering.known_texts import KnownTexts
from subtaxa.clustering.label_probabilities import mean_probabilities
from subtaxa.clustering.number_of_categories import CategoryCount
from subtaxa.clustering.outliers import outlier_threshold, similarity_to, threshold_of
from subtaxa.data.kept_columns import NO_COLUMNS, KeptColumns
from subtaxa.data.texts import CoarseTexts
from subtaxa.runtime.arrays import Floats, Ints
from subtaxa.settings import Settings
from subtaxa.taxonomy.categories import Taxonomy
from subtaxa.taxonomy.described_tree import DescribedTree, Group

if TYPE_CHECKING:
    from subtaxa.taxonomy.text_reader import TextReader

# Another category is listed as a possible confusion only above this mean probability.
LEAST_CONFUSION = 0.01


@dataclass(frozen=True)
class Request:
    """What the user asked for, besides the settings."""

    categories: int | str | Mapping[str, int]
    granularity: str
    preset: str
    seed: int


@dataclass(frozen=True)
class Categorisation:
    """The categories and the texts in them: everything that an edit changes."""

    labels: Ints  # (N,) category ids
    confidences: NDArray[np.float64]  # (N,)
    taxonomy: Taxonomy  # (K)
    clusters: Clusters  # (K), in the order of the taxonomy
    known_texts: KnownTexts
    next_id: int = 0  # every id below it may have been used
    groups: Mapping[int, Group] = field(default_factory=dict)  # by id: the nodes of the category tree, if it has any
    past_ids: Mapping[Group, int] = field(default_factory=dict)  # after edits: the id that each group has or had
    given_names: Mapping[Group, str] = field(default_factory=dict)  # after edits: names that a person gave to groups

    moved: Mapping[int, int] = field(default_factory=dict)  # by position: where a person moved a text before an update

    @property
    def ids(self) -> Mapping[Group, int]:
        """The id that a recut gives to each group that is or was a category."""
        return self.past_ids or {group: i for i, group in self.groups.items()}


@dataclass
class FittedState:
    """What a fit learned, and the edits made since."""

    request: Request
    settings: Settings  # nothing in it is "auto" any more
    data: CoarseTexts  # (N)
    coarse_labels: list[str]
    features: Floats  # (N, D)
    map: Floats  # (N, 2) the position of each text on a plane
    n_categories: dict[str, CategoryCount]  # by coarse label
    calibration: Calibration
    history: list[dict[str, float]]  # one entry per epoch
    timings: dict[str, float]  # seconds per step
    reader: TextReader
    tree: DescribedTree | None  # None in a run of version 0.1
    trained: Categorisation  # as training or the last update left it
    current: Categorisation  # the same with the edits applied
    edits: list[dict[str, Any]] = field(default_factory=list)
    saved_names: dict[int, str] = field(default_factory=dict)  # for edits that were logged without names (0.1)
    columns: KeptColumns = NO_COLUMNS  # (N) the other columns of the texts, which nothing is learned from
    earlier_edits: str = ""  # the log of edits before the last update, which can no longer be undone

    @property
    def labels(self) -> Ints:
        """The category id of each text (N,)."""
        return self.current.labels

    @property
    def confidences(self) -> NDArray[np.float64]:
        """The probability (N,) that each text is in the right category."""
        return self.current.confidences

    @property
    def taxonomy(self) -> Taxonomy:
        """The categories (K)."""
        return self.current.taxonomy

    @property
    def clusters(self) -> Clusters:
        """The centroids and coarse labels of the categories (K), in the order of the taxonomy."""
        return self.current.clusters

    @property
    def known_texts(self) -> KnownTexts:
        """Training texts whose category is not the one with the nearest centroid."""
        return self.current.known_texts

    @property
    def category_ids(self) -> Ints:
        """The ids of the categories (K,), in the order of the taxonomy."""
        return np.array([category.id for category in self.taxonomy], dtype=np.int64)

    @property
    def category_index(self) -> Ints:
        """The index of each text's category in the taxonomy (N,)."""
        order = np.argsort(self.category_ids)
        return order[np.searchsorted(self.category_ids, self.labels, sorter=order)]

    @property
    def outlier_threshold(self) -> NDArray[np.float64]:
        """The similarity to each category's centroid (K,) below which a text is an outlier."""
        return outlier_threshold(self.features, self.category_index, self.clusters, self.settings.outlier_deviations)

    @property
    def outliers(self) -> NDArray[np.bool_]:
        """Which texts (N,) are outliers. They have a category all the same."""
        index = self.category_index
        own = similarity_to(self.features, index, self.clusters)  # (N,)
        return own < threshold_of(own, index, len(self.clusters), self.settings.outlier_deviations)[index]

    def confusions(self, most: int = 4) -> dict[int, list[tuple[int, float]]]:
        """By category id: up to `most` other categories that its texts might belong to, with their mean probability."""
        mean = mean_probabilities(self.features, self.category_index, self.clusters, self.calibration)  # (K, K)
        np.fill_diagonal(mean, 0.0)
        ids, nearest = self.category_ids.tolist(), np.argsort(-mean, axis=1, kind="stable")[:, :most]
        return {
            own: [(ids[j], float(mean[i, j])) for j in nearest[i] if mean[i, j] >= LEAST_CONFUSION]
            for i, own in enumerate(ids)
        }
