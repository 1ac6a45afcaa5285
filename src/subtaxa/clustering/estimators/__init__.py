"""Number estimators: ways to find out how many categories there are.

A package adds an estimator through the entry-point group `subtaxa.number_estimators`.
"""

from __future__ import annotations

from subtaxa.clustering.estimators.base import Estimate, NumberEstimator, PerLabelEstimator
from subtaxa.clustering.estimators.gap import GapEstimator
from subtaxa.clustering.estimators.large_clusters import LargeClustersEstimator
from subtaxa.clustering.estimators.silhouette import SilhouetteEstimator
from subtaxa.clustering.estimators.silhouette_of_cut import CutSilhouetteEstimator
from subtaxa.clustering.estimators.silhouette_per_label import LabelSilhouetteEstimator
from subtaxa.clustering.estimators.stability import StabilityEstimator
from subtaxa.runtime.plugins import Registry
from subtaxa.settings import Settings

ESTIMATORS: Registry[type[NumberEstimator]] = Registry(
    "number estimator",
    "subtaxa.number_estimators",
    {
        "silhouette": SilhouetteEstimator,
        "silhouette-of-cut": CutSilhouetteEstimator,
        "silhouette-per-label": LabelSilhouetteEstimator,
        "large-clusters": LargeClustersEstimator,
        "gap": GapEstimator,
        "stability": StabilityEstimator,
    },
)

__all__ = ["ESTIMATORS", "Estimate", "NumberEstimator", "PerLabelEstimator", "SilhouetteEstimator", "estimator_for"]


def estimator_for(settings: Settings) -> NumberEstimator:
    """The number estimator that the settings name."""
    return ESTIMATORS.get(settings.number_estimator).from_settings(settings)
