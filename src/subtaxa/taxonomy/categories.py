"""The result as data: categories with their parent label, name, keywords, examples and size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from subtaxa.errors import SubtaxaError

if TYPE_CHECKING:
    import pandas as pd

Editor = Callable[..., "Taxonomy"]


@dataclass(frozen=True)
class Category:
    """One fine category. `id` is its number in `labels_`; it stays when other categories are edited."""

    id: int
    parent: str
    name: str
    keywords: tuple[str, ...]
    examples: tuple[str, ...]
    size: int
    stability: float | None = None  # agreement with clusterings anew, from 0 to 1; none once a person has changed it
    named: bool = False  # by a person: then nothing overwrites the name
    namer: str = ""  # the language model that gave the name; none once the category has another


@dataclass(frozen=True)
class Taxonomy(Sequence[Category]):
    """All categories, ordered by parent label and then by falling size.

    The taxonomy of a fitted or loaded `Discovery` can be edited: each edit changes the model and returns its taxonomy
    as it then is. Categories are given by id or by name.
    """

    categories: tuple[Category, ...]
    editor: Editor | None = field(default=None, compare=False, repr=False)

    def __len__(self) -> int:
        return len(self.categories)

    def __iter__(self) -> Iterator[Category]:
        return iter(self.categories)

    def __getitem__(self, index: Any) -> Any:
        return self.categories[index]

    def by_id(self) -> dict[int, Category]:
        """Each category by its id."""
        return {c.id: c for c in self.categories}

    def split(self, category: int | str, into: int | None = None) -> Taxonomy:
        """Make several categories of one; without `into`, as many as are clearest."""
        return self._edited("split", category=category, into=into)

    def merge(self, *categories: int | str) -> Taxonomy:
        """Make one category of several of the same label; it keeps the id of the first."""
        return self._edited("merge", categories=categories)

    def rename(self, category: int | str, name: str) -> Taxonomy:
        """Give a category a name, which nothing overwrites from then on."""
        return self._edited("rename", category=category, name=name)

    def move(self, rows: Sequence[int], to: int | str) -> Taxonomy:
        """File some texts, by their row in the assignments, under another category of their label."""
        return self._edited("move", rows=rows, to=to)

    def undo(self) -> Taxonomy:
        """Take back the last edit."""
        return self._edited("undo")

    def _edited(self, kind: str, **what: Any) -> Taxonomy:
        if self.editor is None:
            raise SubtaxaError("this taxonomy belongs to no model: edit `Discovery.load(folder).taxonomy_`")
        return self.editor(kind, **what)

    @property
    def parents(self) -> tuple[str, ...]:
        """The coarse labels, in order."""
        return tuple(dict.fromkeys(c.parent for c in self.categories))

    def children(self, parent: str) -> tuple[Category, ...]:
        """The categories of one coarse label, largest first."""
        return tuple(c for c in self.categories if c.parent == parent)

    def to_frame(self) -> pd.DataFrame:
        """One row per category, for pandas users."""
        import pandas as pd

        return pd.DataFrame([asdict(c) for c in self.categories]).set_index("id")

    def to_dict(self) -> list[dict[str, Any]]:
        return [asdict(c) for c in self.categories]

    @classmethod
    def from_dict(cls, rows: list[dict[str, Any]]) -> Taxonomy:
        return cls(
            tuple(
                Category(
                    id=int(row["id"]),
                    parent=str(row["parent"]),
                    name=str(row["name"]),
                    keywords=tuple(map(str, row["keywords"])),
                    examples=tuple(map(str, row["examples"])),
                    size=int(row["size"]),
                    stability=None if row.get("stability") is None else float(row["stability"]),
                    named=bool(row.get("named")),
                    namer=str(row.get("namer") or ""),
                )
                for row in rows
            )
        )

    def __str__(self) -> str:
        """The taxonomy as an indented tree with counts."""
        lines: list[str] = []
        for parent in self.parents:
            children = self.children(parent)
            number = "1 category" if len(children) == 1 else f"{len(children)} categories"
            lines.append(f"{' '.join(parent.split())}  ({sum(c.size for c in children):,} texts, {number})")
            for c in children:
                branch = "└─" if c is children[-1] else "├─"
                lines.append(f"  {branch} {c.name}  {c.size:,}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The same for a notebook: each label can be folded, and its categories are a table."""
        from markupsafe import escape

        parts = []
        for parent in self.parents:
            rows = "".join(
                f"<tr><td>{c.id}</td><td><bdi>{escape(c.name)}</bdi></td><td>{c.size:,}</td>"
                f"<td>{'–' if c.stability is None else f'{c.stability:.2f}'}</td>"
                f"<td><bdi>{escape(', '.join(c.keywords[:5]))}</bdi></td></tr>"
                for c in self.children(parent)
            )
            head = "<tr><th>id</th><th>category</th><th>texts</th><th>stability</th><th>keywords</th></tr>"
            parts.append(
                f"<details open><summary><b><bdi>{escape(parent)}</bdi></b> {len(self.children(parent))}</summary>"
                f"<table><thead>{head}</thead><tbody>{rows}</tbody></table></details>"
            )
        return f"<div>{''.join(parts)}</div>"
