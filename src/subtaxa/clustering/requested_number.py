"""How many categories the user wants: a number in all, numbers for some labels, or whatever is found ("auto")."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from subtaxa.clustering.forest import check_number
from subtaxa.errors import SettingError

GRANULARITIES = ("coarse", "normal", "fine")
EXPECTED = 'a whole number of at least 1, "auto", or numbers by label'


class Wanted(NamedTuple):
    """The total, if it is given, and the numbers of the labels (by place) that are given."""

    total: int | None
    fixed: dict[int, int]


def check(categories: Any) -> None:
    """Refuse what cannot be a number of categories, whatever the texts are."""
    if categories == "auto":
        return
    numbers = list(categories.values()) if isinstance(categories, Mapping) else [categories]
    if not numbers or not all(type(number) is int and number >= 1 for number in numbers):
        raise SettingError(f"categories is {categories!r}: it must be {EXPECTED}")


def wanted(categories: int | str | Mapping[str, int], texts: Sequence[str], labels: Sequence[str]) -> Wanted:
    """What is wanted of these texts, or one sentence on why they cannot give it."""
    distinct = Counter(label for label, _ in set(zip(labels, texts, strict=True)))
    names = sorted(distinct)
    most = [distinct[name] for name in names]
    if isinstance(categories, int):
        check_number(categories, len(names), sum(most))
        return Wanted(categories, {})
    fixed: dict[int, int] = {}
    for name, number in {} if isinstance(categories, str) else categories.items():
        if name not in names:
            close = difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"the labels are {', '.join(names[:20])}"
            raise SettingError(f"categories names the label {name!r}, which no text has: {hint}")
        place = names.index(name)
        if number > most[place]:
            raise SettingError(
                f"categories asks for {number} below {name!r}, which has {most[place]} different texts: use 1 to "
                f"{most[place]}"
            )
        fixed[place] = number
    return Wanted(sum(fixed.values()) if len(fixed) == len(names) else None, fixed)
