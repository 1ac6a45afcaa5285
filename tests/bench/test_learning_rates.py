"""The choice of a learning rate: the rule, the trials, and that they are kept."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
import torch
from helpers.corpus import planted_corpus

from subtaxa.bench import learning_rates
from subtaxa.bench.budgets import BUDGETS
from subtaxa.bench.datasets import Part
from subtaxa.bench.learning_rates import Trial, agreement, choose, choose_rate, chosen_rate, run_trial
from subtaxa.errors import SubtaxaError
from subtaxa.methods import settings_for
from subtaxa.runtime.progress import Progress
from subtaxa.settings import Settings

RATES = BUDGETS["short"].rates


def test_the_best_agreement_wins() -> None:
    assert choose([Trial(1e-4, 0.80, 2.0), Trial(2e-4, 0.90, 3.0), Trial(5e-4, 0.85, 1.0)]).rate == 2e-4


def test_about_equal_agreements_are_decided_by_the_loss_and_then_by_the_lower_rate() -> None:
    assert choose([Trial(1e-4, 0.900, 2.0), Trial(2e-4, 0.898, 1.0), Trial(5e-4, 0.894, 0.5)]).rate == 2e-4
    assert choose([Trial(2e-4, 0.9, 1.0), Trial(1e-4, 0.9, 1.0)]).rate == 1e-4


def test_a_training_that_diverged_is_never_chosen() -> None:
    assert choose([Trial(1e-4, 0.5, 2.0), Trial(5e-4, 0.9, float("inf")), Trial(2e-4, 0.0, None)]).rate == 1e-4
    with pytest.raises(SubtaxaError, match="diverged with every learning rate"):
        choose([Trial(1e-4, 0.0, None)])


def test_agreement_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning_rates, "NEAREST", 2)
    rows = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    labels = torch.tensor([0, 1, 1])
    queries, own = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([0, 1])
    assert agreement(queries, own, rows, labels) == 0.75  # The first finds labels 0 and 1, the second 1 and 1.


def test_fine_labels_are_out_of_reach() -> None:
    assert not any("fine" in name for name in inspect.signature(run_trial).parameters)
    assert "fine" not in inspect.getsource(run_trial) + inspect.getsource(choose_rate) + inspect.getsource(choose)


@pytest.fixture
def part() -> Part:
    return Part.of(*planted_corpus(12))


def test_a_trial_trains_and_measures(tiny_encoder: str, part: Part) -> None:
    settings = settings_for(
        "default", method="dna", encoder=tiny_encoder, epochs=2, neighbours=5, batch_size=16, learning_rate=1e-3
    )
    first, again = (run_trial(part.texts, part.coarse_codes, 6, settings, Progress()) for _ in range(2))
    assert first == again
    assert first.rate == 1e-3
    assert 0.2 < first.agreement <= 1
    assert first.loss is not None
    assert first.loss > 0


def test_trials_are_kept_and_only_the_missing_ones_run(
    tmp_path: Path, part: Part, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[float] = []

    def trial(texts: object, codes: object, number: int, settings: Settings, progress: Progress) -> Trial:
        if len(tried) == 2:
            raise KeyboardInterrupt
        tried.append(settings.learning_rate)
        return Trial(settings.learning_rate, 0.9 if settings.learning_rate == RATES[1] else 0.5, 1.0)

    def start() -> Trial:
        return choose_rate(
            tmp_path, "short", "dna", part, 6, lambda rate: settings_for("default", learning_rate=rate), Progress()
        )

    monkeypatch.setattr(learning_rates, "run_trial", trial)
    with pytest.raises(KeyboardInterrupt):
        start()
    assert chosen_rate(tmp_path, "short", "dna") is None
    tried.pop(0)
    assert start().rate == chosen_rate(tmp_path, "short", "dna") == RATES[1]
    assert tried == [RATES[1], RATES[2]]
    assert chosen_rate(tmp_path, "full", "dna") is None


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = learning_rates.file_of(tmp_path, "short", "dna")
    path.parent.mkdir(parents=True)
    for content in ("{", '{"trials": [{"rate": 1}]}', "[]"):
        path.write_text(content)
        with pytest.raises(SubtaxaError, match="is not a list of trials"):
            chosen_rate(tmp_path, "short", "dna")
