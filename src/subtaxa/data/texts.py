"""A user's file as texts with coarse labels: which columns, which rows, and every input error in one sentence."""

from __future__ import annotations

import difflib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from itertools import compress
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subtaxa.data.raw_files import clean
from subtaxa.data.readers import Pair, ParquetTable, Table, open_file
from subtaxa.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

TEXT_NAMES: tuple[str, ...] = ("text", "message", "utterance", "sentence", "query", "body", "content", "description")
TEXT_NAMES += ("comment", "title", "abstract", "review", "question")
LABEL_NAMES: tuple[str, ...] = ("label", "category", "class", "department", "domain", "topic", "tag", "field", "group")
LABEL_NAMES += ("coarse", "intent", "queue")
SHOWN = 5  # row numbers shown for each reason


@dataclass(frozen=True)
class Skipped:
    """A row that was left out, and why."""

    row: int
    reason: str


@dataclass(frozen=True)
class CoarseTexts:
    """Texts with their coarse labels in file order; deliberately without a place for fine labels or other columns."""

    texts: tuple[str, ...]
    labels: tuple[str, ...]
    rows: tuple[int, ...]
    skipped: tuple[Skipped, ...]
    text_column: str = "text"
    label_column: str = "label"
    source: str = ""

    @classmethod
    def from_lists(cls, texts: Iterable[Any], labels: Iterable[Any], strict: bool = False) -> CoarseTexts:
        """The same checks as for a file, for texts and labels given as two lists, Series or arrays."""
        lists = []
        for values, name in ((texts, "texts"), (labels, "labels")):
            if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
                kind = type(values).__name__
                raise InputError(f"{name} is a single {kind}, {_short(values)}; give a list of strings")
            lists.append(list(values))
        if len(lists[0]) != len(lists[1]):
            raise InputError(f"there are {len(lists[0])} texts but {len(lists[1])} labels; give each text one label")
        return _collected(_sorted_out(zip(*lists, strict=True)), strict)

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def n_duplicates(self) -> int:
        """How many texts repeat an earlier text with the same label."""
        return len(self) - len(set(zip(self.texts, self.labels, strict=True)))

    @property
    def counts(self) -> dict[str, int]:
        """The number of texts of each label, in the order of the labels."""
        return dict(sorted(Counter(self.labels).items()))

    def describe(self) -> list[str]:
        """What was read and what was left out, a line each."""
        line = f"{_count(len(self), 'text')} in {_count(len(self.counts), 'label')}"
        if self.n_duplicates:
            line += f"; {_count(self.n_duplicates, 'exact duplicate')} kept"
        skipped = f"skipped {_count(len(self.skipped), 'row')}: {_reasons(self.skipped)}"
        return [line, skipped] if self.skipped else [line]


def read_texts(
    source: object, text: str | None = None, label: str | None = None, *, strict: bool = False
) -> CoarseTexts:
    """Texts and coarse labels from a path, DataFrame, dict of lists or list of pairs; `strict` refuses to skip rows."""
    table = _open(source)
    text, label = _resolve(table, text, label)
    name = table.name if isinstance(source, (str, os.PathLike)) else ""
    whole = table.whole(text, label)
    kept = _sorted_out(table.pick(text, label)) if whole is None else _without_gaps(*whole)
    return _collected(kept, strict, text, label, name)


class _Memory(Table):
    """Columns that are already in memory, from a DataFrame or a dict of lists."""

    def __init__(self, columns: Any) -> None:
        self.values = [(str(name), values) for name, values in columns.items()]
        super().__init__("the data", [name for name, _ in self.values])
        for name, values in self.values:
            if isinstance(values, str) or not isinstance(values, Sized):
                raise InputError(f"column {name!r} is {_short(values)}; give a list of values")
            if len(values) != len(self.values[0][1]):
                sizes = f"{len(values)} values but column {self.columns[0]!r} {len(self.values[0][1])}"
                raise InputError(f"column {name!r} has {sizes}; give each text its label")

    def pick(self, text: str, label: str) -> Iterator[Pair | str]:
        columns = dict(self.values)
        yield from zip(columns[text], columns[label], strict=True)


