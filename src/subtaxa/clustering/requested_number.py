"""The number of categories that a user asks for: a total, numbers for some labels, or "auto" to estimate it."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from subtaxa.clustering.forest import check_number
from subtaxa.errors import SettingError

# The values of the setting `granularity`: which of the plausible totals is taken if the number is estimated.
GRANULARITIES = ("coarse", "normal", "fine")

# The values of `categories`, as error messages list them.
EXPECTED = 'a whole number of at least 1, "auto", or numbers by label'


class RequestedNumber(NamedTuple):
    """The total, or None if it has to be estimated, and the numbers of those labels for which one is given."""

    total: int | None
    fixed: dict[int, int]  # by the index of the label in sorted order


def check(categories: Any) -> None:
    """Refuse a value that is not a valid number of categories for any texts."""
    if categories == "auto":
        return
    numbers = list(categories.values()) if isinstance(categories, Mapping) else [categories]
    if not numbers or not all(type(number) is int and number >= 1 for number in numbers):
        raise SettingError(f"categories is {categories!r}: it must be {EXPECTED}")


def requested_number(
    categories: int | str | Mapping[str, int], texts: Sequence[str], labels: Sequence[str]
) -> RequestedNumber:
    """The requested number for these texts, or an error if the texts cannot be divided into that many categories."""
    distinct = Counter(label for label, _ in set(zip(labels, texts, strict=True)))
    names = sorted(distinct)
    most = [distinct[name] for name in names]
    if isinstance(categories, int):
        check_number(categories, len(names), sum(most))
        return RequestedNumber(categories, {})
    fixed: dict[int, int] = {}
    for name, number in {} if isinstance(categories, str) else categories.items():
        index = index_of_label(name, names)
        if number > most[index]:
            raise SettingError(
                f"categories asks for {number} categories of {name!r}, which has {most[index]} different texts: use 1 "
                f"to {most[index]}"
            )
        fixed[index] = number
    return RequestedNumber(sum(fixed.values()) if len(fixed) == len(names) else None, fixed)


def index_of_label(name: str, names: Sequence[str]) -> int:
    """The index of a label that the user names."""
    if name not in names:
        close = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"the labels are {', '.join(names[:20])}"
        raise SettingError(f"categories names the label {name!r}, which no text has: {hint}")
    return names.index(name)
