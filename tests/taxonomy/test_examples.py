"""Examples are near the centroid but not near copies, and a line tells a category from its nearest sibling."""

from __future__ import annotations

import numpy as np
from helpers.planted import unit_rows

from subtaxa.taxonomy.examples import EXAMPLES, LENGTH, differences, representatives

CENTRE = np.array([1.0, 0.0], dtype=np.float32)


def at(*degrees: float) -> np.ndarray:
    angles = np.deg2rad(degrees)
    return unit_rows(np.stack([np.cos(angles), np.sin(angles)], 1))


def test_the_nearest_comes_first_and_near_copies_are_left_out() -> None:
    """The cosine of 10 degrees is above 0.95, that of 25 degrees below."""
    texts = ["25", "0", "10", "-25"]
    assert representatives(texts, at(25, 0, 10, -25), np.arange(4), CENTRE) == ("0", "25", "-25")


def test_maximal_marginal_relevance_by_hand() -> None:
    """After 0°, -30° scores cos 30 - cos 30 / 2 = 0.43 and 60° scores 0.25. Then 60° is the only one left."""
    assert representatives(["60", "-30", "0"], at(60, -30, 0), np.arange(3), CENTRE) == ("0", "-30", "60")
    assert representatives(["60", "-30", "0"], at(60, -30, 0), np.array([0, 1]), CENTRE) == ("-30", "60")
    assert representatives([], at(), np.empty(0, dtype=np.int64), CENTRE) == ()


def test_copies_of_one_text_are_one_example() -> None:
    texts = ["Canned  text"] * 200 + ["canned text"] + [f"other {i}" for i in range(10)]
    features = at(*[0.0] * 201, *(20.0 * (i + 1) for i in range(10)))
    found = representatives(texts, features, np.arange(211), CENTRE)
    assert found[0] == "Canned  text"
    assert "canned text" not in found
    assert len(found) == EXAMPLES == len(set(found))


def test_a_huge_text_is_shown_by_its_beginning() -> None:
    huge = "word " * 10**6
    found = representatives([huge, huge + "end", "short"], at(0, 1, 40), np.arange(3), CENTRE)
    assert found == (huge[:LENGTH], "short")


def test_the_difference_names_the_nearest_sibling_and_what_it_lacks() -> None:
    names = ["card lost", "card declined", "parcel late", "password"]
    keywords = [["card", "lost", "stolen"], ["card", "declined", "rejected"], ["parcel", "late"], ["password"]]
    lines = differences(names, keywords, at(0, 10, 60, 5), np.array([0, 0, 0, 1]))
    assert lines == [
        "like “card declined”, but about “lost” and “stolen”",
        "like “card lost”, but about “declined” and “rejected”",
        "like “card declined”, but about “parcel” and “late”",
        "",
    ]
    assert differences([], [], np.empty((0, 2), dtype=np.float32), np.empty(0, dtype=np.int64)) == []
