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
from subtaxa.taxonomy.described_tree import Node
from subtaxa.taxonomy.examples import differences, representatives
from subtaxa.taxonomy.naming import Words, name_categories
from subtaxa.taxonomy.phrase_space import Embed


@dataclass(frozen=True)
class Description:
    """The taxonomy, and the clusters and the assignment of the texts in its order."""

    clusters: Clusters  # (K)
    assignment: Ints  # (N,) index of each text's category
    taxonomy: Taxonomy  # (K)
    order: Ints  # (K,) the number that each category had among the clusters


def describe(
    texts: list[str],
    features: Floats,
    labels: Ints,
    names: Sequence[str],
    clusters: Clusters,
    stability: NDArray[np.float64],
    embed: Embed | None = None,
    nodes: Sequence[Node] | None = None,
) -> Description:
    """Name the clusters and number them by label and then by decreasing size. Clusters without texts are dropped.

    `embed` computes the features of phrases, comparable with those of the texts. Clusters that are nodes of the
    category tree are named already: `nodes` describes them.
    """
    assignment = clusters.nearest(features, labels)
    sizes = np.bincount(assignment, minlength=len(clusters))
    rank = np.lexsort((np.arange(len(sizes)), -sizes, clusters.parents))
    rank = rank[sizes[rank] > 0]
    clusters = Clusters(clusters.centroids[rank], clusters.parents[rank])
    assignment = clusters.nearest(features, labels)
    words: Sequence[Words | Node] = (
        name_categories(texts, assignment, clusters.parents, features, embed)
        if nodes is None
        else [nodes[i] for i in rank.tolist()]
    )
    lines = differences([w.name for w in words], [w.keywords for w in words], clusters.centroids, clusters.parents)
    found = []
    for i, parent in enumerate(clusters.parents):
        members = np.flatnonzero(assignment == i)
        examples = representatives(texts, features, members, clusters.centroids[i])
        stable = round(float(stability[rank[i]]), 4)
        found.append(
            Category(
                id=i,
                parent=names[parent],
                name=words[i].name,
                keywords=words[i].keywords,
                examples=examples,
                size=len(members),
                stability=stable,
                difference=lines[i],
            )
        )
    return Description(clusters, assignment, Taxonomy(tuple(found)), rank)
