"""A checkpoint that a stranger wrote, with a digest that is right, is resumed or refused in one sentence."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers import forks
from helpers.corpus import planted_corpus

from subtaxa.methods.soft_dna import SoftDNA
from subtaxa.training import checkpoint

TEXTS, LABELS, _ = planted_corpus(5)
SENTENCE = "is of another encoder or version: delete its folder and start again"
CHANGES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "a scalar": lambda _: torch.tensor(1.0),
    "one number": lambda _: torch.ones(1),
    "no number": lambda _: torch.ones(0),
    "too short": lambda tensor: tensor.flatten()[:-1].clone(),
    "NaN": lambda tensor: torch.full_like(tensor, torch.nan),
}
FACTS: list[tuple[str, Any]] = [
    *(("epoch", value) for value in (-1, 10**9, "x", None, 1.5)),
    *(("step", value) for value in (-1, [], 1.5)),
    *(("history", value) for value in ([{"a": "b"}], {}, "x")),
    *(("loss_sums", value) for value in (None, {"a": {}})),
    ("best_score", "x"),
    ("epochs_since_best", -1),
]


def command(source: Path, out: Path, encoder: str, *more: str) -> list[str]:
    flags = "--epochs 2 --batch-size 16 --learning-rate 1e-3 --categories 6 --trained-layers 1 --quiet"
    return ["discover", str(source), "--out", str(out), *flags.split(), "--encoder", encoder, *more]


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory, tiny_encoder: str) -> Path:
    """A folder with texts and a run that ended in its second epoch."""
    folder = tmp_path_factory.mktemp("stopped")
    with (folder / "texts.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *zip(TEXTS, LABELS, strict=True)])
    with pytest.MonkeyPatch.context() as patch:
        real, calls = SoftDNA.loss, [0]

        def loss(self: SoftDNA, batch: Any) -> dict[str, torch.Tensor]:
            calls[0] += 1
            return {k: part * (torch.nan if calls[0] == 4 else 1) for k, part in real(self, batch).items()}

        patch.setattr(SoftDNA, "loss", loss)
        from subtaxa.cli.main import main

        assert main(command(folder / "texts.csv", folder / "run", tiny_encoder)) == 2
    return folder


def resumed(stopped: Path, folder: Path, encoder: str, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> str:
    """What is said if the run is resumed after a change of its tensors and facts. A crash fails the test."""
    run = Path(shutil.copytree(stopped / "run", folder / "run"))
    file = run / "checkpoint" / "training.safetensors"
    tensors, facts = checkpoint.load_state(file)
    change(tensors, facts)
    checkpoint.save_state(file, tensors, facts)
    checkpoint.previous(file).unlink()
    process = forks.Fork(forks.command, *command(stopped / "texts.csv", run, encoder, "--resume"))
    error = process.communicate()[1]
    assert process.returncode == 2, (process.returncode, error)
    return error


@pytest.mark.parametrize("how", CHANGES)
@pytest.mark.parametrize("part", ["exp_avg", "exp_avg_sq", "step"])
def test_moments_of_another_shape_are_refused(
    stopped: Path, tiny_encoder: str, tmp_path: Path, part: str, how: str
) -> None:
    """AdamW's compiled step reads as many moments as there are weights, whatever the shape: it read foreign memory."""
    if (part, how) == ("step", "a scalar"):
        return

    def change(tensors: dict[str, Any], facts: dict[str, Any]) -> None:
        for name in [name for name in tensors if name.startswith("optimizer/") and name.endswith(f"/{part}")]:
            tensors[name] = CHANGES[how](tensors[name])

    error = resumed(stopped, tmp_path, tiny_encoder, change)
    assert SENTENCE in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("name", ["state/positives", "state/weights", "state/queue", "state/max_lexical_weight"])
def test_the_state_of_the_method_has_its_shape_and_range(
    stopped: Path, tiny_encoder: str, tmp_path: Path, name: str
) -> None:
    def change(tensors: dict[str, Any], facts: dict[str, Any]) -> None:
        tensors[name] = (
            tensors[name] - 10**6
            if name in ("state/positives", "state/max_lexical_weight")
            else CHANGES["too short"](tensors[name])
        )

    assert SENTENCE in resumed(stopped, tmp_path, tiny_encoder, change)


@pytest.mark.parametrize("number", ["optimizer/999/step", "optimizer/x/step", "optimizer/step", "optimizer/0/more"])
def test_moments_of_no_parameter_are_refused(stopped: Path, tiny_encoder: str, tmp_path: Path, number: str) -> None:
    error = resumed(stopped, tmp_path, tiny_encoder, lambda tensors, _: tensors.update({number: torch.tensor(1.0)}))
    assert SENTENCE in error


def test_best_weights_of_another_shape_are_refused(stopped: Path, tiny_encoder: str, tmp_path: Path) -> None:
    error = resumed(stopped, tmp_path, tiny_encoder, lambda tensors, _: tensors.update({"best/x": torch.ones(1)}))
    assert SENTENCE in error


@pytest.mark.parametrize(("name", "value"), FACTS, ids=str)
def test_other_facts_are_refused(stopped: Path, tiny_encoder: str, tmp_path: Path, name: str, value: object) -> None:
    assert SENTENCE in resumed(stopped, tmp_path, tiny_encoder, lambda _, facts: facts.update({name: value}))
