"""A user's file as texts with coarse labels: the rows that can be used, and why the others cannot."""

from __future__ import annotations

import os
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass, replace
from itertools import compress
from numbers import Real
from typing import Any, NamedTuple

from subtaxa.data.columns import text_and_label
from subtaxa.data.readers import Pair, Reader, open_file
from subtaxa.data.values import clean, is_missing, is_nested, label_string, shortened
from subtaxa.errors import InputError

SHOWN_ROWS = 5  # The number of row numbers shown for each reason to skip rows.


@dataclass(frozen=True)
class Skipped:
    """A row that cannot be used, and why."""

    row: int
    reason: str


# The label of texts that have none.
ONE_LABEL = "all"


@dataclass(frozen=True)
class CoarseTexts:
    """Texts with their coarse labels, in the order of the file.

    There is deliberately no field for fine labels or other columns.

    Parameters
    ----------
    texts, labels : tuple of str
        The usable texts and their coarse labels.
    rows : tuple of int
        The row of each text in the source; the first row has number 1.
    skipped : tuple of Skipped
        The rows that were left out, with the reasons.
    text_column, label_column : str
        The columns that were read.
    source : str
        The path of the file, or "" for data in memory.

    Examples
    --------
    >>> from subtaxa import CoarseTexts
    >>> data = CoarseTexts.from_lists(["Where is my parcel?", "", "I want a refund"], ["shipping", "shipping", "money"])
    >>> data.counts
    {'money': 1, 'shipping': 1}
    >>> data.describe()
    ['2 texts in 2 labels', 'skipped 1 row: empty text (row 2)']
    """

    texts: tuple[str, ...]
    labels: tuple[str, ...]
    rows: tuple[int, ...]
    skipped: tuple[Skipped, ...]
    text_column: str = "text"
    label_column: str = "label"
    source: str = ""

    @classmethod
    def from_lists(cls, texts: Iterable[Any], labels: Iterable[Any], strict: bool = False) -> CoarseTexts:
        """Check texts and labels that are given as two lists, Series or arrays, as `read_texts` checks a file.

        Parameters
        ----------
        texts, labels : iterable
            As many texts as labels.
        strict : bool, default=False
            Refuse the data if any row cannot be used.

        Returns
        -------
        CoarseTexts
        """
        lists = []
        for values, name in ((texts, "texts"), (labels, "labels")):
            if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
                kind = type(values).__name__
                raise InputError(f"{name} is a single {kind}, {shortened(values)}; give a list of strings")
            lists.append(list(values))
        if len(lists[0]) != len(lists[1]):
            raise InputError(f"there are {len(lists[0])} texts but {len(lists[1])} labels; give each text one label")
        return _coarse_texts(_usable_rows(zip(*lists, strict=True)), strict)

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def n_duplicates(self) -> int:
        """The number of texts that repeat an earlier text with the same label."""
        return len(self) - len(set(zip(self.texts, self.labels, strict=True)))

    @property
    def counts(self) -> dict[str, int]:
        """The number of texts of each label, sorted by label."""
        return dict(sorted(Counter(self.labels).items()))

    def describe(self) -> list[str]:
        """Lines that say what was read and what was skipped."""
        line = f"{_count(len(self), 'text')} in {_count(len(self.counts), 'label')}"
        if self.n_duplicates:
            line += f"; {_count(self.n_duplicates, 'exact duplicate')} kept"
        lines = [line]
        if not self.label_column:
            lines.append(f"no label column: all texts have the label {ONE_LABEL!r} (--label names a column)")
        if alike := self._labels_alike():
            pairs = "; ".join(" and ".join(map(repr, names)) for names in alike[:SHOWN_ROWS])
            more = f" and {len(alike) - SHOWN_ROWS:,} more" if len(alike) > SHOWN_ROWS else ""
            lines.append(f"labels that look alike: {pairs}{more} (--normalise-labels joins them)")
        skipped = f"skipped {_count(len(self.skipped), 'row')}: {_reasons(self.skipped)}"
        return [*lines, skipped] if self.skipped else lines

    def with_normalised_labels(self) -> CoarseTexts:
        """The same texts, with labels joined that differ only in case, spaces or Unicode form.

        Returns
        -------
        CoarseTexts
            Each group of such labels has the spelling that most of its texts have.

        Examples
        --------
        >>> from subtaxa import CoarseTexts
        >>> data = CoarseTexts.from_lists(["a", "b", "c"], ["Billing", "billing", "Billing"])
        >>> data.with_normalised_labels().labels
        ('Billing', 'Billing', 'Billing')
        """
        counts = self.counts
        common = {name: max(names, key=lambda n: counts[n]) for names in self._labels_alike() for name in names}
        return replace(self, labels=tuple(common.get(label, label) for label in self.labels))

    def _labels_alike(self) -> list[list[str]]:
        """Groups of labels that differ only in case, spaces or Unicode form."""
        groups: dict[str, list[str]] = {}
        for label in self.counts:
            groups.setdefault(" ".join(unicodedata.normalize("NFKC", label).casefold().split()), []).append(label)
        return [names for names in groups.values() if len(names) > 1]


