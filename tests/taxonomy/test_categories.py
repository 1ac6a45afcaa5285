"""The taxonomy as a sequence, a tree, a DataFrame and dictionaries."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from subtaxa.taxonomy.categories import Category, Taxonomy

CATEGORIES = (
    Category(0, "billing", "refund", ("refund", "money back"), ("where is my refund?", "refund, please"), 7),
    Category(1, "billing", "double charge", ("charged twice",), ("charged twice!",), 4),
    Category(2, "billing", "😀, “quoted”", (), (), 2),
    Category(3, "login & more", "password", ("password",), ("forgot it",), 5),
    Category(4, "login & more", "locked", ("locked",), ("locked out",), 5),
)
TAXONOMY = Taxonomy(CATEGORIES)


def test_it_is_a_sequence_of_categories() -> None:
    assert len(TAXONOMY) == 5
    assert TAXONOMY[1] is CATEGORIES[1]
    assert TAXONOMY[-1].name == "locked"
    assert list(TAXONOMY) == list(CATEGORIES)
    assert CATEGORIES[2] in TAXONOMY
    assert TAXONOMY.index(CATEGORIES[3]) == 3
    with pytest.raises(IndexError):
        TAXONOMY[5]


def test_parents_and_children_are_in_order() -> None:
    assert TAXONOMY.parents == ("billing", "login & more")
    assert TAXONOMY.children("billing") == CATEGORIES[:3]
    assert TAXONOMY.children("login & more") == CATEGORIES[3:]
    assert TAXONOMY.children("unknown") == ()


def test_tree() -> None:
    assert str(TAXONOMY).splitlines() == [
        "billing  (13 texts, 3 categories)",
        "  ├─ refund  7",
        "  ├─ double charge  4",
        "  └─ 😀, “quoted”  2",
        "login & more  (10 texts, 2 categories)",
        "  ├─ password  5",
        "  └─ locked  5",
    ]


def test_the_last_branch_is_the_last_child_even_if_a_sibling_is_equal() -> None:
    twins = Taxonomy((CATEGORIES[0], replace(CATEGORIES[0])))
    assert [line[:4] for line in str(twins).splitlines()[1:]] == ["  ├─", "  └─"]


def test_frame_has_a_row_for_each_category() -> None:
    frame = TAXONOMY.to_frame()
    assert frame.index.tolist() == [0, 1, 2, 3, 4]
    assert frame.index.name == "id"
    columns = ["parent", "name", "keywords", "examples", "size", "stability", "named", "namer", "difference"]
    assert frame.columns.tolist() == columns
    assert frame.loc[1, "name"] == "double charge"
    assert frame["size"].sum() == 23
    assert frame.loc[0, "keywords"] == ("refund", "money back")


def test_round_trip_through_json() -> None:
    again = Taxonomy.from_dict(json.loads(json.dumps(TAXONOMY.to_dict())))
    assert again == TAXONOMY
    assert isinstance(again[0].keywords, tuple)
    assert isinstance(again[0].examples, tuple)


@pytest.mark.parametrize("missing", ["id", "parent", "name", "keywords", "examples", "size"])
def test_a_row_without_a_required_key_is_an_error(missing: str) -> None:
    row = {key: value for key, value in TAXONOMY.to_dict()[0].items() if key != missing}
    with pytest.raises(KeyError):
        Taxonomy.from_dict([row])


def test_it_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        TAXONOMY.categories = ()  # type: ignore[misc]
    with pytest.raises(AttributeError):
        TAXONOMY[0].name = "other"


def test_a_notebook_shows_a_table_per_label_and_runs_nothing() -> None:
    hostile = Category(9, "</summary><script>", "<img src=x onerror=alert(1)>", ("a&b",), (), 1, 0.5)
    shown = Taxonomy((*CATEGORIES, hostile))._repr_html_()
    assert shown.count("<table>") == 3
    assert shown.count("<tr>") == 3 + 6
    assert "<td>0.50</td>" in shown
    assert "<script" not in shown
    assert "<img" not in shown
    assert "a&amp;b" in shown
