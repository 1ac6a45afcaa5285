"""Which columns of a table hold the texts and the labels: the only place where column names are checked."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence

from subtaxa.data.values import shortened
from subtaxa.errors import InputError

TEXT_NAMES: tuple[str, ...] = ("text", "message", "utterance", "sentence", "query", "body", "content", "description")
TEXT_NAMES += ("comment", "title", "abstract", "review", "question")
LABEL_NAMES: tuple[str, ...] = ("label", "category", "class", "department", "domain", "topic", "tag", "field", "group")
LABEL_NAMES += ("coarse", "intent", "queue")
MAX_LISTED = 20


def find_column(columns: Iterable[str], wanted: str, option: str, name: str) -> str:
    """The column that the user named, or an error that lists the columns and suggests the closest one.

    Spaces around a name are ignored. `option` is the command-line option that names the column, without its dashes.
    """
    columns = list(columns)
    found = wanted if wanted in columns else None
    if found is None:
        found = next((column for column in columns if column.strip() == str(wanted).strip()), None)
    if found is None:
        folded = {column.casefold(): column for column in columns}
        close = difflib.get_close_matches(str(wanted).casefold(), folded, 1)
        fix = f"did you mean {folded[close[0]]!r}?" if close else f"name one of them with --{option}"
        raise InputError(f"there is no column {shortened(wanted)} in {name}, only {_listed(columns)}; {fix}")
    if columns.count(found) > 1:
        raise InputError(f"column {found!r} occurs {columns.count(found)} times in {name}; rename all but one")
    return found


def text_column(columns: Iterable[str], text: str | None = None, name: str = "the file") -> str:
    """The text column: the one that the user named, else one with a usual name, else the only one without a label."""
    columns = list(columns)
    found = text if text is not None else _with_usual_name(columns, TEXT_NAMES)
    if found is None:
        label = _with_usual_name(columns, LABEL_NAMES)
        others = [column for column in columns if column != label] or columns
        if len(others) != 1:
            raise InputError(
                f"cannot tell which column of {name} is the text in {_listed(columns)}; type --text COLUMN"
            )
        found = others[0]
    return find_column(columns, found, "text", name)


def text_and_known_label(
    columns: Iterable[str], text: str | None, label: str | None, name: str
) -> tuple[str, str | None]:
    """The columns of new texts: the text column, and the column of known labels if the user named one."""
    columns = list(columns)
    found = text_column(columns, text, name)
    return found, None if label is None else find_column(columns, label, "label", name)


def text_and_label(
    columns: Iterable[str],
    text: str | None,
    label: str | None,
    name: str,
    distinct_values: Callable[[str, str], tuple[int, int]],
) -> tuple[str, str | None]:
    """The columns of labelled texts: named by the user, else found by usual names. There may be no label column.

    If there are two columns and neither has a usual name, the one with more `distinct_values` is the text.
    """
    columns = list(columns)
    text = None if text is None else find_column(columns, text, "text", name)
    label = None if label is None else find_column(columns, label, "label", name)
    if text is not None and text == label:
        raise InputError(f"column {text!r} of {name} is given as both text and label; name two different columns")
    text, label = (
        text or _with_usual_name([column for column in columns if column != label], TEXT_NAMES),
        label or _with_usual_name([column for column in columns if column != text], LABEL_NAMES),
    )
    if len(columns) == 2:
        first, second = columns
        if text is None and label is None and not any(_is_usual(c, TEXT_NAMES + LABEL_NAMES) for c in columns):
            counts = distinct_values(first, second)
            if counts[0] != counts[1] or counts == (0, 0):  # Without rows, the choice does not matter.
                text, label = (first, second) if counts[0] >= counts[1] else (second, first)
        text = text or (None if label is None else second if label == first else first)
        label = label or (None if text is None else second if text == first else first)
    if text is None:
        unknown = "text and label" if label is None else "text"
        raise InputError(
            f"cannot tell the {unknown} column of {name} in {_listed(columns)}; type --text COLUMN --label COLUMN"
        )
    found = find_column(columns, text, "text", name)
    return found, None if label is None else find_column(columns, label, "label", name)


def unused_names(wanted: Iterable[str], taken: Iterable[object]) -> dict[str, str]:
    """New names for columns that are added to a user's table, so that none of them replaces a column that is there.

    All of them are changed in the same way: category, subtaxa_category, subtaxa_category_2, ...
    """
    wanted, used = list(wanted), set(map(str, taken))
    prefix, suffix, number = "", "", 1
    while used & {f"{prefix}{name}{suffix}" for name in wanted}:
        prefix, suffix = "subtaxa_", f"_{number}" if number > 1 else ""
        number += 1
    return {name: f"{prefix}{name}{suffix}" for name in wanted}


def _is_usual(column: str, names: tuple[str, ...]) -> bool:
    return column.strip().casefold() in names


def _with_usual_name(columns: Sequence[str], names: tuple[str, ...]) -> str | None:
    """The only column with one of the names, or None if there is no such column or more than one."""
    found = dict.fromkeys(column for column in columns if _is_usual(column, names))
    return next(iter(found)) if len(found) == 1 else None


def _listed(columns: Sequence[str]) -> str:
    more = f" and {len(columns) - MAX_LISTED} more" if len(columns) > MAX_LISTED else ""
    return ", ".join(map(shortened, columns[:MAX_LISTED])) + more
