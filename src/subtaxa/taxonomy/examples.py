"""Examples of a category, and one line that tells it from its nearest sibling.

n texts, D dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from subtaxa.runtime.arrays import Floats, Ints

EXAMPLES = 5
# Examples are chosen from this many texts nearest to the centroid.
POOL = 60
# The weight of the similarity to the examples chosen before (maximal marginal relevance).
DIVERSITY = 0.5
# Two texts with a higher cosine are near copies. Only one of them is an example.
NEAR_COPY = 0.95
# An example is cut to this many characters: every node of the tree has examples, and one text may be huge.
LENGTH = 2000
# The number of keywords in the line about the difference.
TOLD = 2


def representatives(texts: Sequence[str], features: Floats, members: Ints, centroid: Floats) -> tuple[str, ...]:
    """The beginnings of up to five different texts near the centroid, the nearest first. No two are near copies."""
    order = members[np.argsort(-(features[members] @ centroid), kind="stable")]
    first: dict[str, int] = {}
    for i in order.tolist():
        first.setdefault(" ".join(texts[i][:LENGTH].lower().split()), i)
        if len(first) == POOL:
            break
    pool = np.array(list(first.values()), dtype=np.int64)
    relevance, vectors = features[pool] @ centroid, features[pool]  # (n,), (n, D)
    nearest = np.zeros(len(pool), dtype=np.float32)  # the similarity to the most similar example so far
    kept: list[int] = []
    while len(kept) < EXAMPLES:
        score = np.where(nearest > NEAR_COPY, -np.inf, relevance - DIVERSITY * nearest)
        best = int(score.argmax()) if len(score) else -1
        if best < 0 or score[best] == -np.inf:
            break
        kept.append(best)
        nearest = np.maximum(nearest, vectors @ vectors[best])
        nearest[best] = np.inf
    return tuple(texts[i][:LENGTH] for i in pool[kept].tolist())


def differences(names: Sequence[str], keywords: Sequence[Sequence[str]], centroids: Floats, parents: Ints) -> list[str]:
    """For each category, one line that tells it from the most similar one of its label. An only child has none."""
    similarity = np.where(parents[:, None] == parents, centroids @ centroids.T, -np.inf)
    np.fill_diagonal(similarity, -np.inf)
    lines = []
    for i, nearest in enumerate(similarity.argmax(1).tolist() if len(names) else []):
        if similarity[i, nearest] == -np.inf:
            lines.append("")
            continue
        theirs = {word.lower() for phrase in (*keywords[nearest], names[nearest]) for word in phrase.split()}
        own = [word for word in keywords[i] if not theirs & set(word.lower().split())][:TOLD]
        line = f"like “{names[nearest]}”"
        lines.append(f"{line}, but about {' and '.join(f'“{word}”' for word in own)}" if own else line)
    return lines
