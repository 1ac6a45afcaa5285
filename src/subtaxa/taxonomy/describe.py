"""From clusters to a taxonomy: categories in order, with names, keywords, examples, sizes and stability.

N texts, K categories, D dimensions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subtaxa.clustering.clusters import Clusters
from subtaxa.runtime.arrays import Floats, Ints
from subtaxa.taxonomy.categories import Category, Taxonomy
from subtaxa.taxonomy.naming import name_categories, representatives


def describe(
    texts: list[str],
    features: Floats,
    labels: Ints,
    names: NDArray[np.str_],
    clusters: Clusters,
    stability: NDArray[np.float64],
) -> tuple[Clusters, Ints, Taxonomy]:
    """The taxonomy, its categories numbered by label and then by falling size, and everything else in that order."""
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
        found.append(Category(i, str(names[parent]), words[i].name, words[i].keywords, examples, len(members), stable))
    return clusters, assignment, Taxonomy(tuple(found))
