"""The ablation of the paper's table 3: NNCL → many neighbours → coarse CE → label → reciprocal → rank (DNA).

The first row is nncl.py and the last is dna.py. Each row between them is DNA without some of its parts.
"""

from __future__ import annotations

from typing import ClassVar

from subtaxa.methods.dna import DNA


class ManyNeighbours(DNA):
    """Ablation of DNA: all k neighbours, without coarse cross-entropy and filters."""

    defaults: ClassVar = DNA.defaults | {"coarse_weight": 0.0}
    filters: ClassVar[tuple[str, ...]] = ()


class CoarseLabels(DNA):
    """Ablation of DNA: all k neighbours and coarse cross-entropy, without filters."""

    filters: ClassVar[tuple[str, ...]] = ()


class LabelFilter(DNA):
    """Ablation of DNA: only the label filter."""

    filters: ClassVar[tuple[str, ...]] = ("label",)


class ReciprocalFilter(DNA):
    """Ablation of DNA: the label and reciprocal filters, without the rank filter."""

    filters: ClassVar[tuple[str, ...]] = ("label", "reciprocal")


VARIANTS = {
    "ladder-neighbours": ManyNeighbours,
    "ladder-coarse": CoarseLabels,
    "ladder-label": LabelFilter,
    "ladder-reciprocal": ReciprocalFilter,
}
