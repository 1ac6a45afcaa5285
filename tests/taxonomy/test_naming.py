"""Names: scores computed by hand, different names for siblings, and all scripts and unusual texts."""

from __future__ import annotations

import math
import unicodedata

import numpy as np
import pytest
from helpers.planted import unit_rows

from subtaxa.taxonomy.naming import EXAMPLES, KEYWORDS, STOP_WORDS, Words, class_tfidf, name_categories, representatives

LONGEST = 80


def named(*categories: list[str], parents: list[int] | None = None) -> list[Words]:
    """Names for categories given by their texts, all below one label unless `parents` says otherwise."""
    texts = [text for category in categories for text in category]
    assignment = np.repeat(np.arange(len(categories)), [len(c) for c in categories])
    return name_categories(texts, assignment, np.array(parents or [0] * len(categories)))


def words_of(found: list[Words]) -> set[str]:
    return {word for words in found for phrase in words.keywords for word in phrase.split()}


def test_class_tfidf_by_hand() -> None:
    """Class 0 has two texts, class 1 has one. tf is the share of texts, idf is log(1 + 2 / Σ shares).

    Phrases of two words count 1.4 times.
    """
    phrases, scores = class_tfidf(["red apple", "Red pear", "blue apple"], np.array([0, 0, 1]), 2)
    found = {phrase: scores[:, i].tolist() for i, phrase in enumerate(phrases.tolist())}
    assert found == {
        "red": pytest.approx([math.log(3), 0]),
        "apple": pytest.approx([0.5 * math.log(1 + 2 / 1.5), math.log(1 + 2 / 1.5)]),
        "pear": pytest.approx([0.5 * math.log(5), 0]),
        "blue": pytest.approx([0, math.log(3)]),
        "red apple": pytest.approx([1.4 * 0.5 * math.log(5), 0]),
        "red pear": pytest.approx([1.4 * 0.5 * math.log(5), 0]),
        "blue apple": pytest.approx([0, 1.4 * math.log(3)]),
    }


def test_a_phrase_counts_once_per_text_and_three_words_have_weight_1_8() -> None:
    phrases, scores = class_tfidf(["spam spam spam eggs ham", "tea"], np.array([0, 1]), 2)
    found = dict(zip(phrases.tolist(), scores[0].tolist(), strict=True))
    assert found["spam"] == pytest.approx(math.log(3))
    assert found["spam eggs ham"] == pytest.approx(1.8 * math.log(3))


def test_large_classes_do_not_dominate_small_ones() -> None:
    """The share of a class's texts counts, not the number of texts."""
    phrases, scores = class_tfidf(["cat"] * 40 + ["dog"], np.array([0] * 40 + [1]), 2)
    assert phrases.tolist() == ["cat", "dog"]
    assert scores[0, 0] == pytest.approx(scores[1, 1])


def test_the_name_consists_of_distinctive_words() -> None:
    found = named(
        ["please reset my password", "I forgot my password", "the password is wrong"],
        ["where is my parcel", "my parcel is late", "parcel not delivered"],
    )
    assert "password" in found[0].name
    assert "parcel" in found[1].name
    assert "parcel" not in found[0].keywords


def test_no_stop_word_and_no_number_is_in_a_keyword() -> None:
    found = named(
        ["I don’t know how to please reset 12345 the password, thanks!", "I can't get it, don't u know"],
        ["hello, would you just tell me where the parcel is", "it's not the parcel I'd want; thank you 2 much"],
    )
    assert words_of(found)
    assert not words_of(found) & STOP_WORDS
    assert not any(char.isdigit() for word in words_of(found) for char in word)


def test_siblings_never_share_a_name() -> None:
    """Five categories with the same texts differ only by a number."""
    for texts in (
        ["red apple pie"] * 3,
        ["apple"],
        ["😀"],
        ["one two three four five six seven eight nine ten eleven"],
    ):
        found = named(*[texts] * 5)
        assert len({words.name for words in found}) == 5
        assert all(words.name.strip() for words in found)


def test_categories_of_different_labels_may_share_a_name() -> None:
    found = named(["apple tree"], ["brick house"], ["apple tree"], ["brick house"], parents=[0, 0, 1, 1])
    assert [words.name for words in found[:2]] == [words.name for words in found[2:]]


def test_names_belong_to_their_categories_in_any_order_of_the_parents() -> None:
    found = named(["apple"], ["brick"], ["cloud"], ["drum"], parents=[1, 0, 1, 0])
    assert [words.name for words in found] == ["apple", "brick", "cloud", "drum"]


def test_no_keyword_repeats_another() -> None:
    found = named(["alarm alarms alarming set alarm clock charge charged charges"], ["tea"])[0]
    stems = [word[:5] for phrase in found.keywords for word in phrase.split()]
    assert len(stems) == len(set(stems))
    assert len(found.keywords) <= KEYWORDS


def test_only_child_is_named_against_all_other_texts() -> None:
    found = named(
        ["order parcel late", "order parcel lost"],
        ["order password reset", "order password forgotten"],
        parents=[0, 1],
    )
    assert "parcel" in found[0].keywords[0]
    assert "password" in found[1].keywords[0]
    assert "order" not in found[0].keywords  # All texts contain it.


def test_only_child_of_the_only_label_has_a_name() -> None:
    assert "parcel" in named(["parcel late", "parcel lost"])[0].name
    assert named(["😀"])[0] == Words("category 1", ())


def test_without_words_the_names_are_numbers() -> None:
    found = named(["😀😀", "🎉"], ["🔥"], ["123", "!!!", ""])
    assert [words.name for words in found] == ["category 1", "category 2", "category 3"]
    assert all(words.keywords == () for words in found)


