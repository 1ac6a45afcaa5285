"""A NaN or an infinity gives one sentence with its place and its texts, and the last good checkpoint is kept."""

from __future__ import annotations

import csv
import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.commands import refused
from helpers.corpus import planted_corpus
from safetensors.torch import load_file, save_file

from subtaxa import Discovery
from subtaxa.cli.main import main
from subtaxa.errors import SettingError
from subtaxa.methods.soft_dna import SoftDNA
from subtaxa.runtime.finite import NotFinite, check_rows, with_texts
from subtaxa.training import checkpoint

TEXTS, LABELS, _ = planted_corpus(10)
FEW, OF_FEW, _ = planted_corpus(5)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "planted.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *zip(TEXTS, LABELS, strict=True)])
    return path


def discover(source: Path, encoder: str, *more: str) -> list[str]:
    flags = "--epochs 3 --batch-size 16 --learning-rate 1e-3 --categories 6 --trained-layers all --quiet --encoder"
    return ["discover", str(source), "--out", str(source.parent / "run"), *flags.split(), encoder, *more]


def spoil(monkeypatch: pytest.MonkeyPatch, number: float, epoch: int, part: int) -> None:
    """Make the loss of the method NaN or infinite from a given step on."""
    real, calls = SoftDNA.loss, [0]

    def loss(self: SoftDNA, batch: Any) -> dict[str, torch.Tensor]:
        calls[0] += 1
        parts = real(self, batch)
        return parts | {"alignment": parts["alignment"] + number} if calls[0] == 4 * (epoch - 1) + part else parts

    monkeypatch.setattr(SoftDNA, "loss", loss)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_loss_that_is_not_finite_stops_with_the_place_and_the_texts(
    source: Path, tiny_encoder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: float
) -> None:
    spoil(monkeypatch, number, 2, 3)
    error = refused(capsys, discover(source, tiny_encoder))
    found = re.search(rf"the loss became {number} in epoch 2, step 3 with the text '(.*?)' \(row (\d+)\), ", error)
    assert found, error
    assert TEXTS[int(found[2]) - 1] == found[1]
    assert " and 13 more: start again with --overwrite and a lower --learning-rate" in error
    tensors, facts = checkpoint.load_state(source.parent / "run" / "checkpoint" / "training.safetensors")
    assert (facts["epoch"], facts["step"]) == (1, 2)
    assert all(torch.isfinite(tensor).all() for tensor in tensors.values())


