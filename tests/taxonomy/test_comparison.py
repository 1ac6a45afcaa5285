"""Two taxonomies compared: each kind of relation, planted, and what cannot be compared."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subtaxa.errors import InputError
from subtaxa.taxonomy.categories import Category, Taxonomy
from subtaxa.taxonomy.comparison import CategorisedTexts, Comparison, compare


def run(groups: dict[str, str], label: str = "billing") -> CategorisedTexts:
    """A run in which each letter is a text, given by the categories and their letters."""
    categories = [Category(i, label, name, (), (), len(texts)) for i, (name, texts) in enumerate(groups.items())]
    ids = [i for i, texts in enumerate(groups.values()) for _ in texts]
    return CategorisedTexts(Taxonomy(tuple(categories)), list("".join(groups.values())), [label] * len(ids), ids)


def told(found: Comparison) -> list[tuple[str, str, str]]:
    return [(r.kind, "+".join(c.name for c in r.a), "+".join(c.name for c in r.b)) for r in found.relations]


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ({"x": "abc", "y": "de"}, {"u": "abc", "v": "de"}, [("same", "x", "u"), ("same", "y", "v")]),
        ({"x": "abcd", "y": "ef"}, {"u": "abcde", "v": "f"}, [("same", "x", "u"), ("regrouped", "y", "v")]),
        ({"x": "abcde", "y": "fgh"}, {"u": "abcfgh", "v": "de"}, [("regrouped", "x+y", "u+v")]),
        ({"x": "abcdef"}, {"u": "abc", "v": "def"}, [("split", "x", "u+v")]),
        ({"x": "abc", "y": "def"}, {"u": "abcdef"}, [("merged", "x+y", "u")]),
        ({"x": "abc"}, {"u": "abc", "v": "xyz"}, [("same", "x", "u"), ("new", "", "v")]),
        ({"x": "abc", "y": "xyz"}, {"u": "abc"}, [("same", "x", "u"), ("gone", "y", "")]),
        (
            {"x": "abcd", "y": "efgh"},  # no category has most of another
            {"u": "abef", "v": "cdgh"},
            [("new", "", "u"), ("new", "", "v"), ("gone", "x", ""), ("gone", "y", "")],
        ),
    ],
)
def test_planted_relations(a: dict[str, str], b: dict[str, str], expected: list[tuple[str, str, str]]) -> None:
    assert told(compare(run(a), run(b))) == expected


def test_the_same_run_agrees_with_itself_whatever_its_ids_and_names() -> None:
    found = compare(run({"x": "abc", "y": "de"}), run({"u": "ed", "v": "cab"}))
    assert (found.ari, found.nmi) == (1.0, 1.0)
    assert found.counts() == {"same": 2, "split": 0, "merged": 0, "regrouped": 0, "new": 0, "gone": 0}
    assert told(found) == [("same", "x", "v"), ("same", "y", "u")]


def test_only_texts_of_both_runs_count_as_often_as_both_have_them() -> None:
    found = compare(run({"x": "aab", "y": "q"}), run({"u": "aaab"}))
    assert (found.both, found.only_a, found.only_b) == (3, 1, 1)
    assert found.relations[0].shared == ((0, 0, 3),)


def test_a_text_with_another_label_is_another_text() -> None:
    with pytest.raises(InputError, match="no text with the same label in common"):
        compare(run({"x": "abc"}), run({"x": "abc"}, "login"))


def test_an_unknown_category_is_refused() -> None:
    odd = CategorisedTexts(Taxonomy((Category(0, "billing", "x", (), (), 1),)), ["a"], ["billing"], [7])
    with pytest.raises(InputError, match="name a category 7"):
        compare(odd, run({"x": "a"}))


@settings(max_examples=100, derandomize=True, deadline=None, database=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=40))
def test_every_category_has_one_relation_and_swapping_the_runs_mirrors_them(pairs: list[tuple[int, int]]) -> None:
    def side(which: int) -> CategorisedTexts:
        ids = [pair[which] for pair in pairs]
        found = tuple(Category(i, "all", f"c{i}", (), (), ids.count(i)) for i in sorted(set(ids)))
        return CategorisedTexts(Taxonomy(found), [str(i) for i in range(len(ids))], ["all"] * len(ids), ids)

    a, b = side(0), side(1)
    forth, back = compare(a, b), compare(b, a)
    assert sorted(c.id for r in forth.relations for c in r.a) == [c.id for c in sorted(a.taxonomy, key=lambda c: c.id)]
    assert sorted(c.id for r in forth.relations for c in r.b) == [c.id for c in sorted(b.taxonomy, key=lambda c: c.id)]
    assert forth.ari == pytest.approx(back.ari)
    mirror = {"split": "merged", "merged": "split", "new": "gone", "gone": "new"}
    counts = back.counts()
    assert forth.counts() == {kind: counts[mirror.get(kind, kind)] for kind in counts}
