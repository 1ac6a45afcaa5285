"""`subtaxa compare`: how the categories of two runs of the same texts differ."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subtaxa.cli.output_file import new_file, write_file
from subtaxa.runtime.terminal import say

if TYPE_CHECKING:
    from subtaxa.taxonomy.categories import Category
    from subtaxa.taxonomy.comparison import Comparison, Relation

LONGEST = 36  # Longest name in the table, in characters.


def add_parser(commands: Any) -> None:
    command = commands.add_parser(
        "compare",
        help="show how the categories of two runs differ",
        description="Show which categories of two runs are the same, split, merged, new or gone, and how much the runs "
        "agree. Only texts with the same label that are in both runs count.",
        usage="subtaxa compare A B [options]",
    )
    command.add_argument("a", metavar="A", help="run folder written by discover")
    command.add_argument("b", metavar="B", help="run folder to compare it with")
    command.add_argument("--json", action="store_true", help="print JSON instead of a table")
    command.add_argument("--out", metavar="FILE", help="write a page with diagrams, such as comparison.html")
    command.add_argument("--overwrite", action="store_true", help="replace the page if it exists")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    from subtaxa.runs.compare_runs import compare_runs

    target = None if options.out is None else new_file(options.out, overwrite=options.overwrite)
    found = compare_runs(Path(options.a), Path(options.b))
    if target is not None:
        from subtaxa.report.compare_page import render_comparison

        write_file(target, render_comparison(found, *_titles(options.a, options.b)).encode())
    elif options.json:
        say(json.dumps(found.to_dict(), indent=2))
    else:
        for line in _lines(found, options.a, options.b):
            say(line)


def _titles(a: str, b: str) -> tuple[str, str]:
    """What the page calls two folders: the ends of their paths, as long as needed to tell them apart."""
    one, other = (Path(folder).absolute().parts for folder in (a, b))
    length = next((n for n in range(1, max(len(one), len(other))) if one[-n:] != other[-n:]), 1)
    return str(Path(*one[-length:])), str(Path(*other[-length:]))


def _lines(found: Comparison, a: str, b: str) -> Iterator[str]:
    yield f"{found.both:,} texts in both runs, {found.only_a:,} only in {a}, {found.only_b:,} only in {b}"
    yield f"agreement: ARI {found.ari:.3f}, NMI {found.nmi:.3f} (1 means the same categories)"
    yield ", ".join(f"{count:,} {kind}" for kind, count in found.counts().items()) + "\n"
    rows = [("label", "", f"category in {_short(a)}", "texts", f"category in {_short(b)}")]
    for relation in found.relations:
        rows += _rows(relation)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for label, kind, before, texts, after in rows:
        cells = f"{label:{widths[0]}}  {kind:{widths[1]}}  {before:{widths[2]}}  {texts:>{widths[3]}}  {after}"
        yield cells.rstrip()


def _rows(relation: Relation) -> Iterator[tuple[str, str, str, str, str]]:
    """A row for each two categories that share texts. What was said in the row above is left out."""
    a, b = relation.categories()
    shared = sorted(relation.shared, key=lambda pair: (pair[0], -pair[2]))
    pairs: list[tuple[Category | None, Category | None, str]] = [(a[i], b[j], f"{count:,}") for i, j, count in shared]
    alone = next(iter(a.values()), None), next(iter(b.values()), None), ""  # a category without a counterpart
    label, kind, last = _short(relation.label), relation.kind, None
    for before, after, texts in pairs or [alone]:
        yield label, kind, "" if before is last else _named(before), texts, _named(after)
        label, kind, last = "", "", before


def _named(category: Category | None) -> str:
    return "" if category is None else f"{_short(category.name)} ({category.size:,})"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1].rstrip()}…"
