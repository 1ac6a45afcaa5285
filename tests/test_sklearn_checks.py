"""scikit-learn's own checks of an estimator, as far as an estimator of texts can pass them.

The checks pass arrays of numbers. `NumbersAsTexts` reads each row as a short text with one word per column, and all
rows as one label where a check gives no target.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.corpus import TOPICS
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted, validate_data

from subtaxa import Discovery, fitting
from subtaxa.clustering import calibration
from subtaxa.encoders import loading

WORDS = [words for topics in TOPICS.values() for words in topics.values()]  # Six topics of seven words.

EXPECTED_FAILURES = {
    "check_clustering": "it asks for the clusters of points on a plane, which are lost when numbers become words",
    "check_do_not_raise_errors_in_init_or_set_params": "it passes the name of **renamed, which takes only old settings",
}


class NumbersAsTexts(Discovery):
    """`Discovery` on rows of numbers: each column chooses one word by its value."""

    def fit(self, X: Any, y: Any = None) -> NumbersAsTexts:
        texts = self._texts(X, reset=True)
        labels = ["all"] * len(texts) if y is None else [str(label) for label in np.asarray(y).ravel()]
        super().fit(texts, labels)
        return self

    def fit_predict(self, X: Any, y: Any = None) -> NDArray[np.int64]:
        return self.fit(X, y).labels_

    def predict(self, X: Any) -> NDArray[np.int64]:
        return super().predict(self._texts(X))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        return super().predict_proba(self._texts(X))

    def transform(self, X: Any, progress: Any = None) -> NDArray[np.float32]:
        texts = X if isinstance(X, list) and all(isinstance(text, str) for text in X) else self._texts(X)
        return super().transform(texts, progress)

    def _texts(self, X: Any, reset: bool = False) -> list[str]:
        if not reset:
            check_is_fitted(self, "clusters_")
        rows = validate_data(self, X, reset=reset, dtype="numeric")
        return [" ".join(WORDS[j % 6][int(3 * value) % 7] for j, value in enumerate(row)) for row in rows]


@pytest.fixture(autouse=True)
def _small(tiny_encoder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks call fit about eighty times, so use a tiny encoder, a calibration from few samples, and no map."""
    monkeypatch.setattr(loading, "packaged_folder", lambda: Path(tiny_encoder))
    monkeypatch.setattr(calibration, "RESAMPLES", 2)
    monkeypatch.setattr(fitting, "text_map", lambda features, *_: np.zeros((len(features), 2), dtype=np.float32))


@parametrize_with_checks(
    [NumbersAsTexts(preset="quick", epochs=1)], expected_failed_checks=lambda estimator: EXPECTED_FAILURES
)
def test_scikit_learn(estimator: BaseEstimator, check: Callable[[BaseEstimator], None]) -> None:
    check(estimator)
