"""The result as data: categories with their parent label, name, keywords, examples and size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Category:
    """One fine category. `id` is its position in the taxonomy and its number in `labels_`."""

    id: int
    parent: str
    name: str
    keywords: tuple[str, ...]
    examples: tuple[str, ...]
    size: int


@dataclass(frozen=True)
class Taxonomy(Sequence[Category]):
    """All categories, ordered by parent label and then by falling size."""

    categories: tuple[Category, ...]

    def __len__(self) -> int:
        return len(self.categories)

    def __iter__(self) -> Iterator[Category]:
        return iter(self.categories)

    def __getitem__(self, index: Any) -> Any:
        return self.categories[index]

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