def read_texts(
    source: object, text: str | None = None, label: str | None = None, *, strict: bool = False
) -> CoarseTexts:
    """Read texts with their coarse labels.

    Without a label column, all texts have the label "all". Rows without a text or a label are skipped;
    `CoarseTexts.skipped` lists them with the reasons.

    Parameters
    ----------
    source : path, DataFrame, dict of lists, or list of (text, label) pairs
        A file may be CSV, TSV, JSON Lines (each also with .gz) or Parquet. TSV is read with quotes, like CSV.
    text, label : str, optional
        The columns. If they are not given, they are found by usual names such as "text", "message", "label", "topic".
    strict : bool, default=False
        Refuse the data if any row has to be skipped.

    Returns
    -------
    CoarseTexts

    Raises
    ------
    InputError
        If the source cannot be read; the message says why and what to do.

    Examples
    --------
    >>> from subtaxa import read_texts
    >>> data = read_texts([("Where is my parcel?", "shipping"), ("I want a refund", "money")])
    >>> data.texts
    ('Where is my parcel?', 'I want a refund')
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"message": ["Hello", "Bye"], "team": ["sales", "support"], "id": [1, 2]})
    >>> read_texts(frame, label="team").labels
    ('sales', 'support')
    """
    reader = _open(source)

    def distinct_values(first: str, second: str) -> tuple[int, int]:
        pairs = [pair for pair in reader.pairs(first, second) if not isinstance(pair, str)]
        return len({str(a) for a, _ in pairs}), len({str(b) for _, b in pairs})

    text, label = text_and_label(reader.columns, text, label, reader.name, distinct_values)
    name = reader.name if isinstance(source, (str, os.PathLike)) else ""
    labels_from = text if label is None else label
    whole = None if label is None else reader.whole_columns(text, label)
    rows = _usable_rows(reader.pairs(text, labels_from)) if whole is None else _usable_strings(*whole)
    if label is None:
        rows = rows._replace(labels=[ONE_LABEL] * len(rows.texts))
    return _coarse_texts(rows, strict, text, label or "", name)


class _MemoryReader(Reader):
    """Columns that are already in memory, from a DataFrame or a dict of lists."""

    def __init__(self, columns: Any) -> None:
        self.values = [(str(name), values) for name, values in columns.items()]
        super().__init__("the data", [name for name, _ in self.values])
        for name, values in self.values:
            if isinstance(values, str) or not isinstance(values, Sized):
                raise InputError(f"column {name!r} is {shortened(values)}; give a list of values")
            if len(values) != len(self.values[0][1]):
                sizes = f"{len(values)} values but column {self.columns[0]!r} {len(self.values[0][1])}"
                raise InputError(f"column {name!r} has {sizes}; give each text its label")

    def pairs(self, text: str, label: str) -> Iterator[Pair | str]:
        columns = dict(self.values)
        yield from zip(columns[text], columns[label], strict=True)


