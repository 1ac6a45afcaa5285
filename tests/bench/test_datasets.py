"""The benchmark data in the authors' layout, and any other file as a benchmark."""

from __future__ import annotations

import csv
import json
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from subtaxa.bench.datasets import Dataset, Part, from_file, load
from subtaxa.errors import InputError

DOMAINS = {"travel": ["book", "cancel", "visa"], "bank": ["balance", "card"]}
Rows = Sequence[Sequence[str]]


def write_tsv(path: Path, rows: Iterable[Sequence[str]], header: str = "text\tlabel") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([header, *map("\t".join, rows)]) + "\n", encoding="utf-8")


def write_csv(path: Path, rows: Rows) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


def clinc(folder: Path, per_intent: int = 3, seed: int = 0) -> list[tuple[str, str]]:
    """A small data set in CLINC's layout. Returns the training rows in the order of the file."""
    rows = [(f"{i} {intent}", intent) for intents in DOMAINS.values() for intent in intents for i in range(per_intent)]
    random.Random(seed).shuffle(rows)
    write_tsv(folder / "clinc" / "train.tsv", rows)
    write_tsv(folder / "clinc" / "test.tsv", [("where is my card", "card"), ("book a room", "book")])
    (folder / "clinc" / "domains.json").write_text(json.dumps(DOMAINS))
    return rows


def rows_of(part: Part) -> list[tuple[str, str, str]]:
    return list(zip(part.texts, part.coarse, part.fine, strict=True))


def one_sentence(error: InputError, path: Path) -> str:
    assert str(path) in str(error)
    assert "\n" not in str(error)
    return str(error)


def test_clinc_takes_the_domains_as_coarse_labels(tmp_path: Path) -> None:
    rows = clinc(tmp_path)
    data = load("clinc", tmp_path)
    owner = {intent: domain for domain, intents in DOMAINS.items() for intent in intents}
    assert Counter(rows_of(data.train)) == Counter((text, owner[fine], fine) for text, fine in rows)
    assert sorted(rows_of(data.test)) == [("book a room", "travel", "book"), ("where is my card", "bank", "card")]
    assert (data.n_coarse, data.n_fine) == (2, 5)


def test_categories_of_the_test_texts_count_too(tmp_path: Path) -> None:
    write_tsv(tmp_path / "hwu64" / "train.tsv", [("wake me", "alarm_set")])
    write_tsv(tmp_path / "hwu64" / "test.tsv", [("stop it", "alarm_remove"), ("wake me", "alarm_set")])
    assert load("hwu64", tmp_path).n_fine == 2


def test_hwu64_skips_and_reports_ragged_rows(tmp_path: Path) -> None:
    good = [("wake me up", "alarm_set"), ("what time is it in rome", "datetime_convert_zone"), ("dim it", "iot")]
    ragged = [("stray\ttab", "alarm_set"), ("no label at all",), ("  ", "alarm_set"), ("a", "b", "c", "d")]
    write_tsv(tmp_path / "hwu64" / "train.tsv", [good[0], ragged[0], good[1], *ragged[1:], good[2]])
    write_tsv(tmp_path / "hwu64" / "test.tsv", [*good, ragged[0]])
    data = load("hwu64", tmp_path)
    assert sorted(rows_of(data.train)) == [
        ("dim it", "iot", "iot"),
        ("wake me up", "alarm", "alarm_set"),
        ("what time is it in rome", "datetime", "datetime_convert_zone"),
    ]
    assert (data.train.skipped, data.test.skipped) == (4, 1)
    assert data.notes[:2] == (
        "hwu64 training: skipped 4 rows: ragged row (rows 2, 4, 6), empty text (row 5)",
        "hwu64 test: skipped 1 row: ragged row (row 4)",
    )


def test_a_quoted_text_may_contain_a_tab(tmp_path: Path) -> None:
    quoted = ('"that is enough\t just stop it"', "general_commandstop"), ('"say ""hi"""', "general_greet")
    write_tsv(tmp_path / "hwu64" / "train.tsv", quoted)
    write_tsv(tmp_path / "hwu64" / "test.tsv", quoted[:1])
    data = load("hwu64", tmp_path)
    assert set(data.train.texts) == {"that is enough\t just stop it", 'say "hi"'}
    assert (data.train.skipped, data.test.skipped) == (0, 0)


