"""Checkpoints: damage is detected, and training can continue from the previous state."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from subtaxa.errors import SubtaxaError
from subtaxa.training import checkpoint
from subtaxa.training.checkpoint import load_newest, load_state, previous, save_state


def tensors(value: float) -> dict[str, torch.Tensor]:
    return {
        "a/weights": torch.full((3, 2), value),
        "step": torch.tensor(value),
        "kept": torch.tensor([True, False]),
        "empty": torch.empty(0, 4),
        "turned": torch.arange(6).reshape(2, 3).T,
    }


def silent(line: str) -> None:
    pytest.fail(f"nothing was to be said: {line}")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Two states, saved one after the other."""
    for epoch in (1, 2):
        save_state(tmp_path / "t.safetensors", tensors(epoch), {"epoch": epoch})
    return tmp_path / "t.safetensors"


def check(found: Any, epoch: int) -> None:
    assert found is not None
    assert found[1] == {"epoch": epoch}
    for name, tensor in tensors(epoch).items():
        assert torch.equal(found[0][name], tensor)


def test_the_newest_state_comes_back_and_the_one_before_is_kept(path: Path) -> None:
    check(load_newest(path, silent), 2)
    check(load_state(previous(path)), 1)
    save_state(path, tensors(3), {"epoch": 3})
    check(load_state(previous(path)), 2)
    assert sorted(p.name for p in path.parent.iterdir()) == ["previous-t.safetensors", "t.safetensors"]


def test_without_any_state_there_is_none(tmp_path: Path) -> None:
    assert load_newest(tmp_path / "t.safetensors", silent) is None


def test_every_flipped_bit_is_noticed(path: Path) -> None:
    """A change anywhere: in the length of the header, the header, a name, a fact or a number."""
    whole = path.read_bytes()
    sentence = re.compile(r"the checkpoint '.*' is damaged: delete the folder '.*' and start again")
    noticed = 0
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        try:
            check(load_state(path), 2)  # A space between two names of the header does not matter.
        except SubtaxaError as error:
            noticed += bool(sentence.fullmatch(str(error)))
    assert noticed > 0.98 * len(whole)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
def test_a_damaged_state_is_passed_over_in_one_sentence(path: Path, share: float) -> None:
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    said: list[str] = []
    check(load_newest(path, said.append), 1)
    assert said == [f"the checkpoint {str(path)!r} is damaged: continuing from the previous one"]
    previous(path).write_bytes(b"")
    with pytest.raises(SubtaxaError, match="is damaged: delete the folder"):
        load_newest(path, said.append)


def test_a_state_of_strangers_is_damaged(path: Path) -> None:
    previous(path).unlink()
    save_file({"a": torch.ones(2)}, path, {"facts": "{}"})
    with pytest.raises(SubtaxaError, match="is damaged"):
        load_newest(path, silent)


@pytest.mark.parametrize("moment", range(4))
def test_a_process_killed_at_any_moment_of_saving_leaves_a_state(
    path: Path, monkeypatch: pytest.MonkeyPatch, moment: int
) -> None:
    """Saving, interrupted after each of its steps."""
    left = [moment]

    def cut_off(real: Any) -> Any:
        def step(*arguments: Any, **named: Any) -> Any:
            if left[0] == 0:
                raise KeyboardInterrupt
            left[0] -= 1
            return real(*arguments, **named)

        return step

    monkeypatch.setattr(checkpoint.Path, "unlink", cut_off(Path.unlink))
    monkeypatch.setattr(checkpoint, "write_whole", cut_off(checkpoint.write_whole))
    monkeypatch.setattr(checkpoint, "os", type("os", (), {"replace": cut_off(checkpoint.os.replace)}))
    with pytest.raises(KeyboardInterrupt):
        save_state(path, tensors(3), {"epoch": 3})
    monkeypatch.undo()
    check(load_newest(path, silent), 2)
    save_state(path, tensors(3), {"epoch": 3})
    check(load_newest(path, silent), 3)
