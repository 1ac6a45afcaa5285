"""The rows "Delete" and "Delete+CE": InfoNCE between a text and a copy of it with words deleted.

This is SimCSE with another view; head, temperature and dropout are the same. The paper gives neither the rate nor the
temperature: 30 % and SimCSE's 0.05 are our choice. Deleted tokens are hidden from attention and pooling, so the other
tokens keep their positions. Where lower layers are frozen and cached, those layers still see the deleted tokens. With
`augment="none"` the method is SimCSE.
"""

from __future__ import annotations

from typing import ClassVar

from subtaxa.methods.simcse import SimCSE


class Delete(SimCSE):
    """Delete: contrast of each text with a copy of it from which words are deleted."""

    defaults: ClassVar = SimCSE.defaults | {"augment": "drop", "augment_rate": 0.3}


class DeleteCE(Delete):
    """Delete plus coarse cross-entropy."""

    defaults: ClassVar = Delete.defaults | {"coarse_weight": 1.0}


VARIANTS = {"delete": Delete, "delete+ce": DeleteCE}