def _open(source: object) -> Reader:
    if isinstance(source, (str, os.PathLike)):
        return open_file(source)
    if isinstance(source, Mapping) or (hasattr(source, "iloc") and hasattr(source, "columns")):
        return _MemoryReader(source)
    if not isinstance(source, (list, tuple)):
        kind = type(source).__name__
        raise InputError(f"cannot read a {kind}; give a path, a DataFrame, a dict of lists or a list of pairs")
    for n, pair in enumerate(source, 1):
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise InputError(f"item {n} of the list is {shortened(pair)}; give (text, label) pairs")
    return _MemoryReader({"text": [text for text, _ in source], "label": [label for _, label in source]})


class _Rows(NamedTuple):
    """The rows that can be used, and those that cannot."""

    texts: list[str]
    labels: list[str]
    rows: list[int]
    skipped: list[Skipped]


def _usable_rows(pairs: Iterable[Pair | str]) -> _Rows:
    """Keep the rows that have a text and a label, and note why the others cannot be used."""
    texts, labels, rows, skipped = [], [], [], []
    for row, pair in enumerate(pairs, 1):
        text, label = (None, None) if isinstance(pair, str) else pair
        if reason := pair if isinstance(pair, str) else _problem(text, label):
            skipped.append(Skipped(row, reason))
        else:
            texts.append(clean(str(text)))
            labels.append(label)
            rows.append(row)
    return _Rows(texts, _label_strings(labels), rows, skipped)


def _usable_strings(texts: list[str], labels: list[str]) -> _Rows:
    """The same for two columns of clean strings, without a loop over the rows if all of them can be used."""
    bare = {label: label.strip() for label in set(labels)}
    labels = list(map(bare.__getitem__, labels))
    rows = list(range(1, len(texts) + 1))
    if all(bare.values()) and all(map(str.strip, texts)):
        return _Rows(texts, labels, rows, [])
    good = [bool(label and text.strip()) for text, label in zip(texts, labels, strict=True)]
    skipped = [Skipped(row, str(_problem(texts[row - 1], labels[row - 1]))) for row in rows if not good[row - 1]]
    return _Rows(list(compress(texts, good)), list(compress(labels, good)), list(compress(rows, good)), skipped)


def _coarse_texts(
    usable: _Rows, strict: bool, text_column: str = "text", label_column: str = "label", source: str = ""
) -> CoarseTexts:
    """The usable rows, if there are any and, with `strict`, no others."""
    texts, labels, rows, skipped = usable
    name = source or "the data"
    if skipped and strict:
        problem = f"row {skipped[0].row} of {name} cannot be used: {skipped[0].reason}"
        raise InputError(f"{problem} ({_count(len(skipped), 'such row')} in all); correct them or read without strict")
    if skipped and not rows:
        fix = f"begin with row {skipped[0].row}: {skipped[0].reason}"
        raise InputError(f"no row of {name} can be used, for {_reasons(skipped)}; {fix}")
    if not rows:
        raise InputError(f"{name} has no rows below its column names; add at least one text with its label")
    return CoarseTexts(tuple(texts), tuple(labels), tuple(rows), tuple(skipped), text_column, label_column, source)


def _problem(text: object, label: object) -> str | None:
    for value, name, missing in ((text, "text", "empty text"), (label, "label", "missing label")):
        if is_nested(value):
            return f"{name} is not a string"
        if is_missing(value) or not str(value).replace("\0", " ").strip():
            return missing
    return None


def _label_strings(labels: list[Any]) -> list[str]:
    """Labels as strings. Whole numbers lose the ".0" that pandas gives them if a label is missing elsewhere."""
    if all(isinstance(label, Real) and not isinstance(label, bool) and label % 1 == 0 for label in labels):
        return [str(int(label)) for label in labels]
    return [label_string(label) for label in labels]


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'s' * (n != 1)}"


def _reasons(skipped: Iterable[Skipped]) -> str:
    """The reasons in order of appearance, each with its first rows: "empty text (rows 4, 17)"."""
    kinds: dict[str, list[int]] = {}
    for skip in skipped:
        kinds.setdefault(skip.reason.partition(" (")[0], []).append(skip.row)
    parts = []
    for kind, rows in kinds.items():
        more = f" and {len(rows) - SHOWN_ROWS:,} more" if len(rows) > SHOWN_ROWS else ""
        parts.append(f"{kind} (row{'s' * (len(rows) != 1)} {', '.join(map(str, rows[:SHOWN_ROWS]))}{more})")
    return ", ".join(parts)
