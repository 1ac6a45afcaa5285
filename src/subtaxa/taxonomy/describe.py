"""From clusters to a taxonomy: categories in order, with names, keywords, examples, sizes and stability.

N texts, K categories, D dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subtaxa.clustering.clusters import Clusters
from subtaxa.runtime.arrays import Floats, Ints
from subtaxa.taxonomy.categories import Category, Taxonomy
from subtaxa.taxonomy.naming import name_categories, representatives


@dataclass(frozen=True)
class Description:
    """The taxonomy, and the clusters and the assignment of the texts in its order."""

    clusters: Clusters  # (K)
    assignment: Ints  # (N,) index of each text's category
    taxonomy: Taxonomy  # (K)


def describe(
    texts: list[str],
    features: Floats,
    labels: Ints,
    names: Sequence[str],
    clusters: Clusters,
    stability: NDArray[np.float64],
) -> Description:
    """Name the clusters and number them by label and then by decreasing size. Clusters without texts are dropped."""
    assignment = clusters.nearest(features, labels)
    sizes = np.bincount(assignment, minlength=len(clusters))
    rank = np.lexsort((np.arange(len(sizes)), -sizes, clusters.parents))
    rank = rank[sizes[rank] > 0]
    clusters = Clusters(clusters.centroids[rank], clusters.parents[rank])
    assignment = clusters.nearest(features, labels)
    words = name_categories(texts, assignment, clusters.parents)
    found = []
    for i, parent in enumerate(clusters.parents):
        members = np.flatnonzero(assignment == i)
        examples = representatives(texts, features, members, clusters.centroids[i])
        stable = round(float(stability[rank[i]]), 4)
        found.append(Category(i, names[parent], words[i].name, words[i].keywords, examples, len(members), stable))
    return Description(clusters, assignment, Taxonomy(tuple(found)))
