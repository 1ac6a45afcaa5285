"""Notices texts that an encoder cannot read well, by their tokens, and texts in another language than English.

Both are light guesses on a sample: a text in a script that the vocabulary does not know falls into unknown tokens or
into about one token for each letter, and the most frequent words of a language give it away.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence

from subtaxa.encoders.base import Encoder
from subtaxa.encoders.catalogue import known
from subtaxa.encoders.scripts import words_of

# Texts are judged on a sample of this many, each by this many characters.
SAMPLE, BEGINNING = 1000, 100

# A text with fewer letters is not judged.
FEWEST_LETTERS = 4

# A script is not read if this share of the tokens is unknown, or if there are this many tokens for each character.
UNKNOWN, TOKENS_PER_CHARACTER = 0.5, 0.9

# From this share of the texts on, the user is told.
SHARE = 0.1

# The most frequent words of languages with Latin letters that English does not have.
FREQUENT = {
    "English": "the and you what how my for with please can this that was have when do are not tell me",
    "German": "der die das und ich nicht ist ein eine mit den wie bitte mein meine auf für zu wann habe mir kann",
    "French": "le la les des et je est une dans que pour mon ma mes pas sur avec moi quel quelle comment suis",
    "Spanish": "el la los las y que es un una para con por mi en cómo qué del cuál está no me puedo quiero",
    "Portuguese": "o os as e que é um uma para com por meu minha em como não do da qual está você quero",
    "Italian": "il lo gli e che è un una per con mio mia in come non del della qual sono mi quando",
    "Dutch": "de het een en ik niet is met van mijn op voor wat hoe wil je kan aan dat zijn",
    "Polish": "i w nie na się jest to z do że jak mój moja co dla czy jestem mnie po",
    "Swedish": "och att det som en jag är inte på med för av min hur vad till kan har ett",
    "Turkish": "ve bir bu için ne mi ben çok var da de benim ile lütfen değil bana",
}
_WORDS = {language: frozenset(words.split()) for language, words in FREQUENT.items()}


def notice(name: str, encoder: Encoder, texts: Sequence[str]) -> str | None:
    """One line for the user if the encoder does not know the script or language of many texts, or None.

    `name` is what the user typed.
    """
    judged = [text[:BEGINNING].strip() for text in texts if _letters(text) >= FEWEST_LETTERS]
    some = judged[:: max(1, -(-len(judged) // SAMPLE))]
    by_script: dict[str, list[str]] = {}
    for text in some:
        by_script.setdefault(_script(text), []).append(text)
    found: Counter[str] = Counter()
    entry = known(name)
    for script, members in by_script.items():
        if not _reads(encoder, members):
            found[script] += len(members)
        elif script == "Latin" and entry is not None and entry.languages == "English":
            found.update(language for text in members if (language := _language(text)) not in ("English", ""))
    share = found.total() / max(1, len(some))
    if share < SHARE:
        return None
    shown = " and ".join(language for language, _ in found.most_common(2))
    advice = "use --encoder multilingual, or another encoder for them"
    if entry is not None and entry.short == "multilingual":
        advice = "choose another encoder for them"
    return f"about {share:.0%} of the texts look {shown}, which the encoder {name!r} does not know: {advice}"


def _reads(encoder: Encoder, texts: Sequence[str]) -> bool:
    """Whether the tokeniser does not take texts apart into unknown tokens or single characters."""
    tokens = encoder.tokenise(texts)
    ids = tokens.ids[tokens.ordinary]
    unknown = getattr(encoder, "unknown_id", None)
    n_unknown = 0 if unknown is None else int((tokens.ids == unknown).sum())
    characters = sum(not character.isspace() for text in texts for character in text)
    return n_unknown <= UNKNOWN * len(ids) and len(ids) <= TOKENS_PER_CHARACTER * characters


def _letters(text: str) -> int:
    return sum(map(str.isalpha, text[:BEGINNING]))


def _script(text: str) -> str:
    """The script of most letters of a text, such as "Arabic"."""
    names = (unicodedata.name(c, "unknown").split()[0] for c in text[:BEGINNING] if c.isalpha())
    script = Counter(names).most_common(1)[0][0]
    return "Chinese" if script == "CJK" else "Japanese" if script in ("HIRAGANA", "KATAKANA") else script.title()


def _language(text: str) -> str:
    """The language whose frequent words a text has most of, or "" if there is none or more than one."""
    words = [word.lower() for word in words_of(text[:BEGINNING])]
    hits = {language: sum(word in some for word in words) for language, some in _WORDS.items()}
    (first, most), (_, second) = Counter(hits).most_common(2)
    return first if most > second else ""
