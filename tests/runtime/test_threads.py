"""`map_in_threads` keeps the order and the errors of a plain loop and gives the same features."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import torch

from subtaxa.encoders.sentence_encoder import SentenceEncoder
from subtaxa.runtime.threads import map_in_threads


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
def test_two_items_are_processed_at_once_and_returned_in_order() -> None:
    both = threading.Barrier(2)

    def work(item: int) -> tuple[int, int, bool]:
        both.wait(timeout=60)  # No thread gets past this alone.
        return item, torch.get_num_threads(), torch.is_grad_enabled()

    with torch.no_grad():
        assert list(map_in_threads(work, range(6))) == [(item, 1, False) for item in range(6)]
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two_threads")
def test_an_error_is_raised_and_the_number_of_threads_is_restored() -> None:
    def work(item: int) -> int:
        return 1 // (item - 3)

    with pytest.raises(ZeroDivisionError):
        list(map_in_threads(work, range(10)))
    assert torch.get_num_threads() == 2


def test_with_one_thread_the_work_is_done_in_the_caller() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        found = list(map_in_threads(lambda item: threading.current_thread(), range(3)))
    finally:
        torch.set_num_threads(before)
    assert set(found) == {threading.current_thread()}


@pytest.mark.parametrize("layers", ["all", 1, 0])
def test_features_do_not_depend_on_the_number_of_threads(tiny_encoder: str, layers: int | str) -> None:
    encoder = SentenceEncoder(tiny_encoder, trained_layers=layers)
    tokens = encoder.tokenise([f"text {'long ' * (i % 40)} number {i}" for i in range(300)])
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            found.append(encoder.features(tokens))
    finally:
        torch.set_num_threads(before)
    for features in found[1:]:
        if layers == 1:  # Such batches are encoded one by one, each by all threads.
            torch.testing.assert_close(features, found[0], rtol=0, atol=1e-5)
        else:
            assert torch.equal(features, found[0])
