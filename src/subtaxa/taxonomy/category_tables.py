"""The categories as a table, and as Markdown for people."""

from __future__ import annotations

import re
from typing import Any

from subtaxa.taxonomy.categories import Category, Taxonomy

# Characters with a meaning in Markdown, also in addresses such as https://x and www.x, which GitHub makes links of. A
# backslash before one takes the meaning away.
_MARKDOWN = re.compile(r"([\\`*_\[\]|~$#!]|:(?=//)|(?<=www)\.)", re.IGNORECASE)
_HEAD = "| id | category | texts | stability | keywords | example |\n|---:|---|---:|---:|---|---|"


def category_columns(taxonomy: Taxonomy) -> dict[str, list[Any]]:
    """One row per category, as named columns."""
    return {
        "category_id": [c.id for c in taxonomy],
        "label": [c.parent for c in taxonomy],
        "category": [c.name for c in taxonomy],
        "size": [c.size for c in taxonomy],
        "stability": [c.stability for c in taxonomy],
        "keywords": [", ".join(c.keywords) for c in taxonomy],
        "examples": [" | ".join(c.examples) for c in taxonomy],
    }


def markdown(taxonomy: Taxonomy) -> str:
    """One section with a table for each coarse label. Nothing in a name or a text becomes markup."""
    sections = []
    for parent in taxonomy.parents:
        children = taxonomy.children(parent)
        number = "1 category" if len(children) == 1 else f"{len(children):,} categories"
        about = f"{sum(c.size for c in children):,} texts in {number}."
        sections.append("\n".join([f"## {plain(parent)}\n\n{about}\n\n{_HEAD}", *map(_row, children)]))
    return "\n\n".join(sections) + "\n"


def _row(category: Category) -> str:
    cells = (
        str(category.id),
        plain(category.name),
        f"{category.size:,}",
        "" if category.stability is None else f"{category.stability:.2f}",
        plain(", ".join(category.keywords)),
        plain(category.examples[0] if category.examples else ""),
    )
    return f"| {' | '.join(cells)} |"


def plain(text: str) -> str:
    """A text on one line that Markdown shows as it is."""
    line = "".join(letter for letter in " ".join(text.split()) if letter.isprintable())
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MARKDOWN.sub(r"\\\1", line)
