"""The rows "Delete" and "Delete+CE": InfoNCE between a text and a copy of it with words deleted.

It is SimCSE with another view, head and temperature included; dropout stays on. The paper gives neither rate nor
temperature: 30 % and SimCSE's 0.05 are our choice. "Deleted" tokens are hidden from attention and pooling, so the rest
keep their positions; where lower layers are frozen and cached, only the trained layers do not see them. With
`augment="none"` what is left is SimCSE.
"""

from __future__ import annotations

from typing import ClassVar

from subtaxa.methods.simcse import SimCSE


class Delete(SimCSE):
    """Delete: each text against a copy of it with words deleted."""

    own: ClassVar = SimCSE.own | {"augment": "drop", "augment_rate": 0.3}


class DeleteCE(Delete):
    """Delete and the coarse cross-entropy."""

    own: ClassVar = Delete.own | {"coarse_weight": 1.0}


VARIANTS = {"delete": Delete, "delete+ce": DeleteCE}
