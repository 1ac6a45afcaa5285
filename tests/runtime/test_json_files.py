"""JSON that subtaxa writes: numpy values and any string."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from subtaxa.runtime.json_files import json_text, read_json


def test_json_holds_numpy_and_any_string() -> None:
    content = {"a": np.int64(3), "b": np.float32(0.5), "c": "é\ud800😀", "d": np.True_}
    text = json_text(content)
    assert json.loads(text) == {"a": 3, "b": 0.5, "c": "é\ud800😀", "d": True}
    assert text.isascii()
    with pytest.raises(TypeError, match="set cannot be written as JSON"):
        json_text({"a": {1}})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"\\ud800"', "\ufffd"),
        ('{"\\uDC00": ["a\\ud83d"]}', {"\ufffd": ["a\ufffd"]}),
        ('["\\ud83d\\ude00", "\\\\ud800"]', ["\U0001f600", "\\ud800"]),
    ],
)
def test_lone_surrogates_are_replaced(tmp_path: Path, text: str, expected: object) -> None:
    (tmp_path / "file.json").write_text(text)
    assert read_json(tmp_path / "file.json") == expected
