"""DNA as released: with all switches off it is DNA, and each switch does what the released code does."""

from __future__ import annotations

from dataclasses import fields

import pytest
import torch
from helpers.methods import prepared
from torch import Tensor
from torch.nn import functional as F

from subtaxa.clustering.neighbours import Neighbours
from subtaxa.methods import method_class, settings_for
from subtaxa.methods.base import Method
from subtaxa.methods.dna import DNA
from subtaxa.methods.dna_as_released import BertCEAsReleased, DNAAsReleased, Switches, with_last_text
from subtaxa.runtime.progress import Progress
from subtaxa.training import trainer
from subtaxa.training.fit_encoder import train
from subtaxa.training.trainer import Trainer, learning_rate_factor

NAMES = [f.name for f in fields(Switches)]


def only(*names: str) -> Switches:
    return Switches(**{name: name in names for name in NAMES})


def started(tiny_encoder: str, *names: str, **changes: object) -> DNAAsReleased:
    """The method with only these switches on."""
    settings, encoder, data, _ = prepared(tiny_encoder, **changes)
    method = DNAAsReleased(settings)
    method.switches = only(*names)
    method.start(encoder, data)
    return method


def two_epochs(tiny_encoder: str, method: type[Method], switches: Switches) -> tuple[Tensor, list[dict[str, float]]]:
    settings, encoder, data, _ = prepared(tiny_encoder, epochs=2, coarse_weight=1.0, rank_epochs=1, augment="replace")
    trained = method(settings)
    if isinstance(trained, DNAAsReleased):
        trained.switches = switches
    history = Trainer(settings, 0, Progress()).run("", trained, encoder, data, 2)
    timeless = [{k: v for k, v in row.items() if "seconds" not in k} for row in history]
    return encoder.features(data.tokens), timeless


@pytest.fixture(scope="module")
def paper(tiny_encoder: str) -> tuple[Tensor, list[dict[str, float]]]:
    return two_epochs(tiny_encoder, DNA, only())


def test_all_off_is_dna(tiny_encoder: str, paper: tuple[Tensor, list[dict[str, float]]]) -> None:
    features, history = two_epochs(tiny_encoder, DNAAsReleased, only())
    assert history == paper[1]
    assert torch.equal(features, paper[0])


@pytest.mark.parametrize("name", [n for n in NAMES if n != "unfiltered_reciprocal"])
def test_each_switch_alone_changes_the_training(
    tiny_encoder: str, name: str, paper: tuple[Tensor, list[dict[str, float]]]
) -> None:
    features, history = two_epochs(tiny_encoder, DNAAsReleased, only(name))
    assert history != paper[1]
    assert not torch.equal(features, paper[0])
    assert torch.isfinite(features).all()


def test_all_are_on_by_default() -> None:
    assert DNAAsReleased.switches == only(*NAMES)


def test_last_text_by_hand() -> None:
    """Text 0 lost a neighbour; 1 lost none; 2 lost one but kept the last text (3); 3 lost the last text, itself."""
    positives = torch.tensor([[0, 1], [1, 0], [2, 3], [3, 2]])
    weights = torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    wider, counted = with_last_text(positives, weights)
    assert wider.tolist() == [[0, 1, 3], [1, 0, 3], [2, 3, 3], [3, 2, 3]]
    assert counted[:, 2].tolist() == [1.0, 0.0, 0.0, 1.0]
    assert torch.equal(counted[:, :2], weights)


@pytest.mark.parametrize("seed", range(3))
def test_last_text_is_the_mask_of_the_released_code(seed: int) -> None:
    """A removed neighbour becomes −1, and the mask is set to 1 at each index, −1 among them."""
    n, k = 12, 4
    torch.manual_seed(seed)
    positives = torch.stack([torch.randperm(n)[:k] for _ in range(n)])
    weights = (torch.rand(n, k) < 0.7).float()
    mask = torch.zeros(n, n)
    for i in range(n):
        for j, kept in zip(positives[i].tolist(), weights[i].tolist(), strict=True):
            mask[i][j if kept else -1] = 1
    wider, counted = with_last_text(positives, weights)
    assert torch.equal(torch.zeros(n, n).scatter_add_(1, wider, counted), mask)


def test_last_text_is_a_positive_of_nearly_every_text(tiny_encoder: str) -> None:
    method = started(tiny_encoder, "last_text_positive")
    method.begin_epoch(0)
    assert method.positives.shape == method.weights.shape == (len(method.data), 21)
    assert (method.positives[:, -1] == len(method.data) - 1).all()
    assert method.weights[:, -1].mean() > 0.5
    assert torch.isfinite(torch.stack(list(method.loss(method.data.tokens.batch(torch.arange(4))).values()))).all()


@pytest.mark.parametrize("on", [True, False])
def test_queue_is_refilled_from_the_query_encoder(tiny_encoder: str, on: bool) -> None:
    method = started(tiny_encoder, *(["query_refill"] if on else []))
    with torch.no_grad():
        for parameter in method.momentum_tower.parameters():
            parameter.mul_(1.5)
    method.begin_epoch(1)
    tower = None if on else method.momentum_tower
    assert torch.equal(method.queue.rows, method.encoder.features(method.data.tokens, tower))


def test_the_keys_of_the_momentum_encoder_have_no_dropout(tiny_encoder: str) -> None:
    """The released code never puts the momentum encoder into train mode."""
    method = started(tiny_encoder, *NAMES, augment="none")
    method.begin_epoch(0)
    method.encoder.pipeline.train()
    method.tower.train()
    batch = method.data.tokens.batch(torch.arange(8))
    rows = []
    for _ in range(2):
        method.after_step(batch)
        rows.append(method.queue.rows[:8].clone())
    assert torch.equal(rows[0], rows[1])


