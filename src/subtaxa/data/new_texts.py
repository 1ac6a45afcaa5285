"""Read a file of new texts for a run."""

from __future__ import annotations

from itertools import compress
from pathlib import Path

from subtaxa.data.columns import text_and_known_label
from subtaxa.data.kept_columns import KeptColumns, read_columns
from subtaxa.data.readers import open_file
from subtaxa.data.values import label_string
from subtaxa.errors import InputError


def read_new_texts(
    file: Path, text: str | None = None, label: str | None = None, keep: list[str] | None = None
) -> tuple[list[str], list[str] | None, KeptColumns]:
    """The texts of the file that are not blank, their labels if it has a column for them, and the other columns.

    `keep` names the columns that are kept, by default all.
    """
    texts: list[str] = []
    labels: list[str] = []
    rows: list[int] = []
    done = 0
    reader = open_file(file)
    text, label = text_and_known_label(reader.columns, text, label, reader.name)
    for table in reader.tables(text):
        filled = [bool(value.strip()) for value in table[text]]
        texts += compress(table[text], filled)
        rows += compress(range(done + 1, done + len(table) + 1), filled)
        done += len(table)
        if label is not None:
            labels += map(label_string, compress(table[label], filled))
    if not texts:
        raise InputError(f"{str(file)!r} contains no texts: there is nothing to add")
    columns = read_columns(reader, rows, keep, [text, *([] if label is None else [label])])
    return texts, None if label is None else labels, columns
