"""Texts in a language or script that the encoder does not know are noticed, and words are found in any script."""

from __future__ import annotations

import csv
import html
from pathlib import Path

import numpy as np
import pytest
from helpers.architectures import make_tiny
from helpers.corpus import planted_corpus

from subtaxa import Discovery
from subtaxa.encoders.languages import _language, _script, notice
from subtaxa.encoders.lexical import lexical_features
from subtaxa.encoders.scripts import words_of
from subtaxa.encoders.sentence_encoder import SentenceEncoder
from subtaxa.runtime.progress import Progress
from subtaxa.taxonomy.naming import name_categories

THREE = Path(__file__).parents[2] / "benchmarks" / "quality" / "three_languages.csv"
SCRIPTS = {
    "Chinese": ["今天北京的天气怎么样", "明天会下雨吗", "打开客厅的灯", "请把灯关掉"],
    "Arabic": ["ما حالة الطقس اليوم في القاهرة", "هل ستمطر غدا", "أشعل الضوء في غرفة المعيشة", "أطفئ الضوء من فضلك"],
    "Thai": ["วันนี้อากาศเป็นอย่างไร", "พรุ่งนี้ฝนจะตกไหม", "เปิดไฟในห้องนั่งเล่น", "ปิดไฟหน่อย"],
    "Cyrillic": ["какая сегодня погода", "завтра будет дождь", "включи свет в гостиной", "выключи свет"],
}


@pytest.fixture(scope="module")
def packaged() -> SentenceEncoder:
    return SentenceEncoder()


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_that_the_vocabulary_does_not_know_is_noticed(packaged: SentenceEncoder, script: str) -> None:
    line = notice("packaged", packaged, SCRIPTS[script])
    assert line == (
        f"about 100% of the texts look {script}, which the encoder 'packaged' does not know: "
        "use --encoder multilingual, or another encoder for them"
    )
    line = notice("a/folder", packaged, SCRIPTS[script])  # The tokens tell, whatever the encoder's name is.
    assert line is not None
    assert script in line


def test_a_language_with_latin_letters_is_noticed_for_english_encoders_only(packaged: SentenceEncoder) -> None:
    with THREE.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    german, spanish = ([row["text"] for row in rows if row["language"] == code] for code in ("de", "es"))
    assert "look German" in (notice("small", packaged, german) or "")
    assert "look Spanish" in (notice("small", packaged, spanish) or "")
    assert notice("a/folder", packaged, german) is None


def test_english_is_not_noticed(packaged: SentenceEncoder) -> None:
    texts, _, _ = planted_corpus()
    assert notice("packaged", packaged, texts) is None
    assert notice("packaged", packaged, ["how do i reset my password", "ok", "42", "", "🙂🙂🙂🙂🙂"]) is None
    assert notice("packaged", packaged, []) is None
    some = ["the card was lost"] * 95 + SCRIPTS["Arabic"]  # A few texts are no reason to change the encoder.
    assert notice("packaged", packaged, some) is None


def test_the_user_is_told_once(tiny_encoder: str, quick: dict[str, object]) -> None:
    said: list[str] = []

    class Heard(Progress):
        def say(self, line: str) -> None:
            said.append(line)

    texts = [f"{text} {number}" for text in SCRIPTS["Arabic"] for number in range(5)]
    Discovery(2, **{**quick, "epochs": 1}).fit(texts, ["a"] * len(texts), progress=Heard())  # type: ignore[arg-type]
    assert len([line for line in said if "look Arabic" in line]) == 1


def test_scripts_and_languages_are_guessed() -> None:
    assert {script: {_script(text) for text in texts} for script, texts in SCRIPTS.items()} == {
        script: {script} for script in SCRIPTS
    }
    assert _script("これは日本語です") == "Japanese"
    assert _language("wie ist das Wetter und was soll ich anziehen") == "German"
    assert _language("what is the weather like") == "English"
    assert _language("xyzzy") == ""


def test_words_of_any_script() -> None:
    assert words_of("Turn the light on, 42 a") == ["Turn", "the", "light", "on", "42"]
    assert words_of("灯") == ["灯"]
    assert words_of("打开 iPhone 灯光吧") == ["打开", "iPhone", "灯光", "光吧"]
    assert words_of("أشعل الضوء") == ["أشعل", "الضوء"]
    assert words_of("เปิดไฟ") == ["เปิด", "ปิดไ", "ิดไฟ"]


@pytest.mark.parametrize("script", ["Chinese", "Arabic", "Thai"])
def test_texts_that_share_words_are_similar_in_any_script(script: str) -> None:
    weather, _, light, dark = SCRIPTS[script]
    others = [f"word{i} thing{i}" for i in range(60)]
    rows, vocabulary = lexical_features([weather, weather + "?", light, light + "!", dark, dark + ".", *others])
    assert vocabulary is not None
    similarity = rows @ rows.T
    assert similarity[0, 1] > 0.9
    assert similarity[2, 3] > 0.9
    assert similarity[0, 2] < 0.5


@pytest.mark.parametrize("script", ["Chinese", "Arabic", "Thai"])
def test_names_and_the_report_are_in_the_script_of_the_texts(script: str, tmp_path: Path) -> None:
    texts = [text for text in SCRIPTS[script] for _ in range(6)]
    encoder = make_tiny(tmp_path, "roberta")  # Its tokens are bytes, so it tells all texts apart.
    model = Discovery(2, preset="quick", epochs=1, encoder=encoder).fit(texts, ["all"] * len(texts))
    names = [category.name for category in model.taxonomy_]
    assert {_script(name) for name in names} == {script}
    assert all(_script(word) == script for category in model.taxonomy_ for word in category.keywords)
    page = (model.save(tmp_path / "run") / "report.html").read_text("utf-8")
    assert all(html.escape(name) in page for name in names)
    assert '<bdi dir="auto">' in page  # The browser finds the direction of each name and text by itself.
    assert Discovery.load(tmp_path / "run").predict([texts[0]])[0] == model.labels_[0]


@pytest.mark.parametrize("script", ["Chinese", "Arabic", "Thai"])
def test_words_of_all_texts_are_no_keywords(script: str) -> None:
    """Stop words come from the corpus, in any script."""
    please = {"Chinese": "谢谢", "Arabic": "شكرا", "Thai": "ขอบคุณ"}[script]
    weather, _, light, _ = SCRIPTS[script]
    texts = [f"{text} {please} {i}" for text in (weather, light) for i in range(30)]
    parts = np.repeat([0, 1], 30)
    rows = np.eye(2, dtype=np.float32)[parts]
    found = name_categories(texts, parts, np.zeros(2, dtype=np.int64), rows, None)
    assert all(please not in (words.name, *words.keywords) for words in found)
