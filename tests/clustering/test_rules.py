"""The contract of every cluster rule, and how rules are found by name."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import EntryPoint

import numpy as np
import pytest
from helpers.planted import blobs, same_partition

from subtaxa.clustering.clusters import Clusters
from subtaxa.clustering.forest import Forest
from subtaxa.clustering.rules import RULES, ClusterRule, cluster, find_categories, rule_for
from subtaxa.errors import SettingError
from subtaxa.runtime import plugins
from subtaxa.settings import Settings

every_rule = pytest.mark.parametrize("name", RULES.names())


@every_rule
def test_a_rule_gives_each_label_its_number_of_categories(name: str) -> None:
    data, rule = blobs([[12, 9, 10], [15], [10, 11]], spread=0.05), RULES.get(name)()
    forest = Forest(data.features, data.labels)
    for numbers in ([3, 1, 2], [1, 1, 1], [4, 2, 3]):
        found = find_categories(forest, numbers, rule=rule)
        assert found.parents.tolist() == np.repeat([0, 1, 2], numbers).tolist()
        assert found.centroids.shape == (sum(numbers), data.features.shape[1])
        assert found.centroids.dtype == np.float32
        assert np.linalg.norm(found.centroids, axis=1) == pytest.approx(np.ones(sum(numbers)), abs=1e-5)


@every_rule
def test_a_rule_finds_well_separated_categories_of_equal_size(name: str) -> None:
    data = blobs([[12] * 3, [12] * 2], spread=0.05)
    found = cluster(data.features, data.labels, 5, rule=RULES.get(name)())
    assert same_partition(found.nearest(data.features, data.labels), data.truth)


@every_rule
def test_a_rule_gives_the_same_result_every_time(name: str) -> None:
    data = blobs([[12, 9, 10], [10, 11]], spread=0.3)
    first, second = (cluster(data.features, data.labels, 6, rule=RULES.get(name)()) for _ in range(2))
    np.testing.assert_array_equal(first.centroids, second.centroids)


@every_rule
def test_a_rule_accepts_labels_of_one_text(name: str) -> None:
    data = blobs([[1], [1]], dim=8)
    found = cluster(data.features, data.labels, 2, rule=RULES.get(name)())
    assert found.nearest(data.features, data.labels).tolist() == [0, 1]


@every_rule
def test_a_rule_is_made_from_settings_and_says_what_it_does(name: str) -> None:
    rule = rule_for(Settings.from_preset(cluster_rule=name))
    assert type(rule) is RULES.get(name)
    assert rule.about


class OneBlob(ClusterRule):
    """A rule of another package: all categories of a label share its mean."""

    about = "the mean of the label"

    def fit(self, forest: Forest, numbers: Sequence[int]) -> Clusters:
        parents = np.repeat(np.arange(len(numbers)), numbers)
        means = np.stack([tree.features.mean(0) for tree in forest.trees])
        return Clusters(means[parents].astype(np.float32), parents)


def test_a_rule_of_an_installed_package_is_found_by_its_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("one-blob", f"{__name__}:OneBlob", RULES.group)
    monkeypatch.setattr(EntryPoint, "load", lambda self: OneBlob)
    monkeypatch.setattr(plugins, "entry_points", lambda group: [point] if group == "subtaxa.cluster_rules" else [])
    assert "one-blob" in RULES.names()
    data = blobs([[6, 5], [7]])
    rule = rule_for(Settings.from_preset(cluster_rule="one-blob"))
    assert isinstance(rule, OneBlob)
    assert len(cluster(data.features, data.labels, 3, rule=rule)) == 3


def test_a_rule_that_cannot_be_loaded_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("broken", "no_such_package.rules:Rule", RULES.group)
    monkeypatch.setattr(plugins, "entry_points", lambda group: [point])
    with pytest.raises(SettingError, match=r"'broken' of 'no_such_package.rules:Rule' cannot be loaded .*update or"):
        RULES.get("broken")


def test_an_unknown_rule_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(SettingError, match=r"unknown cluster rule 'balancd': did you mean 'balanced'\?"):
        RULES.get("balancd")
    with pytest.raises(SettingError, match=r"unknown cluster rule 'x': use tree, merged, balanced, ward, kmeans"):
        RULES.get("x")