def _open(source: object) -> Table:
    if isinstance(source, (str, os.PathLike)):
        return open_file(source)
    if isinstance(source, Mapping) or (hasattr(source, "iloc") and hasattr(source, "columns")):
        return _Memory(source)
    if not isinstance(source, (list, tuple)):
        kind = type(source).__name__
        raise InputError(f"cannot read a {kind}; give a path, a DataFrame, a dict of lists or a list of pairs")
    for n, pair in enumerate(source, 1):
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise InputError(f"item {n} of the list is {_short(pair)}; give (text, label) pairs")
    return _Memory({"text": [text for text, _ in source], "label": [label for _, label in source]})


def iter_tables(
    path: str | os.PathLike[str],
    text: str | None = None,
    *,
    chunk_rows: int = 50_000,
    row_groups: Sequence[int] | None = None,
) -> Iterator[pd.DataFrame]:
    """All rows and columns of a file in chunks, for filing new texts: no row is skipped, the text is always a string.

    Values are strings ("" if missing), apart from Parquet, whose other columns keep their types. Of a Parquet file,
    `row_groups` are those to read.
    """
    table = open_file(path) if row_groups is None else ParquetTable(Path(path), row_groups)
    return _chunks(table, resolve_text_column(table.columns, text, table.name), chunk_rows)


def resolve_text_column(columns: Iterable[str], text: str | None = None, name: str = "the file") -> str:
    """The name of the text column: as given, else by its usual names, else the one that is not the label."""
    columns = list(columns)
    found = _named(columns, text, "text", name) or _usual(columns, TEXT_NAMES)
    others = [column for column in columns if column != _usual(columns, LABEL_NAMES)]
    if found is None and len(others or columns) == 1:
        found = (others or columns)[0]
    if found is None:
        raise InputError(f"cannot tell which column of {name} is the text in {_listed(columns)}; type --text COLUMN")
    return _unique(columns, found, name)


def _resolve(table: Table, text: str | None, label: str | None) -> tuple[str, str]:
    """The text and label columns: as given, else by usual names, else (of two) the more varied one is the text."""
    columns, name = table.columns, table.name
    text, label = _named(columns, text, "text", name), _named(columns, label, "label", name)
    if text is not None and text == label:
        raise InputError(f"column {text!r} of {name} is given as both text and label; name two different columns")
    text, label = (
        text or _usual([column for column in columns if column != label], TEXT_NAMES),
        label or _usual([column for column in columns if column != text], LABEL_NAMES),
    )
    if len(columns) == 2:
        first, second = columns
        if text is None and label is None and not any(_is_usual(c, TEXT_NAMES + LABEL_NAMES) for c in columns):
            pairs = [pair for pair in table.pick(first, second) if not isinstance(pair, str)]
            more = len({str(pair[0]) for pair in pairs}) - len({str(pair[1]) for pair in pairs})
            if more or not pairs:  # without rows the choice does not matter: that there are none is the error to come
                text, label = (first, second) if more >= 0 else (second, first)
        text = text or (None if label is None else second if label == first else first)
        label = label or (None if text is None else second if text == first else first)
    if text is None or label is None:
        unknown = "text and label" if text is label else "text" if text is None else "label"
        fix = "type --text COLUMN --label COLUMN" if len(columns) > 1 else "add a column with the coarse labels"
        raise InputError(f"cannot tell the {unknown} column of {name} in {_listed(columns)}; {fix}")
    return _unique(columns, text, name), _unique(columns, label, name)


def _named(columns: Sequence[str], wanted: str | None, option: str, name: str) -> str | None:
    """The column the user named, matched exactly or but for the spaces around it."""
    if wanted is None or wanted in columns:
        return wanted
    for column in columns:
        if column.strip() == str(wanted).strip():
            return column
    folded = {column.casefold(): column for column in columns}
    close = difflib.get_close_matches(str(wanted).casefold(), folded, 1)
    fix = f"did you mean {folded[close[0]]!r}?" if close else f"name one of them with --{option}"
    raise InputError(f"there is no column {_short(wanted)} in {name}, only {_listed(columns)}; {fix}")


def _is_usual(column: str, names: tuple[str, ...]) -> bool:
    return column.strip().casefold() in names


def _usual(columns: Sequence[str], names: tuple[str, ...]) -> str | None:
    found = dict.fromkeys(column for column in columns if _is_usual(column, names))
    return next(iter(found)) if len(found) == 1 else None


