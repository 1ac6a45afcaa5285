"""Categories and the taxonomy they form, as plain data."""

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
    """One fine category.

    Parameters
    ----------
    id : int
        The number of the category in `labels_`. Edits of other categories do not change it.
    parent : str
        The coarse label that the category belongs to.
    name : str
        The name.
    keywords : tuple of str
        The words that distinguish the category from the others of its label.
    examples : tuple of str
        Three to five different texts near its centroid.
    size : int
        The number of texts.
    stability : float, optional
        The agreement with clusterings of resampled texts, from 0 to 1. None once an edit has changed the category.
    named : bool, default=False
        Whether a person gave the name. Nothing overwrites such a name.
    namer : str, default=""
        The language model that gave the name, if one did.
    difference : str, default=""
        One line that tells the category from the most similar one of its label.

    Examples
    --------
    >>> from subtaxa import Category
    >>> category = Category(0, "billing", "refund", ("refund", "money"), ("I want my money back",), 12)
    >>> category.name, category.size
    ('refund', 12)
    """

    id: int
    parent: str
    name: str
    keywords: tuple[str, ...]
    examples: tuple[str, ...]
    size: int
    stability: float | None = None
    named: bool = False
    namer: str = ""
    difference: str = ""


@dataclass(frozen=True)
class Taxonomy(Sequence[Category]):
    """All categories, ordered by coarse label and then by decreasing size. A taxonomy is a sequence of categories.

    The taxonomy of a fitted or loaded `Discovery` can be edited. Each edit changes the estimator and returns the new
    taxonomy. Edits refer to a category by its id or its name.

    Parameters
    ----------
    categories : tuple of Category
        The categories.
    editor : callable, optional
        What applies edits. `Discovery` sets it.

    Examples
    --------
    >>> from subtaxa import Category, Taxonomy
    >>> taxonomy = Taxonomy((
    ...     Category(0, "billing", "refund", ("refund", "money"), ("I want my money back",), 12),
    ...     Category(1, "billing", "invoice", ("invoice", "bill"), ("Where is my invoice?",), 8),
    ...     Category(2, "login", "password", ("password", "reset"), ("I forgot my password",), 5),
    ... ))
    >>> print(taxonomy)
    billing  (20 texts, 2 categories)
      ├─ refund  12
      └─ invoice  8
    login  (5 texts, 1 category)
      └─ password  5
    >>> taxonomy.parents
    ('billing', 'login')
    >>> [category.name for category in taxonomy.children("billing")]
    ['refund', 'invoice']
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
        """Return a dict from id to category.

        Examples
        --------
        >>> Taxonomy((Category(7, "billing", "refund", (), (), 12),)).by_id()[7].name
        'refund'
        """
        return {c.id: c for c in self.categories}

    def split(self, category: int | str, into: int | None = None) -> Taxonomy:
        """Split a category by the features of its texts. The largest part keeps the id.

        Parameters
        ----------
        category : int or str
            The id or the name of the category.
        into : int, optional
            The number of parts. By default the division with the best silhouette is chosen.

        Returns
        -------
        Taxonomy
            The categories after the edit.
        """
        return self._edited("split", category=category, into=into)

    def merge(self, *categories: int | str) -> Taxonomy:
        """Merge categories of one coarse label. The result keeps the id of the first.

        Parameters
        ----------
        *categories : int or str
            The ids or names of two or more categories.

        Returns
        -------
        Taxonomy
            The categories after the edit.
        """
        return self._edited("merge", categories=categories)

    def rename(self, category: int | str, name: str) -> Taxonomy:
        """Rename a category. Nothing overwrites the name from then on.

        Parameters
        ----------
        category : int or str
            The id or the name of the category.
        name : str
            The new name.

        Returns
        -------
        Taxonomy
            The categories after the edit.
        """
        return self._edited("rename", category=category, name=name)

    def move(self, rows: Sequence[int], to: int | str) -> Taxonomy:
        """Move texts to another category of their coarse label.

        Parameters
        ----------
        rows : sequence of int
            The rows of the texts, as in the first column of the assignments.
        to : int or str
            The id or the name of the category.

        Returns
        -------
        Taxonomy
            The categories after the edit.
        """
        return self._edited("move", rows=rows, to=to)

    def undo(self) -> Taxonomy:
        """Undo the last edit.

        Returns
        -------
        Taxonomy
            The categories without that edit.
        """
        return self._edited("undo")

    def _edited(self, kind: str, **what: Any) -> Taxonomy:
        if self.editor is None:
            raise SubtaxaError("this taxonomy belongs to no estimator: edit `Discovery.load(folder).taxonomy_` instead")
        return self.editor(kind, **what)

    @property
    def parents(self) -> tuple[str, ...]:
        """The coarse labels, in order.

        Examples
        --------
        >>> Taxonomy((Category(7, "billing", "refund", (), (), 12),)).parents
        ('billing',)
        """
        return tuple(dict.fromkeys(c.parent for c in self.categories))

    def children(self, parent: str) -> tuple[Category, ...]:
        """Return the categories of one coarse label, largest first.

        Parameters
        ----------
        parent : str
            The coarse label.

        Returns
        -------
        tuple of Category
            Its categories.

        Examples
        --------
        >>> taxonomy = Taxonomy((
        ...     Category(0, "billing", "refund", (), (), 12),
        ...     Category(1, "login", "password", (), (), 5),
        ... ))
        >>> [category.name for category in taxonomy.children("login")]
        ['password']
        """
        return tuple(c for c in self.categories if c.parent == parent)

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with one row per category, indexed by id.

        Examples
        --------
        >>> Taxonomy((Category(7, "billing", "refund", (), (), 12),)).to_frame()["size"].to_dict()
        {7: 12}
        """
        import pandas as pd

        return pd.DataFrame([asdict(c) for c in self.categories]).set_index("id")

    def to_dict(self) -> list[dict[str, Any]]:
        """Return one dict per category. `from_dict` reverses it.

        Examples
        --------
        >>> Taxonomy((Category(7, "billing", "refund", (), (), 12),)).to_dict()[0]["name"]
        'refund'
        """
        return [asdict(c) for c in self.categories]

    @classmethod
    def from_dict(cls, rows: list[dict[str, Any]]) -> Taxonomy:
        """Build a taxonomy from one dict per category.

        Examples
        --------
        >>> taxonomy = Taxonomy((Category(7, "billing", "refund", (), (), 12),))
        >>> Taxonomy.from_dict(taxonomy.to_dict()) == taxonomy
        True
        """
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
                    difference=str(row.get("difference") or ""),
                )
                for row in rows
            )
        )

    def to_markdown(self) -> str:
        """Return Markdown with one section and one table for each coarse label.

        Returns
        -------
        str
            The Markdown. Nothing in a name or a text becomes markup.

        Examples
        --------
        >>> taxonomy = Taxonomy((Category(7, "billing", "refund", ("money",), ("I want *my* money",), 12),))
        >>> print(taxonomy.to_markdown())
        ## billing
        <BLANKLINE>
        12 texts in 1 category.
        <BLANKLINE>
        | id | category | texts | stability | keywords | example |
        |---:|---|---:|---:|---|---|
        | 7 | refund | 12 |  | money | I want \\*my\\* money |
        <BLANKLINE>
        """
        from subtaxa.taxonomy.category_tables import markdown

        return markdown(self)

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
        """The taxonomy as HTML for a notebook: one table per coarse label, which can be collapsed."""
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
