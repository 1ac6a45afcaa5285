"""The taxonomy in SKOS: every category has its place, and hostile names stay inside their quotes."""

from __future__ import annotations

import re
from typing import Any

import pytest

from subtaxa.errors import SettingError
from subtaxa.taxonomy.categories import Category, Taxonomy
from subtaxa.taxonomy.skos import turtle

EVIL = 'a" . <urn:x> <urn:y> "\\\n\x00\x1b\ud800'
TAXONOMY = Taxonomy(
    (
        Category(0, "billing", EVIL, ("money", "refund"), (EVIL, "x", "x"), 12, difference="more of money"),
        Category(5, "billing", "invoice", (), (), 1),
        Category(2, "login\u2028", "password", ("reset",), ("I forgot it",), 5),
    )
)
BASE = "https://example.org/topics/"


def test_every_literal_is_closed_and_every_concept_is_there() -> None:
    text = turtle(TAXONOMY, "tickets.csv", BASE)
    outside = re.sub(r'"(?:[^"\\\n\r]|\\[tnr"\\]|\\u[0-9A-F]{4})*"', "''", text)
    assert '"' not in outside
    assert "urn:x" not in outside
    assert set(re.findall(rf"^<{BASE}(\S+)> a skos:Concept ", outside, re.M)) == {
        *("label-0", "label-1", "category-0", "category-5", "category-2"),
    }
    assert text.encode()


@pytest.mark.parametrize("base", ["", "topics", "https://x/>", "https://x/ y", 'https://x/"', "https://x/\n", "a:\\u3"])
def test_a_base_that_is_no_address_is_refused(base: str) -> None:
    with pytest.raises(SettingError, match="base address"):
        turtle(TAXONOMY, "t", base)


def test_an_independent_reader_finds_the_same() -> None:
    rdflib: Any = pytest.importorskip("rdflib")
    graph = rdflib.Graph().parse(data=turtle(TAXONOMY, "tickets.csv", BASE), format="turtle")
    skos = rdflib.SKOS
    assert len(set(graph.subjects(rdflib.RDF.type, skos.Concept))) == 5
    assert str(graph.value(rdflib.URIRef(f"{BASE}category-0"), skos.prefLabel)) == EVIL.replace("\ud800", "�")
    for child, parent in graph.subject_objects(skos.broader):
        assert (parent, skos.narrower, child) in graph
    assert len(list(graph.objects(rdflib.URIRef(f"{BASE}category-0"), skos.example))) == 2
