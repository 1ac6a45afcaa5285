"""Words in any script. Where words are written without spaces, short runs of characters stand for them."""

from __future__ import annotations

import re

# Thai, Lao, Burmese, Khmer, Japanese and Chinese are written without spaces between words.
ALPHABETIC = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
IDEOGRAPHIC = "\u3005\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
SPACELESS = ALPHABETIC + IDEOGRAPHIC

# How many successive characters stand for a word: a syllable of an alphabet, or two ideographs.
ALPHABETIC_RUN, IDEOGRAPHIC_RUN = 4, 2

# A word has two letters or more, as in scikit-learn.
_WORD = re.compile(r"(?u)\b\w\w+\b")
_SPACELESS = re.compile(f"[{SPACELESS}]")
_UNIT = re.compile(
    rf"(?P<alphabetic>[{ALPHABETIC}]+)|(?P<ideographic>[{IDEOGRAPHIC}]+)|(?P<word>(?:(?![{SPACELESS}])\w){{2,}})"
)


def words_of(text: str) -> list[str]:
    """The words of a text in any script.

    Examples
    --------
    >>> words_of("turn the light on")
    ['turn', 'the', 'light', 'on']
    >>> words_of("打开灯 ok")
    ['打开', '开灯', 'ok']
    """
    if not _SPACELESS.search(text):
        return _WORD.findall(text)
    words = []
    for match in _UNIT.finditer(text):
        run = match.group()
        length = {"alphabetic": ALPHABETIC_RUN, "ideographic": IDEOGRAPHIC_RUN}.get(match.lastgroup or "", len(run))
        words += [run[i : i + length] for i in range(max(1, len(run) - length + 1))]
    return words