def _unique(columns: Sequence[str], column: str, name: str) -> str:
    if columns.count(column) > 1:
        raise InputError(f"column {column!r} occurs {columns.count(column)} times in {name}; rename all but one")
    return column


Kept = tuple[list[str], list[str], list[int], list[Skipped]]  # texts, labels, their rows, and what was left out


def _sorted_out(pairs: Iterable[Pair | str]) -> Kept:
    """Keep the rows that have a text and a label, and note why the others do not."""
    texts, labels, rows, skipped = [], [], [], []
    for row, pair in enumerate(pairs, 1):
        text, label = (None, None) if isinstance(pair, str) else pair
        if reason := pair if isinstance(pair, str) else _problem(text, label):
            skipped.append(Skipped(row, reason))
        else:
            texts.append(clean(str(text)))
            labels.append(label)
            rows.append(row)
    return texts, _strings(labels), rows, skipped


def _without_gaps(texts: list[str], labels: list[str]) -> Kept:
    """The same for two columns of clean strings, without a step of Python for each row that is all right."""
    bare = {label: label.strip() for label in set(labels)}
    labels = list(map(bare.__getitem__, labels))
    rows = list(range(1, len(texts) + 1))
    if all(bare.values()) and all(map(str.strip, texts)):
        return texts, labels, rows, []
    good = [bool(label and text.strip()) for text, label in zip(texts, labels, strict=True)]
    skipped = [Skipped(row, str(_problem(texts[row - 1], labels[row - 1]))) for row in rows if not good[row - 1]]
    return list(compress(texts, good)), list(compress(labels, good)), list(compress(rows, good)), skipped


def _collected(
    kept: Kept, strict: bool, text_column: str = "text", label_column: str = "label", source: str = ""
) -> CoarseTexts:
    """What was kept, if it is enough."""
    texts, labels, rows, skipped = kept
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
        if _is_nested(value):
            return f"{name} is not a string"
        if _is_missing(value) or not str(value).replace("\0", " ").strip():
            return missing
    return None


def _is_nested(value: object) -> bool:
    return not isinstance(value, str) and isinstance(value, Sized)


def _is_missing(value: object) -> bool:
    """None, NaN, and pandas' own two, which cannot be compared and are not worth importing pandas for."""
    if isinstance(value, Real):
        return bool(value != value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _strings(labels: list[Any]) -> list[str]:
    """Labels as strings; whole numbers lose the .0 that a missing value elsewhere in the column gave them."""
    if all(isinstance(label, Real) and not isinstance(label, bool) and label % 1 == 0 for label in labels):
        return [str(int(label)) for label in labels]
    return [clean(str(label)).strip() for label in labels]


def _chunks(table: Table, text: str, size: int) -> Iterator[pd.DataFrame]:
    done = 0
    for frame in table.chunks(text, size):
        values = list(frame[text])
        for row, value in enumerate(values, done + 1):
            if _is_nested(value):
                problem = f"has a text that is not a string, {_short(value)}"
                raise InputError(f"row {row} of {table.name} {problem}; correct it")
        frame[text] = ["" if _is_missing(value) else clean(str(value)) for value in values]
        done += len(values)
        yield frame
    if not done:
        raise InputError(f"{table.name} has no rows below its column names; add at least one text")


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'s' * (n != 1)}"


def _short(value: object) -> str:
    return repr(value if len(str(value)) <= 40 else str(value)[:37] + "...")


def _listed(columns: Sequence[str]) -> str:
    more = f" and {len(columns) - 20} more" if len(columns) > 20 else ""
    return ", ".join(map(_short, columns[:20])) + more


def _reasons(skipped: Iterable[Skipped]) -> str:
    """The kinds of reason in order of appearance, each with its first rows: "empty text (rows 4, 17)"."""
    kinds: dict[str, list[int]] = {}
    for skip in skipped:
        kinds.setdefault(skip.reason.partition(" (")[0], []).append(skip.row)
    parts = []
    for kind, rows in kinds.items():
        more = f" and {len(rows) - SHOWN:,} more" if len(rows) > SHOWN else ""
        parts.append(f"{kind} (row{'s' * (len(rows) != 1)} {', '.join(map(str, rows[:SHOWN]))}{more})")
    return ", ".join(parts)
