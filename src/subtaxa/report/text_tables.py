"""How many categories each label has, as lines for a terminal: the number, the plausible ones, and the curve."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from subtaxa.clustering.number_of_categories import CategoryCount

BLOCKS = "▁▂▃▄▅▆▇█"
WIDTH = 32  # characters of a curve at most


def number_lines(numbers: Mapping[str, CategoryCount]) -> Iterator[str]:
    """One line per label."""
    width = min(24, max(map(len, numbers), default=0))
    for label, choice in numbers.items():
        name = label if len(label) <= width else f"{label[: width - 1]}…"
        if not choice.curve:
            yield f"  {name:{width}}  {choice.chosen:3} as given"
            continue
        first, last = choice.curve[0][0], choice.curve[-1][0]
        shape = f"  {first} {spark([clear for _, clear in choice.curve])} {last}" if first < last else ""
        yield f"  {name:{width}}  {choice.chosen:3}, plausible {plausible(choice)}{shape}"


def plausible(choice: CategoryCount) -> str:
    """The plausible numbers in words."""
    numbers = f"{choice.low}" if choice.low == choice.high else f"{choice.low} to {choice.high}"
    return f"{numbers}, all of one size" if choice.even else numbers


def spark(values: Sequence[float]) -> str:
    """Values as a row of blocks, low to high."""
    if len(values) > WIDTH:
        values = [values[i * (len(values) - 1) // (WIDTH - 1)] for i in range(WIDTH)]
    low, high = min(values), max(values)
    scale = (len(BLOCKS) - 1) / (high - low) if high > low else 0.0
    return "".join(BLOCKS[round((value - low) * scale)] for value in values)
