"""Settings: ranges, presets, method names, learning-rate schedules and the seed of each training step."""

from __future__ import annotations

import itertools
import math
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from subtaxa.errors import SettingError
from subtaxa.methods import method_class, variants
from subtaxa.settings import NAMES, PRESETS, Settings, about, check
from subtaxa.training.trainer import learning_rate_factor, step_seed

NUMERIC = {f.name: f for f in fields(Settings) if f.metadata["low"] is not None}
WHOLE = [name for name, f in NUMERIC.items() if str(f.type).startswith("int")]
CHOICES = {f.name: f.metadata["choices"] for f in fields(Settings) if f.metadata["choices"]}
numeric = pytest.mark.parametrize("name", NUMERIC)

# The values in the paper's table of hyperparameters.
PAPER = {
    "method": "dna",
    "pooling": "cls",
    "trained_layers": "all",
    "pretrain_epochs": 100,
    "pretrain_holdout": 0.2,
    "pretrain_patience": 20,
    "learning_rate": 5e-5,
    "augment": "replace",
    "augment_rate": 0.25,
    "momentum": 0.99,
    "neighbours": 120,
    "rank_top_m": 5,
    "rank_epochs": 1,
    "temperature": 0.07,
    "coarse_weight": 1.0,
    "epochs": 20,
    "weight_decay": 0.01,
    "untrained_share": 0.0,
    "max_grad_norm": 1.0,
    "batch_size": 64,
}


@pytest.mark.parametrize("name", PAPER)
def test_the_paper_preset_holds_the_papers_value(name: str) -> None:
    assert getattr(Settings.from_preset("paper"), name) == PAPER[name]


@pytest.mark.parametrize(("k", "tokens"), [(120, 30), (250, 200), (120, 10)])
def test_the_papers_values_per_data_set_are_allowed(k: int, tokens: int) -> None:
    settings = Settings.from_preset("paper", neighbours=k, max_tokens=tokens)
    assert (settings.neighbours, settings.max_tokens) == (k, tokens)


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_is_valid(preset: str) -> None:
    settings = Settings.from_preset(preset)
    assert set(settings.to_dict()) == set(NAMES)
    assert settings.method in variants()
    for name, value in PRESETS[preset].items():
        assert check(name, value) == value == getattr(settings, name)


def test_the_paper_preset_is_complete_and_no_name_means_default() -> None:
    assert set(PRESETS["paper"]) == set(NAMES)
    assert Settings.from_preset() == Settings.from_preset("default")
    assert Settings.from_preset("default").batch_size == PRESETS["paper"]["batch_size"]


def test_unknown_preset_names_the_known_ones() -> None:
    with pytest.raises(SettingError, match=r"unknown preset 'fast': use paper, default or quick"):
        Settings.from_preset("fast")


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("epoch", "epochs"),
        ("neighbors", "neighbours"),
        ("batchsize", "batch_size"),
        ("learning_rates", "learning_rate"),
    ],
)
def test_unknown_name_suggests_the_close_one(wrong: str, right: str) -> None:
    with pytest.raises(SettingError, match=rf"unknown setting '{wrong}': did you mean {right}\?"):
        Settings.from_preset(**{wrong: 1})


def test_unknown_name_far_from_all_lists_them() -> None:
    with pytest.raises(SettingError, match=r"unknown setting 'zzz': the settings are method, encoder, .*coarse_weight"):
        Settings.from_preset(zzz=1)


def bounds(name: str) -> tuple[float, float]:
    data = NUMERIC[name].metadata
    return data["low"], data["high"]


@numeric
def test_a_value_outside_the_range_is_refused_with_the_range(name: str) -> None:
    low, high = bounds(name)
    below, above = (low - 1, high + 1) if name in WHOLE else (math.nextafter(low, -math.inf), math.nextafter(high, 9e9))
    for value in (below, above, str(below), str(above), -math.inf, math.inf, 10**400, "1e400"):
        with pytest.raises(SettingError) as caught:
            Settings.from_preset(**{name: value})
        assert f"{name} is {value!r}: it must be {low:g} to {high:g}" in str(caught.value)


@numeric
def test_the_ends_of_the_range_are_allowed_also_as_strings(name: str) -> None:
    kind = int if name in WHOLE else float
    for end in bounds(name):
        for value in (kind(end), str(kind(end)), f" {kind(end)} "):
            found = check(name, value)
            assert found == end
            assert type(found) is kind


@numeric
@pytest.mark.parametrize("value", [True, False, math.nan, "nan", None, "", "three", [1], {}, 1j, b"1"])
def test_values_that_are_not_numbers_are_refused(name: str, value: Any) -> None:
    with pytest.raises(SettingError, match=f"{name} is "):
        check(name, value)


@pytest.mark.parametrize("value", [np.True_, np.False_])
def test_numpys_booleans_are_refused_like_pythons(value: Any) -> None:
    with pytest.raises(SettingError, match="epochs is "):
        check("epochs", value)


@pytest.mark.parametrize("name", WHOLE)
def test_whole_number_settings_refuse_fractions(name: str) -> None:
    for value in (3.5, "3.5"):
        with pytest.raises(SettingError):
            check(name, value)
    assert check(name, 5.0) == 5
    assert type(check(name, np.int64(5))) is int


def test_numbers_of_numpy_become_plain() -> None:
    assert type(check("warmup", np.float32(0.5))) is float
    assert type(check("warmup", 1)) is float


