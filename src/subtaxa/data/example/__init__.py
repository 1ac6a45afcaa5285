"""The built-in example: support messages with the department that received each of them."""

from __future__ import annotations

from pathlib import Path

from subtaxa.data.texts import CoarseTexts, read_texts

FOLDER = Path(__file__).parent


def example_texts() -> CoarseTexts:
    """Read the built-in example of support messages.

    Returns
    -------
    CoarseTexts

    Examples
    --------
    >>> from subtaxa.data.example import example_texts
    >>> example_texts().label_column
    'department'
    """
    return read_texts(FOLDER / "support.csv", "message", "department")
