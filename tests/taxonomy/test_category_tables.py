"""The categories as Markdown: readable, and nothing in a name becomes markup."""

from __future__ import annotations

import re

from subtaxa.taxonomy.categories import Category, Taxonomy
from subtaxa.taxonomy.category_tables import category_columns, plain

EVIL = "a|b <script> [x](http://y) `c` **d** \\| \n# e\x1b"


def test_every_row_has_the_cells_of_the_head() -> None:
    taxonomy = Taxonomy((Category(0, EVIL, EVIL, (EVIL,), (EVIL,), 3, 0.5), Category(1, EVIL, "x", (), (), 1)))
    lines = taxonomy.to_markdown().splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert len(rows) == 4
    assert {len(re.split(r"(?<!\\)(?:\\\\)*\|", row)) for row in rows} == {8}
    assert not re.search(r"<|(?<!\\)[`*\[]", "\n".join(lines))
    assert lines[2] == "4 texts in 2 categories."


def test_markup_is_shown_as_it_was_written() -> None:
    assert plain("1 < 2 & *three*\n") == r"1 &lt; 2 &amp; \*three\*"
    assert plain("at 10:30 https://evil.example or WWW.evil.example") == (
        r"at 10:30 https\://evil.example or WWW\.evil.example"
    )


def test_the_columns_are_those_of_the_run_folder() -> None:
    columns = category_columns(Taxonomy((Category(4, "billing", "refund", ("a", "b"), ("x", "y"), 3),)))
    assert {name: values[0] for name, values in columns.items()} == {
        **{"category_id": 4, "label": "billing", "category": "refund", "size": 3, "stability": None},
        **{"keywords": "a, b", "examples": "x | y"},
    }
