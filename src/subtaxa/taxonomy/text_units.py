"""Texts as one sequence of units: words, and single characters of scripts without spaces.

n texts, T units in all of them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subtaxa.encoders.scripts import SPACELESS
from subtaxa.runtime.arrays import Ints

# Only this many characters of each text are used.
MAX_TEXT_LENGTH = 2000
# Two successive words are tied if they follow each other this often, and this many times as often as by chance.
MIN_PAIRS, MIN_TIE = 3, 40.0

CHARACTER = re.compile(f"[{SPACELESS}]")
MARKS = "".join(chr(c) for c in range(0x300, 0x1E000) if unicodedata.category(chr(c)).startswith("M"))
JOINERS = "\u200c\u200d"
# A word begins with a letter and continues with letters and combining marks, apostrophes and hyphens.
UNIT = re.compile(
    rf"(?P<unit>[{SPACELESS}][{MARKS}]*)(?![\d_])"
    rf"|(?P<word>(?:(?![{SPACELESS}])[^\W\d_])(?:(?![{SPACELESS}])[\w{MARKS}{JOINERS}]|['’-](?=[^\W\d_]))*)"
    r"|(?P<space>[ \t\u00a0]+)|(?P<other>[\w@#/\\:.-]*\w|.)",
    re.DOTALL,
)
# A word that goes on with a number, such as the first letters of "LH-1234", belongs to it.
NUMBER = re.compile(r"[-_/.]\d")
# E-mail addresses, web addresses, @names and #tags.
ADDRESS = re.compile(r"\S*@\S+|\w+://\S+|www\.\S+|#\w+")


@dataclass(frozen=True)
class TextUnits:
    """All texts as one sequence of units."""

    words: tuple[str, ...]  # in lower case, sorted
    shown: tuple[str, ...]
    spaceless: NDArray[np.bool_]
    size: Ints  # the number of characters of each word
    ids: Ints  # (T,)
    owner: Ints  # (T,) the text
    follows: NDArray[np.bool_]  # (T,) whether the unit directly follows the one before it
    opens: NDArray[np.bool_]  # (T,) whether a clause begins with the unit
    closes: NDArray[np.bool_]  # (T,) whether nothing but the end of a clause may follow

    @property
    def ends_clause(self) -> NDArray[np.bool_]:
        """Whether a clause ends with the unit (T,)."""
        return self.closes & ~self.goes_on

    @property
    def goes_on(self) -> NDArray[np.bool_]:
        """Whether another unit directly follows (T,)."""
        return np.append(self.follows[1:], False)[: len(self.ids)]

    @property
    def ties(self) -> NDArray[np.bool_]:
        """Whether the next unit (T,) directly follows and is tied to this one, as "up" is to "wake"."""
        found, place = np.zeros(len(self.ids), dtype=np.bool_), np.flatnonzero(self.goes_on)
        one, other = self.ids[place], self.ids[place + 1]
        _, pair, often = np.unique(one * len(self.words) + other, return_inverse=True, return_counts=True)
        size = np.bincount(self.ids, minlength=len(self.words))
        by_chance = size[one] * size[other] / max(len(self.ids), 1)
        found[place] = (often[pair] >= MIN_PAIRS) & (often[pair] >= MIN_TIE * by_chance)
        return found

    def borders(self, is_function: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """After which units (T,), and before which, there is a function word or nothing."""
        function = is_function[self.ids]
        after, before = np.append(function[1:], True), np.append(True, function[:-1])
        return (~self.goes_on | after[: len(function)]), (~self.follows | before[: len(function)])


def are_spaceless(words: Sequence[str]) -> NDArray[np.bool_]:
    """Which words are characters of a script without spaces."""
    return np.array([bool(CHARACTER.match(word)) for word in words], dtype=np.bool_)


def read_units(texts: Sequence[str]) -> TextUnits:
    """All texts as one sequence."""
    surfaces: list[str] = []
    owner: list[int] = []
    follows: list[bool] = []
    opens: list[bool] = []
    closes: list[bool] = []
    first: list[bool] = []  # whether a capital may be due to the position only
    for number, text in enumerate(texts):
        text = ADDRESS.sub(" 0 ", text[:MAX_TEXT_LENGTH].replace("’", "'"))
        shouted = text.isupper()
        joined, begins, border = False, True, True
        for match in UNIT.finditer(text):
            kind = match.lastgroup
            is_word = kind in ("word", "unit") and not any(map(str.isdigit, match.group()))
            if is_word and not NUMBER.match(text, match.end()):
                surfaces.append(match.group())
                owner.append(number)
                follows.append(joined)
                opens.append(border)
                closes.append(True)
                first.append(begins or shouted)
                joined, begins, border = True, False, False
            elif kind != "space":
                is_number = match.group()[-1].isalnum()
                if is_number and not border and closes:
                    closes[-1] = False
                joined, begins, border = False, True, not is_number
    lower = [surface.lower() for surface in surfaces]
    words = sorted(set(lower))
    position = {word: i for i, word in enumerate(words)}
    ids = np.array([position[word] for word in lower], dtype=np.int64)
    return TextUnits(
        words=tuple(words),
        shown=_as_written(words, surfaces, ids, np.array(first, dtype=np.bool_)),
        spaceless=are_spaceless(words),
        size=np.array([len(word) for word in words], dtype=np.int64),
        ids=ids,
        owner=np.array(owner, dtype=np.int64),
        follows=np.array(follows, dtype=np.bool_),
        opens=np.array(opens, dtype=np.bool_),
        closes=np.array(closes, dtype=np.bool_),
    )


def _as_written(words: list[str], surfaces: list[str], ids: Ints, first: NDArray[np.bool_]) -> tuple[str, ...]:
    """Each word as most people write it. Words at the beginning of a sentence count only where there are no others."""
    if not words:
        return ()
    forms, form = np.unique(np.array(surfaces, dtype=object), return_inverse=True)
    pairs, often = np.unique(np.stack([ids, form], 1)[~first], axis=0, return_counts=True)
    shown = list(words)
    # The last line for a word wins, so its most frequent form comes last.
    for i, surface in pairs[np.argsort(often, kind="stable")].tolist():
        shown[i] = forms[surface]
    return tuple(shown)
