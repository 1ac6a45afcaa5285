"""The ablation of the paper's table 3: NNCL → many neighbours → coarse CE → label → reciprocal → rank (DNA).

The first row is nncl.py and the last is dna.py. Each row between them is DNA without some of its parts.
"""

from __future__ import annotations

from typing import ClassVar

from subtaxa.methods.dna import DNA


class ManyNeighbours(DNA):
    """Ladder: all k neighbours are positives, no coarse cross-entropy, no filter."""

    defaults: ClassVar = DNA.defaults | {"coarse_weight": 0.0}
    filters: ClassVar[tuple[str, ...]] = ()


class CoarseLabels(DNA):
    """Ladder: all k neighbours and the coarse cross-entropy, no filter."""

    filters: ClassVar[tuple[str, ...]] = ()


class LabelFilter(DNA):
    """Ladder: the label filter alone."""

    filters: ClassVar[tuple[str, ...]] = ("label",)


class ReciprocalFilter(DNA):
    """Ladder: the label and the reciprocal filter."""

    filters: ClassVar[tuple[str, ...]] = ("label", "reciprocal")


VARIANTS = {
    "ladder-neighbours": ManyNeighbours,
    "ladder-coarse": CoarseLabels,
    "ladder-label": LabelFilter,
    "ladder-reciprocal": ReciprocalFilter,
}
