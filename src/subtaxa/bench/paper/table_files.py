"""Write a table as Markdown, CSV and LaTeX (booktabs)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from subtaxa.data.tables import csv_text
from subtaxa.runtime.atomic_files import write_whole

# The cell of a missing value.
MISSING = "–"
# Columns that fit on a page in LaTeX; wider tables are scaled down.
WIDE = 12


class Bold(str):
    """A cell in bold type."""

    __slots__ = ()


@dataclass(frozen=True)
class Column:
    name: str
    # Adjacent columns of one group share a heading.
    group: str = ""


@dataclass(frozen=True)
class Section:
    """One grid. The first column holds names, the others hold numbers. An empty row is a horizontal line."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    note: str = ""
    # Replaces the caption of the table; the notes of the table then do not apply to this section.
    caption: str = ""


@dataclass(frozen=True)
class Table:
    """The content of the three files. `cells` are the rows of the CSV file, with unformatted numbers.

    `name` is the name of the files. LaTeX numbers its tables, so `heading` is left out there.
    """

    name: str
    heading: str
    caption: str
    sections: Sequence[Section]
    cells: Sequence[Mapping[str, Any]]
    notes: Sequence[str]
    missing: str
    runs: Sequence[str]

    def write(self, out: Path) -> str:
        """Write the three files. Returns the Markdown."""
        out.mkdir(parents=True, exist_ok=True)
        text = markdown(self)
        for ending, content in (("md", text), ("csv", _csv(self)), ("tex", latex(self))):
            write_whole(out / f"{self.name}.{ending}", content.encode("utf-8", "replace"))
        return text


def signed(value: float | None) -> str:
    """A difference with its sign."""
    return MISSING if value is None else f"{round(value, 2) + 0.0:+.2f}".replace("-", "−")


def in_markdown(text: str) -> str:
    """Escape everything that Markdown would interpret. An underscore inside a word stays."""
    plain = re.sub(r"([\\`*\[\]<>|~#$&]|(?<!\w)_|_(?!\w))", r"\\\1", " ".join(text.split()))
    return f"**{plain}**" if isinstance(text, Bold) else plain


def code(text: str) -> str:
    """The text as Markdown code, with a fence that its content cannot close."""
    plain = " ".join(text.split())
    fence = "`" * (1 + max((len(found) for found in re.findall("`+", plain)), default=0))
    pad = " " if "`" in plain else ""
    return f"{fence}{pad}{plain}{pad}{fence}"


_LATEX = {
    **{c: f"\\{c}" for c in "&%$#_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''"},
    # At the start of a row, LaTeX would read these as options of the line break before it.
    **{"[": "{[}", "*": "{*}"},
    **{"±": r"$\pm$", "–": "--", "−": "$-$", "†": r"$\dagger$", "‡": r"$\ddagger$", "×": r"$\times$"},
}


def in_latex(text: str) -> str:
    """Escape every character that LaTeX would interpret."""
    plain = "".join(_LATEX.get(c, c) for c in " ".join(text.split()))
    plain = re.sub(r" \$\\pm\$ ([\d.]+)$", r" {\\scriptsize$\\pm$\\,\1}", plain)
    return f"\\textbf{{{plain}}}" if isinstance(text, Bold) else plain


def markdown(table: Table) -> str:
    parts = [f"**{in_markdown(table.heading)}.** {in_markdown(table.caption)}"]
    for section in table.sections:
        parts += [f"### {in_markdown(section.title)}"] if section.title else []
        parts += [in_markdown(section.caption)] if section.caption else []
        header = [in_markdown(" ".join(filter(None, [column.group, column.name]))) for column in section.columns]
        parts.append(_grid([header, *([in_markdown(cell) for cell in row] for row in section.rows if row)]))
        parts += [in_markdown(section.note)] if section.note else []
    parts += [in_markdown(note) for note in table.notes]
    parts += [in_markdown(f"not run: {table.missing}")] if table.missing else []
    parts.append("Runs: " + ", ".join(map(code, table.runs)))
    return "\n\n".join(parts) + "\n"


def _grid(rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells with aligned columns. The first row is the header."""
    widths = [max(3, *(len(row[i]) for row in rows)) for i in range(len(rows[0]))]
    lines = [
        "| "
        + " | ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        + " |"
        for row in rows
    ]
    rule = "|" + "|".join(f"{'-' * (width + 1)}:" if i else "-" * (width + 2) for i, width in enumerate(widths)) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


def _csv(table: Table) -> str:
    names = dict.fromkeys(name for row in table.cells for name in row)
    return csv_text({name: [row.get(name) for row in table.cells] for name in names})


def latex(table: Table) -> str:
    """One table environment per section, because all sections together would not fit on a page."""
    lines = [f"% {' '.join(line.split())}" for line in _comments(table)]
    for section in table.sections:
        caption = " ".join(filter(None, [table.caption, f"{section.title}." if section.title else ""]))
        notes = (section.note, *(() if section.caption else table.notes))
        wide = len(section.columns) > WIDE
        label = "-".join(filter(None, [table.name, *re.findall(r"[a-z0-9]+", section.title.lower())]))
        lines += ["", r"\begin{table*}[t]", r"\centering", r"\footnotesize", r"\setlength{\tabcolsep}{4pt}"]
        lines += [f"\\caption{{{in_latex(section.caption or caption)}}}", f"\\label{{{label}}}"]
        lines += [r"\resizebox{\textwidth}{!}{%"] if wide else []
        lines += [f"\\begin{{tabular}}{{l{'r' * (len(section.columns) - 1)}}}", r"\toprule", *_header(section)]
        lines += [r"\midrule" if not row else " & ".join(map(in_latex, row)) + r" \\" for row in section.rows]
        lines += [r"\bottomrule", r"\end{tabular}", *(["}"] if wide else [])]
        lines += [f"\\par\\smallskip {in_latex(note)}" for note in notes if note]
        lines += [r"\end{table*}"]
    return "\n".join(lines) + "\n"


def _comments(table: Table) -> list[str]:
    missing = [f"not run: {table.missing}"] if table.missing else []
    wide = any(len(section.columns) > WIDE for section in table.sections)
    needed = r"needs \usepackage{booktabs}" + (r" and \usepackage{graphicx}" if wide else "")
    return [needed, *missing, *(f"run: {name}" for name in table.runs)]


def _header(section: Section) -> list[str]:
    names = " & ".join(in_latex(column.name) for column in section.columns) + r" \\"
    if not any(column.group for column in section.columns):
        return [names, r"\midrule"]
    cells, rules, begin = [], [], 1
    for group, members in groupby(section.columns, key=lambda column: column.group):
        width = len(list(members))
        cells.append(f"\\multicolumn{{{width}}}{{c}}{{{in_latex(group)}}}")
        rules += [f"\\cmidrule(lr){{{begin}-{begin + width - 1}}}"] if group else []
        begin += width
    return [" & ".join(cells) + r" \\", " ".join(rules), names, r"\midrule"]
