"""Lines for a terminal: the number of categories of each label, and the outliers of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from subtaxa.clustering.number_of_categories import CategoryCount

# The columns of the assignments that the list of outliers needs, in the order in which it reads them.
OUTLIER_COLUMNS = ("row", "text", "label", "category", "outlier")
BLOCKS = "▁▂▃▄▅▆▇█"
MAX_WIDTH = 32  # Longest curve, in characters.
MAX_NAME = 24  # Longest name of a label, in characters.
SCORE_NOTE = (
    "Each curve shows how clearly a label is divided into every number of categories that was tried: the mean "
    "silhouette of its texts (at most 1; higher is better)."
)
CHOICE_NOTE = (
    "The number is a starting point between the plausible ones, chosen for all labels together. Change it with "
    "`subtaxa recut`, or answer a few questions with `subtaxa ask`."
)


def number_lines(numbers: Mapping[str, CategoryCount]) -> Iterator[str]:
    """One line per label."""
    width = min(MAX_NAME, max(map(len, numbers), default=0))
    for label, count in numbers.items():
        name = label if len(label) <= width else f"{label[: width - 1]}…"
        if not count.curve:
            yield f"  {name:{width}}  {count.chosen:3} as given"
            continue
        first, last = count.curve[0][0], count.curve[-1][0]
        curve = f"  {first} {sparkline([score for _, score in count.curve])} {last}" if first < last else ""
        yield f"  {name:{width}}  {count.chosen:3}, plausible {plausible(count)}{curve}"


def outlier_lines(assignments: Mapping[str, Sequence[Any]]) -> Iterator[str]:
    """A line with the number of outliers, then one line per outlier: row, label, category and text."""
    rows = list(zip(*(assignments[column] for column in OUTLIER_COLUMNS), strict=True))
    outliers = [row for row in rows if row[-1] == "yes"]
    yield f"{len(outliers):,} of {len(rows):,} texts are outliers: row, label, category, text"
    for number, text, label, category, _ in outliers:
        yield f"{number}\t{label}\t{category}\t{' '.join(text.split())}"


def plausible(count: CategoryCount) -> str:
    """The plausible numbers in words."""
    return f"{count.low}" if count.low == count.high else f"{count.low} to {count.high}"


def sparkline(values: Sequence[float]) -> str:
    """Values as a row of blocks, low to high."""
    if len(values) > MAX_WIDTH:
        values = [values[i * (len(values) - 1) // (MAX_WIDTH - 1)] for i in range(MAX_WIDTH)]
    low, high = min(values), max(values)
    scale = (len(BLOCKS) - 1) / (high - low) if high > low else 0.0
    return "".join(BLOCKS[round((value - low) * scale)] for value in values)