def test_counts_that_differ_from_the_published_ones_are_reported(tmp_path: Path) -> None:
    write_tsv(tmp_path / "wos" / "train.tsv", [(f"abstract {i}", f"{i % 7}.{i % 34}") for i in range(7 * 34)])
    write_tsv(tmp_path / "wos" / "test.tsv", [("another", "0.0")])
    data = load("wos", tmp_path)
    assert data.n_coarse == 7
    assert set(data.train.coarse) == set("0123456")
    # The seven coarse labels are as published, so there is no note on them.
    assert data.notes == (
        "wos: 238 fine labels, published 34",
        "wos: 238 training texts, published 8,362",
        "wos: 1 test texts, published 2,420",
    )


@pytest.mark.parametrize(
    ("name", "missing"), [("hwu64", "hwu64/train.tsv"), ("wos", "wos/train.tsv"), ("wos-part", "wos/train_part.tsv")]
)
def test_a_missing_file_is_named(tmp_path: Path, name: str, missing: str) -> None:
    with pytest.raises(InputError, match="give the folder of the authors' files with --data") as caught:
        load(name, tmp_path)
    one_sentence(caught.value, tmp_path / missing)


def test_a_missing_test_file_is_named(tmp_path: Path) -> None:
    write_tsv(tmp_path / "hwu64" / "train.tsv", [("wake me", "alarm_set")])
    with pytest.raises(InputError) as caught:
        load("hwu64", tmp_path)
    one_sentence(caught.value, tmp_path / "hwu64" / "test.tsv")


@pytest.mark.parametrize("content", [None, "not json", "[1, 2]", '{"bank": 5}', '"bank"'])
def test_missing_or_damaged_domains_are_named(tmp_path: Path, content: str | None) -> None:
    clinc(tmp_path)
    path = tmp_path / "clinc" / "domains.json"
    path.unlink() if content is None else path.write_text(content)
    for name in ("clinc", "clinc-lt"):
        with pytest.raises(InputError, match="cannot read") as caught:
            load(name, tmp_path)
        one_sentence(caught.value, path)


def test_an_intent_without_a_domain_is_named(tmp_path: Path) -> None:
    clinc(tmp_path)
    write_tsv(tmp_path / "clinc" / "test.tsv", [("what is the meaning of life", "oos")])
    with pytest.raises(InputError, match="the intent 'oos' is in no domain") as caught:
        load("clinc", tmp_path)
    one_sentence(caught.value, tmp_path / "clinc" / "domains.json")


@pytest.mark.parametrize("header", ["text", "id\ttext\tlabel", "text,label"])
def test_a_wrong_header_is_an_error(tmp_path: Path, header: str) -> None:
    write_tsv(tmp_path / "hwu64" / "train.tsv", [("wake me", "alarm_set")], header)
    with pytest.raises(InputError, match="a header with two columns") as caught:
        load("hwu64", tmp_path)
    one_sentence(caught.value, tmp_path / "hwu64" / "train.tsv")


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00\xff" * 40, b"\x93text\tlabel\nx\ty\n"])
def test_a_file_that_is_not_text_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "hwu64" / "train.tsv"
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        load("hwu64", tmp_path)
    one_sentence(caught.value, path)


def test_a_byte_order_mark_is_not_part_of_the_header(tmp_path: Path) -> None:
    for name in ("train", "test"):
        write_tsv(tmp_path / "hwu64" / f"{name}.tsv", [("wake me", "alarm_set")], "\ufefftext\tlabel")
    assert rows_of(load("hwu64", tmp_path).train) == [("wake me", "alarm", "alarm_set")]


