"""Word vectors that add up to the features of the texts, so that many phrases can be judged without an encoder.

n texts, W words, V phrases, D dimensions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags

from subtaxa.runtime.arrays import Floats

# The penalty on the length of a vector, in texts. Rare words have short vectors.
RIDGE = 20.0
STEPS = 12


def word_vectors(contains: csr_matrix, features: Floats) -> Floats:
    """Vectors of words (W, D) whose sum over the words of a text points where its features point.

    It is a ridge regression, solved by conjugate gradients. `contains` (n, W) has 1 for the words of each text.
    """
    n_words = np.maximum(np.asarray(contains.sum(1)).ravel(), 1.0)  # (n,)
    table = (diags(1.0 / np.sqrt(n_words)) @ contains).astype(np.float32).tocsr()  # (n, W)
    residual = np.asarray(table.T @ features, dtype=np.float32)  # (W, D)
    vectors = np.zeros_like(residual)
    direction, size = residual.copy(), _squares(residual)
    for _ in range(STEPS):
        image = table.T @ (table @ direction) + RIDGE * direction
        step = size / np.maximum((direction * image).sum(0), 1e-12)  # (D,)
        vectors += step * direction
        residual -= step * image
        new = _squares(residual)
        direction = (residual + new / np.maximum(size, 1e-12) * direction).astype(np.float32)
        size = new
    return vectors


def _squares(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray((rows * rows).sum(0))