def test_resuming_gives_the_result_of_an_undisturbed_run(
    source: Path, tiny_encoder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The NaN does not occur again, as after a hardware fault."""
    with monkeypatch.context() as disturbed:
        spoil(disturbed, float("nan"), 2, 3)
        refused(capsys, discover(source, tiny_encoder))
    assert main(discover(source, tiny_encoder, "--resume")) == 0
    assert main(discover(source, tiny_encoder, "--out", str(source.parent / "other"))) == 0
    for name in ("assignments.csv", "features.safetensors"):
        assert (source.parent / "run" / name).read_bytes() == (source.parent / "other" / name).read_bytes()


def test_a_gradient_that_is_not_finite_never_reaches_the_weights(
    source: Path, tiny_encoder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = SoftDNA.loss

    def loss(self: SoftDNA, batch: Any) -> dict[str, torch.Tensor]:
        parts = real(self, batch)
        parts["alignment"].register_hook(lambda gradient: gradient * float("inf"))
        return parts

    monkeypatch.setattr(SoftDNA, "loss", loss)
    error = refused(capsys, discover(source, tiny_encoder))
    assert re.search(r"the gradient became (nan|inf) in epoch 1, step 1 with the text '", error)
    tensors, _ = checkpoint.load_state(source.parent / "run" / "checkpoint" / "training.safetensors")
    assert all(torch.isfinite(tensor).all() for tensor in tensors.values())


def test_weights_that_are_not_finite_do_not_replace_the_last_checkpoint(
    source: Path, tiny_encoder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real, steps = SoftDNA.after_step, [0]

    def after_step(self: SoftDNA, batch: Any) -> None:
        real(self, batch)
        steps[0] += 1
        if steps[0] == 8:  # The last step of the second epoch.
            with torch.no_grad():
                next(self.encoder.tower.parameters()).fill_(float("nan"))

    monkeypatch.setattr(SoftDNA, "after_step", after_step)
    error = refused(capsys, discover(source, tiny_encoder))
    assert "the features of 60 of 60 texts are not numbers at the beginning of epoch 3 with the text '" in error
    tensors, facts = checkpoint.load_state(source.parent / "run" / "checkpoint" / "training.safetensors")
    assert facts["epoch"] == 1
    assert all(torch.isfinite(tensor).all() for tensor in tensors.values())


@pytest.mark.parametrize("layers", ["all", "2", "1", "0"])
def test_an_encoder_with_an_infinity_for_a_word_is_refused_with_the_texts(
    source: Path, tiny_encoder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], layers: str
) -> None:
    """Whether or not layers are frozen and their output is cached, the other texts of a batch are not named."""
    broken = Path(shutil.copytree(tiny_encoder, tmp_path / "broken"))
    weights = load_file(broken / "model.safetensors")
    words = (broken / "tokenizer.json").read_text()
    place = int(re.search(r'"invoice": (\d+)', words)[1])  # type: ignore[index]
    name = next(name for name in weights if name.endswith("word_embeddings.weight"))
    weights[name][place] = float("inf")
    save_file(weights, broken / "model.safetensors", {"format": "pt"})
    error = refused(capsys, discover(source, str(broken), "--trained-layers", layers))
    count = sum("invoice" in text.split() for text in TEXTS)
    assert f"the features of {count} of 60 texts are not numbers with the text '" in error
    assert error.rstrip().endswith("use another --encoder")
    row = int(re.search(r"\(row (\d+)\)", error)[1])  # type: ignore[index]
    assert "invoice" in TEXTS[row - 1]
    assert not (tmp_path / "run").exists()


def test_texts_in_the_error_are_short_and_harmless() -> None:
    with (
        pytest.raises(NotFinite) as caught,
        with_texts(["a", "x" * 500, "\x1b[31mred\r\n", "d", "e"], [7, 8, 9, 10, 11]),
    ):
        check_rows(torch.tensor([[1.0], [float("nan")], [float("inf")], [0.0], [float("nan")]]))
    assert str(caught.value) == (
        f"the features of 3 of 5 texts are not numbers with the text '{'x' * 60}…' (row 8), "
        r"'\x1b[31mred\r\n' (row 9), 'e' (row 11): use another --encoder"
    )
    check_rows(torch.zeros(2, 3))
    check_rows(torch.zeros(0, 3))


EXTREME: list[dict[str, Any]] = [
    {"temperature": 1e-3},
    {"temperature": 10.0},
    {"neighbours": 100_000},
    {"neighbours": 1},
    {"batch_size": 1},
    {"batch_size": 65_536},
    {"learning_rate": 1.0},
    {"learning_rate": 1.0, "temperature": 1e-3, "max_grad_norm": 1e6},
    {"weight_decay": 1.0},
    {"augment_rate": 0.9},
    {"max_tokens": 3},
    {"epochs": 0},
]
OF_DNA: list[dict[str, Any]] = [
    {"rank_top_m": 32},  # The number of dimensions.
    {"rank_top_m": 100_000},
    {"momentum": 0.9999, "coarse_weight": 1e3},
    {"temperature": 1e-3, "neighbours": 100_000, "batch_size": 1},
]


@pytest.mark.parametrize("changes", [*EXTREME, *({"method": "dna", **changes} for changes in OF_DNA)], ids=str)
def test_extreme_settings_give_finite_results_or_one_sentence(
    quick: dict[str, object], changes: dict[str, Any]
) -> None:
    """Only a learning rate of 1 may end in the sentence."""
    model = Discovery(6, **{**quick, "epochs": 1, **changes})
    if changes.get("learning_rate") == 1.0:
        with suppress(NotFinite):
            model.fit(FEW, OF_FEW)
        if not hasattr(model, "labels_"):
            return
    else:
        model.fit(FEW, OF_FEW)
    numbers = [model.features_, model.confidences_, model.map_, model.clusters_.centroids]
    assert all(torch.isfinite(torch.from_numpy(array)).all() for array in numbers)
    assert ((model.confidences_ >= 0) & (model.confidences_ <= 1)).all()
    assert len(model.taxonomy_) == 6


@pytest.mark.parametrize(
    "changes",
    [{"learning_rate": 10}, {"temperature": 1e-4}, {"temperature": float("nan")}, {"batch_size": 0}, {"neighbours": 0}],
    ids=str,
)
def test_settings_beyond_the_extreme_are_refused(quick: dict[str, object], changes: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match=r"it must be .* to "):
        Discovery(6, **{**quick, **changes}).fit(TEXTS, LABELS)