def test_one_category_without_words_among_others() -> None:
    found = named(["parcel late"], ["🔥", "the a of"], ["password reset"])
    assert found[1].keywords == ()
    assert found[1].name == "category 2"


def test_names_differ_even_if_a_text_looks_like_a_numbered_name() -> None:
    found = named(["category"], ["😀"], ["category"])
    assert len({words.name for words in found}) == 3


@pytest.mark.parametrize(
    ("script", "first", "second"),
    [
        ("HEBREW", ["שכחתי סיסמה", "איפוס סיסמה"], ["חשבונית כפולה", "חשבונית שגויה"]),
        ("ARABIC", ["نسيت كلمة المرور", "تغيير كلمة المرور"], ["الفاتورة خاطئة", "الفاتورة مكررة"]),
        ("CYRILLIC", ["забыл пароль", "сбросить пароль"], ["двойной счёт", "неверный счёт"]),
        ("GREEK", ["ξέχασα τον κωδικό", "αλλαγή κωδικό"], ["διπλό τιμολόγιο", "λάθος τιμολόγιο"]),
        ("HANGUL", ["비밀번호 재설정", "비밀번호 분실"], ["청구서 오류", "청구서 중복"]),
        ("DEVANAGARI", ["बिल का भुगतान", "बिल गलत है"], ["पासवर्ड भूल गया", "नया पासवर्ड"]),
        ("TAMIL", ["கடவுச்சொல் மறந்தேன்", "புதிய கடவுச்சொல்"], ["விலைப்பட்டியல் தவறு", "விலைப்பட்டியல் எங்கே"]),
        ("LATIN", ["re\u0301sume\u0301 perdu", "mon re\u0301sume\u0301"], ["facture erronée", "facture double"]),
    ],
)
def test_keywords_are_whole_words_in_every_script_with_spaces(script: str, first: list[str], second: list[str]) -> None:
    found = named(first, second)
    given = set(" ".join(first + second).split())
    assert all(words.keywords for words in found)
    assert words_of(found) <= given
    assert all(unicodedata.name(words.name[0]).startswith(script) for words in found)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (["忘记密码", "密码重置"], ["账单错误", "账单重复"]),
        (["パスワードを忘れました", "パスワードの再設定"], ["請求書が届かない", "請求書の再発行"]),
    ],
)
def test_scripts_without_spaces_are_named_by_pairs_of_characters(first: list[str], second: list[str]) -> None:
    found = named(first, second)
    for words, texts in zip(found, (first, second), strict=True):
        assert words.keywords
        assert all(any(word in text for text in texts) for phrase in words.keywords for word in phrase.split())
    assert found[0].name != found[1].name


def test_names_are_short() -> None:
    long_words = ["Donaudampfschifffahrtsgesellschaftskapitän", "Rindfleischetikettierungsüberwachung", "Rindfleisch"]
    found = named(long_words, [word + "n" for word in long_words], [" ".join(long_words)] * 2, ["tea " * 500])
    assert all(len(words.name) <= LONGEST for words in found)


def test_names_stay_short_when_siblings_begin_with_the_same_very_long_words() -> None:
    """Words of 500 letters that differ only at the end, as in encoded attachments."""
    endless = ["x" * 500 + tail for tail in "abc"] + ["y" * 500 + tail for tail in "abc"]
    for categories in ([[word] for word in endless], [endless] * 4):
        found = named(*categories)
        assert len({words.name for words in found}) == len(categories)
        assert max(len(words.name) for words in found) <= LONGEST


def test_names_stay_short_when_siblings_have_the_same_words() -> None:
    text = " ".join(f"{letter}{'onderful' * 2}" for letter in "bcdfghjklmnpqrstvwxz")
    found = named(*[[text]] * 6)
    assert len({words.name for words in found}) == 6
    assert max(len(words.name) for words in found) <= LONGEST


def test_a_name_that_is_cut_does_not_end_in_a_space() -> None:
    found = named([f"{'a' * 20} {'b' * 18} {'c' * 20}"], ["tea"])
    assert found[0].name == found[0].name.strip()


def test_among_many_texts_a_word_must_occur_twice() -> None:
    """From 50 texts on, a word that only one text contains is ignored."""
    rows = [f"parcel unique{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(60)]
    assert named(rows, ["password reset"] * 5)[0].keywords == ("parcel",)


def test_representatives_are_distinct_and_nearest_first() -> None:
    angles = np.deg2rad([50.0, 10.0, 0.0, 30.0, 10.0, 20.0, 40.0, 60.0])
    features = unit_rows(np.stack([np.cos(angles), np.sin(angles)], 1))
    texts = ["50", "10", "0", "30", "10", "20", "40", "60"]
    centre = np.array([1.0, 0.0], dtype=np.float32)
    assert representatives(texts, features, np.arange(8), centre) == ("0", "10", "20", "30", "40")
    assert representatives(texts, features, np.array([7, 4, 1]), centre) == ("10", "60")
    assert representatives(texts, features, np.array([], dtype=np.int64), centre) == ()


def test_representatives_skip_copies_of_one_text() -> None:
    """A canned message that occurs often near the centroid is one example, not all of them."""
    texts = ["canned"] * 200 + [f"other {i}" for i in range(10)]
    features = unit_rows(np.array([[1.0, 0.0]] * 200 + [[1.0, 0.1 * (i + 1)] for i in range(10)]))
    found = representatives(texts, features, np.arange(210), np.array([1.0, 0.0], dtype=np.float32))
    assert found == ("canned", "other 0", "other 1", "other 2", "other 3")
    assert len(found) == EXAMPLES