def slow_long_tail(rows: list[tuple[str, str]], domains: dict[str, list[str]]) -> list[tuple[str, str]]:
    kept = []
    for i, (text, intent) in enumerate(rows):
        (rank,) = (intents.index(intent) + 1 for intents in domains.values() if intent in intents)
        before = sum(other == intent for _, other in rows[:i])
        if before < max(3, round(120 / rank**1.2)):
            kept.append((text, intent))
    return kept


@pytest.mark.parametrize("seed", [0, 1])
def test_clinc_lt_keeps_the_first_texts_of_each_intent_in_file_order(tmp_path: Path, seed: int) -> None:
    rows = clinc(tmp_path, per_intent=130, seed=seed)
    data = load("clinc-lt", tmp_path)
    slow = slow_long_tail(rows, DOMAINS)
    assert sorted(zip(data.train.texts, data.train.fine, strict=True)) == sorted(slow)
    sizes = Counter(data.train.fine)
    assert sizes == {"book": 120, "cancel": 52, "visa": 32, "balance": 120, "card": 52}
    assert len(data.test) == 2


def test_only_clinc_lt_depends_on_the_order_of_the_file(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    clinc(first, per_intent=130, seed=0)
    clinc(second, per_intent=130, seed=1)
    assert load("clinc", first) == load("clinc", second)
    assert load("clinc", first).fingerprint == load("clinc", second).fingerprint
    assert load("clinc-lt", first).train != load("clinc-lt", second).train
    assert load("clinc-lt", first).train.coarse == load("clinc-lt", second).train.coarse


def test_limited_always_takes_the_same_sample_of_the_training_texts(tmp_path: Path) -> None:
    clinc(tmp_path, per_intent=20)
    data = load("clinc", tmp_path)
    some = data.limited(30)
    assert len(some.train) == 30
    assert not Counter(rows_of(some.train)) - Counter(rows_of(data.train))
    assert some.test == data.test
    assert some == data.limited(30)
    assert some.fingerprint != data.fingerprint
    assert (some.name, some.notes, some.settings) == (data.name, data.notes, data.settings)
    assert len(set(some.train.coarse)) == 2  # It is a sample, not the first of the sorted rows.
    assert data.limited(None) is data.limited(100) is data.limited(10**6) is data


def test_different_data_have_different_fingerprints() -> None:
    part = Part.of(["a", "b"], ["x", "x"], ["1", "2"])
    data = Dataset("d", part, part)
    assert data.fingerprint == Dataset("other name", part, part).fingerprint
    for other in (Part.of(["a", "c"], ["x", "x"], ["1", "2"]), Part.of(["a", "b"], ["x", "x"], ["2", "1"])):
        assert Dataset("d", other, part).fingerprint != data.fingerprint != Dataset("d", part, other).fingerprint


SIZES = {("money", "refund"): 20, ("money", "charge"): 10, ("post", "parcel"): 5, ("post", "letter"): 2}
OWN = [(f"{fine} {i}", coarse, fine) for (coarse, fine), n in SIZES.items() for i in range(n)]


def own_file(folder: Path, rows: Rows = OWN, header: Sequence[str] = ("message", "department", "fine")) -> Path:
    folder.mkdir(exist_ok=True)
    return write_csv(folder / "tickets.csv", [header, *rows])


def test_the_test_set_of_a_file_is_a_share_of_each_category(tmp_path: Path) -> None:
    data = from_file(own_file(tmp_path), None, "department", "fine")
    assert data.name == "tickets.csv"
    assert Counter(rows_of(data.train)) + Counter(rows_of(data.test)) == Counter(OWN)
    assert Counter(data.test.fine) == {"refund": 4, "charge": 2, "parcel": 1, "letter": 1}
    assert data.notes == ()
    assert data.settings == {"neighbours": "auto"}


def test_the_order_of_the_rows_of_a_file_does_not_matter(tmp_path: Path) -> None:
    shuffled = random.Random(1).sample(OWN, len(OWN))
    first = from_file(own_file(tmp_path / "a"), None, "department", "fine")
    second = from_file(own_file(tmp_path / "b", shuffled), None, "department", "fine")
    assert first == second


def test_a_category_with_one_text_is_used_for_training(tmp_path: Path) -> None:
    data = from_file(own_file(tmp_path, [*OWN, ("alone", "post", "once")]), None, "department", "fine")
    assert "once" in data.train.fine
    assert "once" not in data.test.fine


def test_rows_without_a_label_are_skipped_and_reported(tmp_path: Path) -> None:
    gaps = [("no fine", "money", ""), ("no coarse", "", "refund"), ("  ", "money", "refund"), ("nothing", "", "")]
    data = from_file(own_file(tmp_path, [*gaps, *OWN]), None, "department", "fine")
    assert Counter(rows_of(data.train)) + Counter(rows_of(data.test)) == Counter(OWN)
    assert data.train.skipped + data.test.skipped == len(gaps)
    assert data.notes == (
        "tickets.csv department: skipped 3 rows: missing label (rows 2, 4), empty text (row 3)",
        "tickets.csv fine: skipped 3 rows: missing label (rows 1, 4), empty text (row 3)",
    )


def test_the_text_column_is_guessed_or_given(tmp_path: Path) -> None:
    rows = [(f"note {i}", *row) for i, row in enumerate(OWN)]
    path = own_file(tmp_path, rows, ("note", "utterance", "department", "fine"))
    guessed = from_file(path, None, "department", "fine")
    assert set(guessed.train.texts) < {text for text, _, _ in OWN}
    named = from_file(path, "note", "department", "fine")
    assert all(text.startswith("note ") for text in named.train.texts)
    assert sorted(named.train.fine) == sorted(guessed.train.fine)


def test_errors_about_columns_and_small_files_are_one_sentence(tmp_path: Path) -> None:
    path = own_file(tmp_path)
    unclear = own_file(tmp_path / "unclear", OWN, ("a", "b", "c"))
    few = own_file(tmp_path / "few", [("a", "x", "1"), ("b", "x", "2"), ("c", "x", "2")])
    wrong = {
        "no column 'departmen'": (path, None, "departmen", "fine"),
        "no column 'fein'": (path, None, "department", "fein"),
        "no column 'txt'": (path, "txt", "department", "fine"),
        "both text and label": (path, "message", "message", "fine"),
        "cannot tell the text column": (unclear, None, "b", "c"),
        "has 3 usable rows, too few": (few, "message", "department", "fine"),
    }
    for fragment, arguments in wrong.items():
        with pytest.raises(InputError, match=fragment) as caught:
            from_file(*arguments)
        one_sentence(caught.value, arguments[0])


@pytest.mark.parametrize(
    ("name", "train", "skipped", "test", "coarse", "fine"),
    [
        ("clinc", 18_000, (0, 0), 2_250, 10, 150),
        ("clinc-lt", 3_260, (0, 0), 2_250, 10, 150),
        ("hwu64", 8_954, (0, 45), 1_031, 18, 64),
        ("wos-part", 2_252, (0, 0), 2_420, 7, 34),
    ],
)
def test_the_authors_files(
    benchmark_data: Path, name: str, train: int, skipped: tuple[int, int], test: int, coarse: int, fine: int
) -> None:
    data = load(name, benchmark_data)
    assert (len(data.train), len(data.test), data.n_coarse, data.n_fine) == (train, test, coarse, fine)
    assert (data.train.skipped, data.test.skipped) == skipped
    different = [note for note in data.notes if "published" in note]
    assert different == []
    owners = {(f, c) for _, c, f in [*rows_of(data.train), *rows_of(data.test)]}
    assert len(owners) == fine  # Each category has one parent.
    if name == "clinc-lt":
        sizes = Counter(data.train.fine).values()
        assert (min(sizes), max(sizes)) == (5, 120)


def test_parts_are_sorted_and_keep_their_count_of_skipped_rows() -> None:
    part = Part.of(["b", "a"], ["x", "x"], ["1", "2"], 7)
    assert rows_of(part) == [("a", "x", "2"), ("b", "x", "1")]
    assert part == Part.of(["a", "b"], ["x", "x"], ["2", "1"], 7) != replace(part, skipped=0)
    assert len(Part.of([], [], [])) == 0
