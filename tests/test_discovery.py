"""Discovery with a tiny encoder: fit, predict, save, load and the guarantees for users."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.corpus import planted_corpus
from sentence_transformers import SentenceTransformer
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from subtaxa import Discovery, SubtaxaError, read_texts
from subtaxa.bench.scoring import score
from subtaxa.clustering.number_of_categories import CategoryCount, readable
from subtaxa.encoders.sentence_encoder import SentenceEncoder
from subtaxa.errors import InputError, SettingError
from subtaxa.methods.base import Method, TrainingData
from subtaxa.settings import Settings
from subtaxa.training import fit_encoder

TEXTS, LABELS, FINE = planted_corpus(15)


@pytest.fixture(scope="module")
def untrained(quick: dict[str, object]) -> dict[str, object]:
    """Settings without training, for tests of the steps after it."""
    return {**quick, "epochs": 0}


@pytest.fixture(scope="module")
def model(quick: dict[str, object]) -> Discovery:
    return Discovery(6, **quick).fit(TEXTS, LABELS)


def partition(labels: np.ndarray) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(labels == c).tolist()) for c in np.unique(labels)}


def test_planted_categories_are_found_and_named(model: Discovery) -> None:
    assert score(FINE, model.labels_).acc > 90
    assert len(model.taxonomy_) == 6
    by_fine = {FINE[np.flatnonzero(model.labels_ == c.id)[0]]: c for c in model.taxonomy_}
    assert set(by_fine["parcel"].keywords) & {"parcel", "package", "courier", "tracking", "delivered", "lost", "late"}
    assert all(c.name for c in model.taxonomy_)


def test_every_category_has_one_parent_and_the_counts_add_up(model: Discovery) -> None:
    for category in model.taxonomy_:
        assert {LABELS[i] for i in np.flatnonzero(model.labels_ == category.id)} == {category.parent}
        assert category.size == (model.labels_ == category.id).sum()
        assert 3 <= len(category.examples) <= 5
        assert set(category.examples) <= set(TEXTS)
    assert sum(c.size for c in model.taxonomy_) == len(TEXTS)


def test_auto_finds_the_planted_number_and_training_needs_none(quick: dict[str, object], model: Discovery) -> None:
    found = Discovery("auto", **quick).fit(TEXTS, LABELS)
    assert abs(len(found.taxonomy_) - 6) <= 1
    assert len(found.taxonomy_.children("post")) == 1
    np.testing.assert_array_equal(found.features_, model.features_)  # There, the number was told.


def test_training_gets_the_given_number_or_a_guess_and_neighbours_that_depend_on_neither(
    quick: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = []

    def train(
        encoder: SentenceEncoder, data: TrainingData, settings: Settings, *others: object, **more: object
    ) -> tuple[list[dict[str, float]], Method]:
        told.append((data.n_categories, settings.neighbours))
        return [], Method(settings)

    monkeypatch.setattr(fit_encoder, "train", train)
    assert len(Discovery(6, **quick).fit(TEXTS, LABELS).taxonomy_) == 6
    Discovery("auto", **quick).fit(TEXTS, LABELS)
    Discovery("auto", neighbours=9, **quick).fit(TEXTS, LABELS)  # A given k is used unchanged.
    root = round(len(TEXTS) ** 0.5)
    assert told == [(6, root), (readable(len(TEXTS)), root), (readable(len(TEXTS)), 9)]


def test_words_count_if_the_encoder_sees_only_a_part_of_the_texts(quick: dict[str, object], tmp_path: Path) -> None:
    """Two of three tokens are special, so the encoder sees only one word."""
    model = Discovery(6, max_tokens=3, **quick).fit(TEXTS, LABELS)
    vocabulary = model.vocabulary_
    assert vocabulary is not None
    assert 0 < vocabulary.weight <= 1
    alone = model.encoder_.encode(TEXTS).numpy()
    assert model.features_.shape[1] == alone.shape[1] + vocabulary.width
    np.testing.assert_allclose(model.transform(TEXTS), model.features_, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(model.features_, axis=1), 1, atol=1e-5)
    model.save(tmp_path / "run")
    again = Discovery.load(tmp_path / "run")
    assert np.array_equal(again.transform(TEXTS), model.transform(TEXTS))
    new = ["my parcel was lost by the courier", "i forgot my password again"]
    assert again.predict(new).tolist() == model.predict(new).tolist()
    (tmp_path / "run" / "words.safetensors").unlink()
    with pytest.raises(InputError, match=r"words\.safetensors.* is missing"):
        Discovery.load(tmp_path / "run").transform(new)
    whole = Discovery(6, **quick).fit(TEXTS, LABELS)
    assert whole.vocabulary_ is None
    assert whole.features_.shape[1] == alone.shape[1]


def test_numbers_can_be_given_for_some_labels_and_estimated_for_the_rest(untrained: dict[str, object]) -> None:
    found = Discovery({"post": 2}, **untrained).fit(TEXTS, LABELS)
    assert len(found.taxonomy_.children("post")) == 2
    assert found.n_categories_["post"] == CategoryCount(2, 2, 2, ())
    assert all(choice.curve for label, choice in found.n_categories_.items() if label != "post")
    for label, choice in found.n_categories_.items():
        assert len(found.taxonomy_.children(label)) == choice.chosen
    every = dict.fromkeys(set(LABELS), 2)
    assert len(Discovery(every, **untrained).fit(TEXTS, LABELS).taxonomy_) == 2 * len(every)


@pytest.mark.parametrize(
    ("categories", "said"),
    [
        ({"posts": 2}, "did you mean 'post'"),
        ({"post": 10_000}, "use 1 to"),
        ({"post": 0}, "must be a whole number"),
        ({}, "must be a whole number"),
        (2.5, "must be a whole number"),
        (True, "must be a whole number"),
    ],
)
def test_impossible_numbers_are_refused(quick: dict[str, object], categories: object, said: str) -> None:
    with pytest.raises(SettingError, match=said):
        Discovery(categories, **quick).fit(TEXTS, LABELS)  # type: ignore[arg-type]


def test_finer_granularity_never_gives_fewer_categories(untrained: dict[str, object]) -> None:
    found = [Discovery(granularity=name, **untrained).fit(TEXTS, LABELS) for name in ("coarse", "normal", "fine")]
    sizes = [len(model.taxonomy_) for model in found]
    assert sizes == sorted(sizes)
    with pytest.raises(SettingError, match="coarse, normal, fine"):
        Discovery(granularity="finer", **untrained).fit(TEXTS, LABELS)


def test_predict_repeats_training_and_probabilities_agree(model: Discovery) -> None:
    np.testing.assert_array_equal(model.predict(TEXTS), model.labels_)
    np.testing.assert_array_equal(model.predict(TEXTS[:7]), model.labels_[:7])
    np.testing.assert_array_equal(model.predict(TEXTS, LABELS), model.labels_)
    likely = model.predict_proba(TEXTS)
    assert likely.shape == (len(TEXTS), 6)
    np.testing.assert_allclose(likely.sum(1), 1.0)
    np.testing.assert_array_equal(likely.argmax(1), model.labels_)
    assert model.predict(["parcel lost courier"])[0] == model.taxonomy_.children("post")[0].id
    limited = model.predict_proba(["parcel lost courier"], ["money"])[0]
    assert {model.taxonomy_[int(i)].parent for i in np.flatnonzero(limited)} == {"money"}


def test_a_training_text_keeps_its_label_even_when_another_centroid_is_nearer(quick: dict[str, object]) -> None:
    texts, labels = [*TEXTS, "parcel courier tracking lost late"], [*LABELS, "money"]
    found = Discovery(6, **quick).fit(texts, labels)
    assert found.taxonomy_[int(found.labels_[-1])].parent == "money"
    np.testing.assert_array_equal(found.predict(texts), found.labels_)
    np.testing.assert_array_equal(found.predict_proba(texts).argmax(1), found.labels_)


def test_row_order_does_not_matter_and_the_same_seed_repeats(quick: dict[str, object], model: Discovery) -> None:
    order = list(range(len(TEXTS)))
    random.Random(5).shuffle(order)
    shuffled = Discovery(6, **quick).fit([TEXTS[i] for i in order], [LABELS[i] for i in order])
    np.testing.assert_array_equal(shuffled.labels_, model.labels_[order])
    assert shuffled.taxonomy_ == model.taxonomy_
    other = Discovery(6, seed=1, **quick).fit(TEXTS, LABELS)
    assert not np.array_equal(other.transform(TEXTS[:5]), model.transform(TEXTS[:5]))


def test_save_and_load(model: Discovery, tmp_path: Path) -> None:
    run = model.save(tmp_path / "run")
    loaded = Discovery.load(run)
    np.testing.assert_array_equal(loaded.labels_, model.labels_)
    np.testing.assert_array_equal(loaded.predict(TEXTS), model.labels_)
    np.testing.assert_allclose(loaded.predict_proba(TEXTS), model.predict_proba(TEXTS), atol=1e-5)
    assert loaded.taxonomy_ == model.taxonomy_
    assert loaded.get_params()["categories"] == 6
    features = SentenceTransformer(str(run / "model"), device="cpu").encode(TEXTS)
    np.testing.assert_allclose(features, model.transform(TEXTS), atol=1e-5)
    again = Discovery.load(loaded.save(tmp_path / "copy"))
    np.testing.assert_array_equal(again.predict(TEXTS), model.labels_)
    assert (tmp_path / "copy" / "assignments.csv").read_text() == (run / "assignments.csv").read_text()


def test_run_folder(model: Discovery, tmp_path: Path) -> None:
    run = model.save(tmp_path / "run")
    names = {p.name for p in run.iterdir()}
    assert names == {
        *("categories.csv", "assignments.csv", "model", "report.html", "run.json", "manifest.json"),
        *("taxonomy.json", "clusters.safetensors", "features.safetensors", "suspect_labels.csv"),
        *("tree.safetensors", "tree.json"),
    }
    rows = list(csv.DictReader((run / "assignments.csv").open(newline="")))
    assert [row["text"] for row in rows] == TEXTS
    assert [int(row["category_id"]) for row in rows] == model.labels_.tolist()
    assert all(0 <= float(row["confidence"]) <= 1 for row in rows)
    facts = json.loads((run / "run.json").read_text())
    assert facts["seed"] == 0
    assert facts["versions"]["torch"]
    assert len(facts["data"]["fingerprint"]) == 64
    assert facts["settings"]["epochs"] == 3
    assert [set(row) >= {"alignment", "uniformity", "kept", "retrieval_seconds"} for row in facts["history"]] == [
        True
    ] * 3
    card = (run / "model" / "README.md").read_text()
    assert "SentenceTransformer(" in card
    assert f"{len(TEXTS):,} texts" in card
    assert not any(p.suffix in (".pkl", ".bin", ".pt") for p in run.rglob("*"))
    with pytest.raises(InputError, match="already holds a run"):
        model.save(run)
    model.save(run, overwrite=True)


def test_parquet_in_parquet_out(model: Discovery, quick: dict[str, object], tmp_path: Path) -> None:
    pd.DataFrame({"text": TEXTS, "label": LABELS}).to_parquet(tmp_path / "texts.parquet")
    found = Discovery(6, **quick).fit(read_texts(tmp_path / "texts.parquet"))
    run = found.save(tmp_path / "run")
    table = pd.read_parquet(run / "assignments.parquet")
    assert table["category_id"].tolist() == model.labels_.tolist()
    assert not (run / "assignments.csv").exists()
    np.testing.assert_array_equal(Discovery.load(run).predict(TEXTS), model.labels_)


@pytest.mark.parametrize(
    ("texts", "labels", "categories"),
    [
        (["one"], ["a"], "auto"),
        (["one", "two"], ["a", "b"], "auto"),
        (["same"] * 9, ["a"] * 5 + ["b"] * 4, "auto"),
        (["parcel", "😀😀", "שלום עולם", "x" * 100_000, "\x01\x02", "=cmd()"], list("aaabbb"), "auto"),
        (["refund owed", "parcel lost", "refund back", "parcel late", "password new"], ["only"] * 5, 3),
        ([f"parcel {i}" for i in range(40)] + ["password"], ["big"] * 40 + ["small"], "auto"),
    ],
)
def test_odd_corpora_work(
    quick: dict[str, object], tmp_path: Path, texts: list[str], labels: list[str], categories: int | str
) -> None:
    found = Discovery(categories, **{**quick, "epochs": 1}).fit(texts, labels)
    assert len(found.labels_) == len(texts)
    assert set(found.taxonomy_.parents) == set(labels)
    np.testing.assert_array_equal(found.predict(texts, labels), found.labels_)
    loaded = Discovery.load(found.save(tmp_path / "run"))
    np.testing.assert_array_equal(loaded.predict(texts, labels), found.labels_)
    assert list(loaded.data_.texts) == list(found.data_.texts)


def test_a_text_with_two_labels_is_assigned_by_the_given_label(untrained: dict[str, object]) -> None:
    texts, labels = [*TEXTS, "refund parcel"] * 2, [*LABELS, "money", *LABELS, "post"]
    found = Discovery(6, **untrained).fit(texts, labels)
    np.testing.assert_array_equal(found.predict(texts, labels), found.labels_)


def test_scikit_learn_conventions(quick: dict[str, object], model: Discovery) -> None:
    params = model.get_params()
    twin = clone(model)
    assert twin.get_params() == params
    with pytest.raises(NotFittedError):
        twin.predict(["x"])
    assert model.set_params(categories=6) is model
    np.testing.assert_array_equal(Discovery(6, **quick).fit_predict(TEXTS, LABELS), model.labels_)
    assert model.get_params() == params  # `fit` changes no parameter.


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"categories": 2}, "categories is 2: with 3 labels"),
        ({"categories": 0}, "categories is 0"),
        ({"categories": "many"}, "categories is 'many'"),
        ({"categories": 10_000}, "it must be 3 to"),
        ({"epochs": -1}, "epochs is -1: it must be 0 to 10000"),
        ({"temperature": float("nan")}, "temperature is nan"),
        ({"pooling": "max"}, '"model", "cls" or "mean"'),
        ({"method": "dan"}, "unknown method 'dan'"),
        ({"preset": "papr"}, "unknown preset 'papr'"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_impossible_settings_are_refused(quick: dict[str, object], changes: dict[str, object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Discovery(**{**quick, "epochs": 0, **changes}).fit(TEXTS, LABELS)


def test_bad_input_is_refused(quick: dict[str, object], model: Discovery) -> None:
    with pytest.raises(InputError, match="row 2"):
        Discovery(**quick).fit(["a", " "], ["x", "y"])
    with pytest.raises(InputError, match="is not a label of the training texts"):
        model.predict(["a"], ["nowhere"])
    with pytest.raises(InputError, match="give a list of strings"):
        model.predict("a text")
    assert model.predict([]).shape == (0,)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("run.json", b"{"),
        ("run.json", b"[]"),
        ("taxonomy.json", b'[{"id": 0}]'),
        ("clusters.safetensors", b"\x00" * 40),
        ("taxonomy.json", b"[]"),
    ],
)
def test_a_damaged_run_folder_is_refused(model: Discovery, tmp_path: Path, file: str, content: bytes) -> None:
    run = model.save(tmp_path / "run")
    (run / file).write_bytes(content)
    with pytest.raises(SubtaxaError, match="run"):
        Discovery.load(run)


def test_the_paper_preset_pretrains_on_the_labels(quick: dict[str, object]) -> None:
    few = {"pretrain_epochs": 8, "epochs": 2, "batch_size": 16, "neighbours": 20, "learning_rate": 1e-3}
    texts, labels, _ = planted_corpus()
    found = Discovery(6, preset="paper", encoder=quick["encoder"], **few).fit(texts, labels)
    assert [row.get("pretraining") for row in found.history_] == [1.0] * 8 + [None] * 2
    assert found.history_[7]["score"] > 0.8
    assert {"alignment", "uniformity", "coarse", "kept"} <= set(found.history_[-1])
    assert found.settings_.momentum == 0.99


def test_old_spellings_work_with_a_warning(quick: dict[str, object], model: Discovery) -> None:
    for old, new in {"numbers_": "n_categories_", "memory_": "known_texts_", "confidence_": "calibration_"}.items():
        with pytest.warns(DeprecationWarning, match=f"{old} is now Discovery.{new}"):
            assert getattr(model, old) is getattr(model, new)
    with pytest.warns(DeprecationWarning, match="is now Discovery.assign"):
        old_call = model.file
    with pytest.warns(DeprecationWarning, match="`place` is now `category_index`"):
        assert old_call(TEXTS[:3]).place.tolist() == model.assign(TEXTS[:3]).category_index.tolist()
    with pytest.warns(DeprecationWarning, match="clip is now max_grad_norm"):
        old_argument = Discovery(6, clip=2.0, view="drop", **quick)  # type: ignore[arg-type]
    twin = clone(old_argument)
    assert (twin.max_grad_norm, twin.augment) == (2.0, "drop")
    assert "clip" not in twin.get_params()
    with pytest.raises(TypeError, match="unexpected keyword argument 'clipp'"):
        Discovery(clipp=2.0)


def test_attributes_are_those_of_the_state_and_exist_only_after_fit(model: Discovery) -> None:
    assert model.labels_ is model.state_.labels
    assert model.features_ is model.state_.features
    assert not hasattr(Discovery(), "labels_")
    with pytest.raises(AttributeError):
        model.labels_ = np.zeros(3)


def test_copies_of_a_text_are_trained_on_once(quick: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each text three times, and one of them fifty times more: training sees the distinct texts, the result all."""
    texts = [text for text in TEXTS for _ in range(3)] + [TEXTS[0]] * 50
    labels = [label for label in LABELS for _ in range(3)] + [LABELS[0]] * 50
    trained: list[int] = []
    real = fit_encoder.train
    monkeypatch.setattr(
        fit_encoder,
        "train",
        lambda encoder, data, *more, **named: trained.append(len(data)) or real(encoder, data, *more, **named),
    )
    model = Discovery(6, **{**quick, "epochs": 1}).fit(texts, labels)  # type: ignore[arg-type]
    assert trained == [len(set(zip(TEXTS, LABELS, strict=True)))]
    assert len(model.labels_) == len(texts) == sum(c.size for c in model.taxonomy_)
    for text in (TEXTS[0], TEXTS[-1]):
        same = [i for i, other in enumerate(texts) if other == text]
        assert len(set(model.labels_[same].tolist())) == 1
        assert (model.features_[same] == model.features_[same[0]]).all()


def test_a_single_text_many_times_has_one_category(quick: dict[str, object]) -> None:
    model = Discovery(**{**quick, "epochs": 1}).fit(["refund owed"] * 300, ["money"] * 300)  # type: ignore[arg-type]
    assert [c.size for c in model.taxonomy_] == [300]