def test_reciprocal_filter_looks_at_the_lists_as_retrieved(tiny_encoder: str) -> None:
    """The kept set is the same either way, because i has the label of j whenever j has the label of i."""
    indices = torch.tensor([[0, 1], [1, 0], [2, 1]])
    neighbours = Neighbours(indices, torch.ones_like(indices, dtype=torch.bool))
    kept = torch.tensor([[True, True], [True, False], [True, True]])
    wide, narrow = (
        started(tiny_encoder, *names).reciprocal(neighbours, kept) for names in (["unfiltered_reciprocal"], [])
    )
    assert wide.tolist() == [[True, True], [True, True], [True, False]]
    assert narrow.tolist() == [[True, False], [True, False], [True, False]]
    on, off = started(tiny_encoder, "unfiltered_reciprocal"), started(tiny_encoder)
    on.begin_epoch(1)
    off.begin_epoch(1)
    assert torch.equal(on.weights, off.weights)


def test_deep_head(tiny_encoder: str) -> None:
    head = started(tiny_encoder, "deep_head").head
    assert [tuple(p.shape) for p in head.parameters() if p.ndim == 2] == [(32, 32), (128, 32), (3, 128)]
    assert [type(m).__name__ for m in head.children()] == ["Linear", "ReLU", "Dropout", "Linear", "Linear"]
    assert isinstance(started(tiny_encoder).head, torch.nn.Linear)


@pytest.mark.parametrize("on", [True, False])
def test_momentum_encoder_reads_the_augmented_view(tiny_encoder: str, on: bool) -> None:
    method = started(tiny_encoder, *(["augmented_keys"] if on else []), augment="replace", augment_rate=0.9)
    method.begin_epoch(0)
    batch = method.data.tokens.batch(torch.arange(8))
    method.encoder.pipeline.eval()
    method.loss(batch)
    assert method.viewed is not None
    assert (method.viewed.input_ids != batch.input_ids).any()
    method.after_step(batch)
    read = method.viewed if on else batch
    expected = F.normalize(method.momentum_tower(*method.encoder.inputs(read)), dim=1)
    torch.testing.assert_close(method.queue.rows[:8], expected)


def test_k_neighbours_beside_the_text_itself(tiny_encoder: str) -> None:
    method = started(tiny_encoder, "k_others")
    method.begin_epoch(0)
    assert method.positives.shape[1] == 21
    assert (method.positives[:, 0] == torch.arange(len(method.data))).all()


def test_k_follows_an_estimated_number_and_the_text_itself_stays_beside_it(tiny_encoder: str) -> None:
    method = started(tiny_encoder, "k_others")
    method.k = 7  # As after an estimate of the number of categories.
    method.begin_epoch(0)
    assert method.positives.shape[1] == 8


def test_warm_up_lasts_half_of_the_training() -> None:
    settings = settings_for("paper", method="dna-as-released")
    steps = [
        learning_rate_factor(s, 200 * settings.schedule_length, settings.schedule, settings.warmup) for s in range(200)
    ]
    assert steps.index(max(steps)) == 100
    assert settings_for("paper", method="dna-as-released", schedule_length=1.0).schedule_length == 1.0


def rates(tiny_encoder: str, monkeypatch: pytest.MonkeyPatch, **changes: object) -> dict[str, list[float]]:
    """The lengths of the schedules in epochs, of pretraining and then of the method."""
    asked: dict[str, list[float]] = {"pretraining": [], "method": []}
    settings, encoder, data, _ = prepared(tiny_encoder, **{"epochs": 2, "pretrain_epochs": 3} | changes)
    real = trainer.learning_rate_factor
    running: list[str] = []

    def watched(step: int, total: float, schedule: str, warmup: float) -> float:
        asked[running[-1]].append(total)
        return real(step, total, schedule, warmup)

    def run(self: Trainer, name: str, method: Method, *others: object) -> list[dict[str, float]]:
        running.append("method" if isinstance(method, DNA) else "pretraining")
        return real_run(self, name, method, *others)  # type: ignore[arg-type]

    real_run = Trainer.run
    monkeypatch.setattr(trainer, "learning_rate_factor", watched)
    monkeypatch.setattr(Trainer, "run", run)
    train(encoder, data, settings, 0, Progress())
    return asked


@pytest.mark.parametrize(("name", "length"), [("dna", 1.0), ("dna-as-released", 1.25)])
def test_only_the_schedule_of_the_method_is_stretched(
    tiny_encoder: str, monkeypatch: pytest.MonkeyPatch, name: str, length: float
) -> None:
    """180 texts in batches of 32 are six steps per epoch, or five without the held-out texts."""
    asked = rates(tiny_encoder, monkeypatch, method=name, schedule_length=5.0)
    assert set(asked["pretraining"]) == {3 * 5 * length}
    assert set(asked["method"]) == {2 * 6 * 5.0}


def test_pretraining_as_released_has_dropout_before_its_classifier_in_training_only(tiny_encoder: str) -> None:
    settings, encoder, data, _ = prepared(tiny_encoder, method="bert+ce-as-released")
    assert settings.schedule_length == 1.25
    assert method_class("dna-as-released").pretraining == "bert+ce-as-released"
    method = BertCEAsReleased(settings)
    method.start(encoder, data)
    assert [type(layer).__name__ for layer in method.head.children()] == ["Dropout", "Linear"]
    encoder.pipeline.eval()
    method.tower.eval()
    batch = data.tokens.batch(torch.arange(16))
    first, second = (float(method.loss(batch)["coarse"].detach()) for _ in range(2))
    assert first != second
    assert method.score() == method.score()
    assert method.head.training
