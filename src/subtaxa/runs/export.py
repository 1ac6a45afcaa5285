"""The taxonomy of a run folder in the formats of other programs. The model and the features are not read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from subtaxa.data.tables import RUN_ASSIGNMENT_COLUMNS, csv_text, parquet_bytes
from subtaxa.runs import column_files, layout, reading
from subtaxa.runs.digests import verify
from subtaxa.runs.manifest import shows_log
from subtaxa.runtime.json_files import json_text
from subtaxa.taxonomy.categories import Taxonomy
from subtaxa.taxonomy.category_tables import category_columns, markdown
from subtaxa.taxonomy.skos import turtle

# The formats, with the usual ending of their files. Those in the second line are no text.
ENDINGS = {"csv": ".csv", "json": ".json", "markdown": ".md", "skos": ".ttl"}
BINARY = {"parquet": ".parquet", "xlsx": ".xlsx"}
FORMATS = ENDINGS | BINARY


def export_run(folder: Path, form: str, base: str | None = None) -> bytes:
    """The content of a file with the categories of a run. `base` begins the addresses of SKOS concepts."""
    facts = reading.read_run(folder)
    if not shows_log(folder):  # A series of edits was stopped before its end.
        from subtaxa.runs.refresh import refresh

        refresh(folder)
    taxonomy = reading.read_taxonomy(folder)
    writers: dict[str, Callable[[], bytes]] = {
        "csv": lambda: csv_text(category_columns(taxonomy)).encode(),
        "parquet": lambda: parquet_bytes(category_columns(taxonomy)),
        "xlsx": lambda: _workbook(folder, facts, taxonomy),
        "json": lambda: json_text(taxonomy.to_dict()).encode(),
        "markdown": lambda: markdown(taxonomy).encode("utf-8", "replace"),
        "skos": lambda: _skos(facts, taxonomy, base),
    }
    return writers[form]()


def _skos(facts: dict[str, Any], taxonomy: Taxonomy, base: str | None) -> bytes:
    unique = "".join(letter for letter in facts["data"]["fingerprint"][:16] if letter.isalnum() and letter.isascii())
    title = facts["data"]["source"] or "Texts"
    return turtle(taxonomy, title, f"urn:subtaxa:{unique}:" if base is None else base).encode("utf-8", "replace")


def _workbook(folder: Path, facts: dict[str, Any], taxonomy: Taxonomy) -> bytes:
    """A sheet of the categories and one of all texts, with their other columns."""
    from subtaxa.data.xlsx import xlsx_bytes

    texts = reading.read_assignments(folder, RUN_ASSIGNMENT_COLUMNS)
    verify(folder, facts, layout.COLUMNS)
    kept = column_files.read_columns(folder, facts, len(texts["row"]))
    texts |= column_files.shown_columns(kept, typed=True)
    return xlsx_bytes({"categories": category_columns(taxonomy), "texts": texts})
