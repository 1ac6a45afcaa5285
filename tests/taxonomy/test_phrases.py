"""Phrases: counted like a slow loop counts them, in words and in characters, as people write them."""

from __future__ import annotations

import numpy as np
import pytest

from subtaxa.taxonomy.phrases import MAX_LENGTH, MAX_WORDS, Phrases, count_phrases


def counted(texts: list[str], parts: list[int] | None = None) -> dict[str, list[int]]:
    """The number of texts of each part with each phrase."""
    numbers = np.array(parts or [0] * len(texts))
    found = count_phrases(texts, numbers, np.zeros(int(numbers.max()) + 1, dtype=np.int64))
    table = found.counts.toarray().astype(int)
    return {found.text(i, lower=True): table[:, i].tolist() for i in range(table.shape[1])}


def test_counts_are_those_of_a_slow_loop() -> None:
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(list("abcd"), size=rng.integers(0, 9)).tolist()) for _ in range(80)]
    parts = rng.integers(0, 3, size=80)
    expected: dict[str, list[int]] = {}
    for text, part in zip(texts, parts.tolist(), strict=True):
        words = text.split()
        runs = {" ".join(words[i : i + n]) for n in range(1, MAX_WORDS + 1) for i in range(len(words) - n + 1)}
        for run in runs:
            expected.setdefault(run, [0, 0, 0])[part] += 1
    expected = {run: numbers for run, numbers in expected.items() if sum(numbers) >= 2}
    assert counted(texts, parts.tolist()) == expected


def test_a_phrase_does_not_span_punctuation_numbers_or_addresses() -> None:
    found = counted(["red, blue. green\nblack 12 white a@b.org grey https://x.y/z pink a1b2 cyan"])
    assert set(found) == {"red", "blue", "green", "black", "white", "grey", "pink", "cyan"}


def test_apostrophes_and_hyphens_stay_inside_words() -> None:
    assert set(counted(["don’t re-book"])) == {"don't", "re-book", "don't re-book"}


def test_phrases_of_a_script_without_spaces_are_runs_of_characters() -> None:
    found = counted(["忘记密码", "密码重置"])
    assert found["密码"] == [2]
    assert found["忘记密码"] == [1]
    assert not any(" " in phrase for phrase in found)


def test_thai_vowels_stay_with_their_letter() -> None:
    found = counted(["ที่นี่"])
    assert set(found) == {"ที่", "นี่", "ที่นี่"}


def test_phrases_are_short() -> None:
    found = counted([f"{'a' * 25} {'b' * 25} c", "d" * 41])
    assert max(map(len, found)) <= MAX_LENGTH
    assert set(found) == {"a" * 25, "b" * 25, "c", f"{'b' * 25} c"}


@pytest.mark.parametrize(
    ("texts", "shown"),
    [
        (["my PIN", "the PIN", "Pin"], "PIN"),
        (["The card", "Card", "the card"], "card"),
        (["MY CARD IS LOST", "Card"], "card"),
        (["das Paket", "Paket", "ein Paket", "dein paket"], "Paket"),
    ],
)
def test_words_are_shown_as_most_people_write_them_inside_a_sentence(texts: list[str], shown: str) -> None:
    found = count_phrases(texts, np.zeros(len(texts), dtype=np.int64), np.zeros(1, dtype=np.int64))
    assert shown in found.shown
    assert shown.lower() in found.words


def test_texts_without_words_have_no_phrases() -> None:
    found = count_phrases(["😀", "123", ""], np.zeros(3, dtype=np.int64), np.zeros(2, dtype=np.int64))
    assert isinstance(found, Phrases)
    assert found.counts.shape == (2, 0)
    assert found.length.shape == (0,)


def test_a_phrase_of_one_typical_text_is_kept_if_its_words_are_known() -> None:
    texts = ["red parcel"] * 30 + ["late card"] * 30 + ["late parcel", "late card Rumpelstiltskin"]
    typical = np.arange(len(texts)) >= 60
    found = count_phrases(texts, np.zeros(len(texts), dtype=np.int64), np.zeros(1, dtype=np.int64), typical)
    phrases = {found.text(i) for i in range(len(found.units))}
    assert "late parcel" in phrases
    assert not any("rumpelstiltskin" in phrase.lower() for phrase in phrases)
    without = count_phrases(texts, np.zeros(len(texts), dtype=np.int64), np.zeros(1, dtype=np.int64))
    assert "late parcel" not in {without.text(i) for i in range(len(without.units))}


def test_a_phrase_is_whole_where_it_ends_at_a_function_word_or_a_border() -> None:
    found = count_phrases(["pressed the power button"], np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))
    whole = {found.text(i): float(found.whole[i]) for i in range(len(found.units))}
    assert (whole["power button"], whole["pressed the power"], whole["power"]) == (1.0, 0.5, 0.5)


def test_the_letters_of_an_order_number_are_no_word() -> None:
    found = count_phrases(["order LH-12345 is late"], np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))
    assert "lh" not in found.words


def test_a_clause_begins_and_ends_at_punctuation_but_not_at_a_number() -> None:
    """ "at" is followed by a number and "on" by nothing. "box" follows a number, "lamp" a full stop."""
    found = count_phrases(
        ["come at 4, 12 box. lamp on", "see a@b.org lid"], np.zeros(2, dtype=np.int64), np.zeros(1, dtype=np.int64)
    )
    place = {found.text(i): i for i in range(len(found.units))}
    assert [found.opening[place[word]] for word in ("come", "box", "lamp", "lamp on", "on", "lid")] == [
        1,
        0,
        1,
        1,
        0,
        0,
    ]
    assert [found.closing[place[word]] for word in ("at", "come at", "box", "lamp on", "lamp", "see")] == [
        0,
        0,
        1,
        1,
        0,
        0,
    ]


@pytest.mark.parametrize(
    ("pair", "join"),
    [(("wake", "up"), " "), (("fährt", "ab"), " "), (("密", "码"), "")],
    ids=["English", "German", "Chinese"],
)
def test_an_end_is_open_between_two_words_that_are_tied(pair: tuple[str, str], join: str) -> None:
    """The two words always follow each other, and most texts do not have them."""
    texts = [join.join(pair)] * 4 + [f"{a}. {b}. {a}" for a in "bcdfghj" for b in "klmnpqrst"]
    found = count_phrases(texts, np.zeros(len(texts), dtype=np.int64), np.zeros(1, dtype=np.int64))
    place = {found.text(i): i for i in range(len(found.units))}
    assert [found.open_ends[place[word]] for word in (*pair, join.join(pair))] == [0.5, 0.5, 0.0]


def test_two_words_that_are_seldom_together_are_not_tied() -> None:
    texts = ["wake me", "wake him", "wake us", "ask me", "ask him", "ask us"] * 20
    found = count_phrases(texts, np.zeros(120, dtype=np.int64), np.zeros(1, dtype=np.int64))
    assert not found.open_ends.any()