@pytest.mark.parametrize("name", CHOICES)
def test_choices_are_accepted_and_listed_when_the_value_is_wrong(name: str) -> None:
    for choice in CHOICES[name]:
        assert check(name, choice) == choice
        with pytest.raises(SettingError, match=f'"{choice}"'):
            check(name, choice.upper())


def test_names_may_be_any_string_and_only_strings() -> None:
    assert check("encoder", "some/model") == "some/model"
    with pytest.raises(SettingError, match="encoder is 5: it must be a name"):
        check("encoder", 5)


@pytest.mark.parametrize("name", NAMES)
def test_about_gives_the_meaning_and_what_is_allowed(name: str) -> None:
    line = about(name)
    assert line
    assert "\n" not in line
    if name in NUMERIC:
        low, high = bounds(name)
        assert f"{low:g} to {high:g}" in line
    assert all(f'"{choice}"' in line for choice in CHOICES.get(name, ()))


def test_with_changes_a_copy() -> None:
    settings = Settings.from_preset()
    assert settings.with_(epochs=3).epochs == 3
    assert settings.epochs == PRESETS["default"]["epochs"]


def test_every_method_is_found_by_name_and_says_what_it_is() -> None:
    assert {"dna", "soft-dna", "bert", "bert+ce"} <= set(variants())
    for name, method in variants().items():
        assert method_class(name) is method
        assert (method.__doc__ or "").strip()


def test_unknown_method_lists_the_names() -> None:
    with pytest.raises(SettingError, match=r"unknown method 'DNA': use .*\bdna\b.*soft-dna"):
        method_class("DNA")


def rates(total: int, schedule: str, warmup: float) -> list[float]:
    return [learning_rate_factor(step, total, schedule, warmup) for step in range(total)]


def test_linear_rate_by_hand() -> None:
    """Ten steps with a warm-up of two: 1/3, 2/3, then from 1 down by eighths. The last step is above zero."""
    assert rates(10, "linear", 0.2) == pytest.approx([1 / 3, 2 / 3, 1, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8])
    assert learning_rate_factor(10, 10, "linear", 0.2) == 0.0


def test_cosine_rate_at_its_end_points_and_middle() -> None:
    assert [learning_rate_factor(step, 100, "cosine", 0.0) for step in (0, 50, 100)] == pytest.approx([1.0, 0.5, 0.0])
    assert learning_rate_factor(10, 100, "cosine", 0.1) == pytest.approx(1.0)
    assert learning_rate_factor(55, 100, "cosine", 0.1) == pytest.approx(0.5)


def test_constant_rate_is_constant_after_the_warm_up() -> None:
    assert rates(5, "constant", 0.0) == [1.0] * 5
    assert rates(10, "constant", 0.3)[3:] == [1.0] * 7
    assert rates(10, "constant", 0.3)[:3] == pytest.approx([0.25, 0.5, 0.75])


@pytest.mark.parametrize("schedule", ["constant", "linear", "cosine"])
@pytest.mark.parametrize("warmup", [0.0, 0.1, 0.55, 1.0])
@pytest.mark.parametrize("total", [1, 2, 3, 7, 100])
def test_the_rate_rises_once_and_never_exceeds_its_peak(schedule: str, warmup: float, total: int) -> None:
    found = rates(total, schedule, warmup)
    rising = sum(step < warmup * total for step in range(total))
    assert all(0.0 < r <= 1.0 for r in found)
    assert found[:rising] == sorted(found[:rising])
    assert found[rising:] == sorted(found[rising:], reverse=True)


def test_every_step_of_every_epoch_of_every_seed_has_its_own_seed() -> None:
    seeds = [*range(12), 2**30, 2**31 - 2, 2**31 - 1]
    found = [step_seed(*triple) for triple in itertools.product(seeds, range(25), range(150))]
    assert len(set(found)) == len(found)
    assert all(0 <= number < 2**63 - 2**20 for number in found)  # torch accepts it, even with a process number added.


@pytest.mark.parametrize(
    ("texts", "k", "epochs", "layers", "learning", "rate", "share"),
    [
        (8954, 95, 4, "layers", 2e-4, 0.25, 0.25),
        (10, 5, 8, 2, 8e-4, 0.4, 0.6),
        (1_000_000, 250, 4, "layers", 2e-4, 0.25, 0.25),
        (3260, 57, 4, 2, 8e-4, 0.4, 0.6),
        (2000, 45, 6, 2, 8e-4, 0.4, 0.6),
    ],
)
def test_automatic_settings_follow_the_data(
    texts: int, k: int, epochs: int, layers: int | str, learning: float, rate: float, share: float
) -> None:
    """k, augmentation, trained layers, learning rate and the share of untrained weights follow the number of texts."""
    names = ("neighbours", "epochs", "trained_layers", "learning_rate", "augment_rate", "untrained_share")
    auto = Settings.from_preset("default", **dict.fromkeys(names, "auto"))
    settings = auto.for_data(["short"] * texts)
    assert [getattr(settings, name) for name in names] == [k, epochs, layers, learning, rate, share]
    given = Settings.from_preset("default", neighbours=7, epochs=3)
    assert given.for_data(["short"] * texts) == given


def test_long_texts_train_the_top_layers_only() -> None:
    auto = Settings.from_preset("default", epochs="auto", trained_layers="auto")
    long = ["a long letter " * 40]
    assert auto.for_data(long * 7000 + ["short"] * 50).trained_layers == 2
    assert auto.for_data(long * 50 + ["short"] * 7000).trained_layers == "layers"
