"""Names: phrases that tell siblings apart, unique and tidy, in all scripts, in flat lists and trees."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np
import pytest

from subtaxa.runtime.arrays import Floats, unit
from subtaxa.taxonomy.function_words import STOP_WORDS
from subtaxa.taxonomy.keywords import KEYWORDS
from subtaxa.taxonomy.naming import Words, fresh_name, name_categories, name_nodes
from subtaxa.taxonomy.nodes import Nodes

LONGEST = 45  # 40 characters, and a number where names would be equal


def named(*categories: list[str], parents: list[int] | None = None) -> list[Words]:
    """Names for categories given by their texts, all below one label unless `parents` says otherwise."""
    texts = [text for category in categories for text in category]
    assignment = np.repeat(np.arange(len(categories)), [len(c) for c in categories])
    return name_categories(texts, assignment, np.array(parents or [0] * len(categories)))


def words_of(found: list[Words]) -> set[str]:
    return {word for words in found for phrase in words.keywords for word in phrase.split()}


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


WORDS = "reset my password please forgot lost parcel late where is order refund money back card declined why was"


def bag(texts: Sequence[str]) -> Floats:
    """An encoder for tests: the words of a text, as a unit vector."""
    rows = np.array([[float(word in text.lower().split()) for word in WORDS.split()] for text in texts])
    return unit(rows + 1e-6)


SUPPORT = (
    ["please reset my password", "I want to reset my password", "reset my password now", "forgot my password"],
    ["my parcel is late", "the parcel is late again", "why is my parcel late", "late parcel"],
    ["why was my card declined", "card declined again", "they say card declined", "my card was declined"],
)


def support_names(order: Sequence[int] | None = None) -> list[str]:
    texts = [text for category in SUPPORT for text in category]
    assignment = np.repeat(np.arange(3), 4)
    chosen = np.arange(12) if order is None else np.array(order)
    texts, assignment = [texts[i] for i in chosen], assignment[chosen]
    found = name_categories(texts, assignment, np.zeros(3, dtype=np.int64), bag(texts), bag)
    return [words.name for words in found]


def test_a_phrase_that_is_near_the_centroid_becomes_the_name() -> None:
    names = support_names()
    assert names[0] == "reset my password"
    assert "parcel" in names[1]
    assert names[2] == "card declined"


def test_names_do_not_depend_on_the_order_of_the_texts() -> None:
    assert support_names(np.random.default_rng(3).permutation(12).tolist()) == support_names()


def test_each_phrase_is_embedded_once_and_in_one_batch() -> None:
    batches: list[list[str]] = []

    def embed(texts: Sequence[str]) -> Floats:
        batches.append(list(texts))
        return bag(texts)

    texts = [text for category in SUPPORT for text in category]
    name_categories(texts, np.repeat(np.arange(3), 4), np.zeros(3, dtype=np.int64), bag(texts), embed)
    assert len(batches) == 1
    assert len(batches[0]) == len(set(batches[0]))


def test_only_wanted_categories_get_a_name_and_all_get_keywords() -> None:
    texts = [text for category in SUPPORT for text in category]
    found = name_categories(texts, np.repeat(np.arange(3), 4), np.zeros(3, dtype=np.int64), wanted=[1])
    assert [bool(words.name) for words in found] == [False, True, False]
    assert all(words.keywords for words in found)


def test_no_article_is_at_the_end_but_a_word_that_distinguishes_is() -> None:
    """ "off" and "on" are function words, but they tell these two categories apart."""
    things = ["lights", "heating", "fan", "socket", "lamp", "radio", "oven", "boiler"]
    found = named(
        [f"please turn off the {thing}" for thing in things],
        [f"please turn on the {thing}" for thing in things],
        [f"where is the {thing}" for thing in things],
    )
    assert found[0].name.startswith("turn off")
    assert found[1].name.startswith("turn on")
    assert not any(words.name.split()[-1] == "the" for words in found)


def test_acronyms_and_names_are_written_as_most_people_write_them() -> None:
    found = named(
        ["my PIN code is wrong", "the PIN code fails", "Pin code?", "new PIN code"],
        ["My parcel is late", "The parcel", "Parcel late", "a late parcel"],
    )
    assert found[0].name == "PIN code"
    assert found[1].name == found[1].name.lower()


def test_no_number_and_no_address_is_in_a_name() -> None:
    found = named(
        ["order 12345 of anna.smith@example.com arrived broken", "order 777 arrived broken see https://x.org/broken"],
        ["parcel AB123 to @bob is lost #lost", "parcel CD456 is lost"],
    )
    for words in found:
        text = " ".join((words.name, *words.keywords))
        assert not any(char.isdigit() for char in text)
        assert not any(word in text for word in ("anna", "smith", "example", "https", "bob"))


def test_a_name_that_one_of_many_texts_has_is_not_used() -> None:
    texts = ["parcel late"] * 30 + ["Rumpelstiltskin Grimm parcel"]
    found = named(texts, ["password reset"] * 30)
    assert "rumpelstiltskin" not in " ".join((found[0].name, *found[0].keywords)).lower()


def test_function_words_of_another_language_are_found_in_the_corpus() -> None:
    """Articles that all categories use do not stand at an end of a name."""
    things = [["passwort", "kennwort"], ["paket", "päckchen"], ["rechnung", "mahnung"], ["karte", "kreditkarte"]]
    found = named(*[[f"ich habe der {a} für die", f"für die {b} habe der"] * 8 for a, b in things])
    assert [words.name in pair for words, pair in zip(found, things, strict=True)] == [True] * 4


def test_nodes_of_a_tree_are_named_by_what_their_children_share() -> None:
    """Parts 0 and 1 are both about cards, 2 and 3 about parcels. Node 4 joins the first two, 5 the others, 6 all."""
    parts = [
        ["card declined today", "card declined again", "my card declined"],
        ["card lost today", "card lost again", "my card lost"],
        ["parcel late today", "parcel late again", "my parcel late"],
        ["parcel broken today", "parcel broken again", "my parcel broken"],
    ]
    texts = [text for part in parts for text in part]
    nodes = Nodes.tree(np.array([[0, 1], [2, 3], [4, 5]]), np.zeros(4, dtype=np.int64))
    found = name_nodes(texts, np.repeat(np.arange(4), 3), nodes)
    names = [words.name for words in found]
    assert [("declined" in names[0]), ("lost" in names[1]), ("late" in names[2]), ("broken" in names[3])] == [True] * 4
    assert "card" in names[4]
    assert not any(word in names[4] for word in ("declined", "lost", "parcel"))
    assert "parcel" in names[5]
    assert len(set(names[:6])) == 6


def test_the_name_of_a_node_does_not_depend_on_nodes_elsewhere_in_the_tree() -> None:
    """Joining parts 2 and 3 in another order changes nothing for parts 0 and 1 and their union."""
    texts = [f"{what} {when}" for what in ("card declined", "card lost", "parcel late", "door open") for when in "abc"]
    texts = [text.replace(" a", " today").replace(" b", " again").replace(" c", " now") for text in texts]
    parts = np.repeat(np.arange(4), 3)
    labels = np.zeros(4, dtype=np.int64)
    one = name_nodes(texts, parts, Nodes.tree(np.array([[0, 1], [2, 3], [4, 5]]), labels))
    other = name_nodes(texts, parts, Nodes.tree(np.array([[2, 3], [0, 1], [5, 4]]), labels))
    assert [one[i] for i in (0, 1, 4)] == [other[i] for i in (0, 1, 5)]


def test_a_fresh_name_differs_not_only_in_capitals() -> None:
    assert fresh_name("Refund", {"refund", "refund (2)"}) == "Refund (3)"


def test_among_texts_without_a_common_phrase_the_name_still_has_several_words() -> None:
    """A single text has the two words that all texts have next to each other. It is typical, so it gives the name."""
    between = [f"{a}{b}" for a in ("mo", "tu", "we", "th", "fr") for b in ("ka", "le", "ni", "so", "ru", "my")]
    app = [*(f"app {word} crash" for word in between), "app crash"]
    post = [*(f"parcel {word} late" for word in between), "parcel late"]

    def embed(texts: Sequence[str]) -> Floats:
        known = ("app", "crash", "parcel", "late", *between)
        return unit(np.array([[float(word in text.split()) for word in known] for text in texts]) + 1e-6)

    texts = app + post
    found = name_categories(texts, np.repeat([0, 1], len(app)), np.zeros(2, dtype=np.int64), embed(texts), embed)
    assert [words.name for words in found] == ["app crash", "parcel late"]


def test_no_content_word_occurs_twice_in_a_name() -> None:
    found = named(["exchange the exchange"] * 5 + ["exchange the camera"] * 4, ["password reset"] * 9)
    assert found[0].name.split().count("exchange") <= 1


def test_no_name_ends_at_a_number() -> None:
    """ "at" tells the first category from the others, but what it belongs to is a number."""
    days = ["Monday", "Tuesday", "Wednesday", "Thursday"]
    found = named(
        [f"engineer comes at {hour}" for hour in range(4)] + ["engineer comes late", "engineer late"],
        [f"engineer booked for {day}" for day in days],
        [f"engineer was rude on {day}" for day in days],
    )
    assert found[0].name.split()[-1] != "at"


def test_a_function_word_that_is_frequent_in_all_other_labels_does_not_begin_a_name() -> None:
    """ "why" is rare among the siblings, but every other label has it. It says nothing about the category."""
    parcel = [f"why parcel {word}" for word in ("late", "lost", "broken", "late", "lost", "broken")]
    bill = ["bill wrong", "bill double", "bill high", "bill wrong", "bill double", "bill high"]
    rest = [["why lamp dark"] * 6, ["why door open"] * 6]
    found = named(parcel, bill, *rest, parents=[0, 0, 1, 1])
    assert found[0].name.split()[0] != "why"
