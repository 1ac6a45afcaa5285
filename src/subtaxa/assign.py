"""Assign new texts to the categories of a run, with every row and column of the user's file kept."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from subtaxa.clustering.outliers import is_outlier
from subtaxa.data.columns import text_and_known_label, unused_names
from subtaxa.data.kept_columns import chosen_columns
from subtaxa.data.readers import open_file
from subtaxa.data.tables import ASSIGNMENT_COLUMNS, WRITABLE, Table, check_writable, write_tables
from subtaxa.data.values import label_string
from subtaxa.errors import InputError
from subtaxa.runtime.atomic_files import whole_file
from subtaxa.runtime.folder_lock import check_encodable
from subtaxa.runtime.progress import Progress, Step
from subtaxa.runtime.terminal import PrintableBytes
from subtaxa.settings import check_backend

__all__ = ["Assigner", "assign_file"]

# The number of rows that are held in memory and encoded together; texts of similar length are batched within them.
CHUNK_ROWS = 10_000


class Assigner:
    """A loaded run that assigns texts to its categories.

    Parameters
    ----------
    run : str or path
        The folder that `subtaxa discover` or `Discovery.save` wrote.
    backend : {"torch", "onnx-int8"}, default="torch"
        What encodes the texts.

    Examples
    --------
    >>> import tempfile
    >>> from subtaxa import Discovery
    >>> from subtaxa.assign import Assigner
    >>> texts = ["refund my money", "money back please", "parcel is late", "parcel got lost"]
    >>> labels = ["billing", "billing", "shipping", "shipping"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = Discovery(2, epochs=0).fit(texts, labels).save(f"{folder}/run")
    ...     found = Assigner(run).assign(["where is my parcel?"])
    >>> found["category_label"]
    ['shipping']
    >>> list(found)
    ['category_id', 'category', 'category_label', 'confidence', 'outlier']
    """

    def __init__(self, run: str | os.PathLike[str], backend: str = "torch") -> None:
        from subtaxa.discovery import Discovery

        self.model = Discovery.load(Path(run), backend=backend)
        self._outlier_threshold = self.model.outlier_threshold_
        self.model.state_.reader.inference_encoder  # noqa: B018 - Loading it now makes a damaged run fail early.

    def assign(
        self, texts: Sequence[str], labels: Sequence[str] | None = None, progress: Progress | None = None
    ) -> dict[str, Any]:
        """The category of each text, as the columns of `subtaxa.data.tables.ASSIGNMENT_COLUMNS`.

        Parameters
        ----------
        texts : sequence of str
        labels : sequence of str, optional
            The known coarse label of each text, which limits the choice to its categories.
        progress : Progress, optional

        Returns
        -------
        dict
            Five columns with one value per text: category_id, category (its name), category_label (its coarse label),
            confidence (from 0 to 1) and outlier ("yes" or "no").
        """
        model = self.model
        index, confidence, _, features = model.assign(texts, labels, progress)
        outliers = is_outlier(features, index, model.clusters_, self._outlier_threshold)
        categories = [model.taxonomy_[int(i)] for i in index]
        columns = (
            model.classes_[index],
            [category.name for category in categories],
            [category.parent for category in categories],
            confidence.round(4),
            np.where(outliers, "yes", "no"),
        )
        return dict(zip(ASSIGNMENT_COLUMNS, columns, strict=True))

    def assign_table(
        self,
        table: Table,
        text: str,
        label: str | None,
        progress: Progress | None = None,
        keep: Sequence[str] | None = None,
    ) -> Table:
        """A table with the assignment columns at its end, under names that none of its columns has.

        Parameters
        ----------
        table : Table
        text : str
            The column of the texts.
        label : str or None
            The column of known coarse labels.
        progress : Progress, optional
        keep : sequence of str, optional
            The columns to keep besides these two. By default all.

        Returns
        -------
        Table
        """
        labels = None if label is None else list(map(label_string, table[label]))
        found = self.assign(table[text], labels, progress)
        if keep is not None:
            chosen = {*chosen_columns(table.names, keep, (), "the file"), table.names.index(text)}
            chosen |= set() if label is None else {table.names.index(label)}
            table = table.only(sorted(chosen))
        names = unused_names(found, table.names)
        return table.with_columns({names[name]: values for name, values in found.items()})


def assign_file(
    run: str | os.PathLike[str],
    file: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    text: str | None = None,
    label: str | None = None,
    keep: Sequence[str] | None = None,
    overwrite: bool = False,
    backend: str = "torch",
    progress: Progress | None = None,
) -> int:
    """Write the rows of a file with the category of each text.

    The output appears whole or not at all. A part of the rows is held in memory at a time, so a file may have any size.

    Parameters
    ----------
    run : str or path
        The folder that `subtaxa discover` or `Discovery.save` wrote.
    file : str or path
        CSV, TSV, JSON Lines (each also with .gz) or Parquet.
    out : str or path
        A name that ends in .csv, .tsv, .jsonl or .parquet; "-" prints CSV to standard output.
    text : str, optional
        The column of the texts. If it is not given, it is found by usual names.
    label : str, optional
        A column of known coarse labels, which limit the choice of categories.
    keep : sequence of str, optional
        The columns to keep besides text and label. By default all.
    overwrite : bool, default=False
        Replace the output if it exists.
    backend : {"torch", "onnx-int8"}, default="torch"
        What encodes the texts.
    progress : Progress, optional

    Returns
    -------
    int
        The number of rows.

    Examples
    --------
    >>> import csv, tempfile
    >>> from pathlib import Path
    >>> from subtaxa import Discovery
    >>> from subtaxa.assign import assign_file
    >>> texts = ["refund my money", "money back please", "parcel is late", "parcel got lost"]
    >>> labels = ["billing", "billing", "shipping", "shipping"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = Discovery(2, epochs=0).fit(texts, labels).save(f"{folder}/run")
    ...     new, out = Path(folder, "new.csv"), Path(folder, "assigned.csv")
    ...     _ = new.write_text("id,text\\n7,where is my parcel?\\n")
    ...     count = assign_file(run, new, out)
    ...     rows = list(csv.DictReader(out.open()))
    >>> count, rows[0]["id"], rows[0]["category_label"]
    (1, '7', 'shipping')
    """
    check_backend(backend)
    progress = progress or Progress()
    target = _check_output(str(out), overwrite)
    ending = ".csv" if target is None else target.suffix.lower()
    reader = open_file(file)
    text, label = text_and_known_label(reader.columns, text, label, reader.name)
    chosen_columns(reader.columns, keep, (), reader.name)  # A wrong name is refused before the model is loaded.
    tables = reader.tables(text, CHUNK_ROWS)
    first = next(tables)  # A bad file is refused before the model is loaded.
    check_writable(first, ending)
    with progress.step("Loading the run"):
        assigner = Assigner(run, backend)
    with progress.step("Assigning the texts", reader.count()) as step:
        assigned = (assigner.assign_table(t, text, label, _PartOf(step), keep) for t in chain([first], tables))
        if target is None:
            terminal = sys.stdout.buffer
            return write_tables(assigned, PrintableBytes(terminal) if sys.stdout.isatty() else terminal, ending)
        with whole_file(target) as sink:
            return write_tables(assigned, sink, ending)


class _PartOf(Progress):
    """Reports the steps of some rows as part of one step of the whole file."""

    def __init__(self, whole: Step) -> None:
        super().__init__()
        self.whole = whole

    def _open(self, name: str, total: int) -> Step:
        return self.whole


def _check_output(out: str, overwrite: bool) -> Path | None:
    """The path to write to, or None for standard output."""
    if out == "-":
        if sys.stdout is None:
            raise InputError("standard output is closed: name a file with --out")
        return None
    check_encodable(out)
    target = Path(out)
    if target.suffix.lower() not in WRITABLE:
        raise InputError(f"cannot write {out!r}: the name must end in {', '.join(WRITABLE)}")
    if target.is_dir():
        raise InputError(f"{out!r} is a folder: name a file")
    if target.exists() and not overwrite:
        raise InputError(f"{out!r} exists: name a new file or add --overwrite")
    if not target.parent.is_dir():
        raise InputError(f"there is no folder {str(target.parent)!r}: create it first")
    return target
