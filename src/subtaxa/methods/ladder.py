"""The ablation ladder of the paper's table 3: NNCL → many neighbours → coarse CE → label → reciprocal → rank (DNA).

The first rung is in nncl.py, the last in dna.py; each rung between them is DNA with something left out.
"""

from __future__ import annotations

from typing import ClassVar

from subtaxa.methods.dna import DNA


class ManyNeighbours(DNA):
    """Ladder: all k neighbours are positives, no coarse cross-entropy, no filter."""

    own: ClassVar = DNA.own | {"coarse_weight": 0.0}
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
