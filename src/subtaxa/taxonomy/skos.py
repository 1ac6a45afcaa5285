"""The taxonomy in SKOS, the W3C's vocabulary for thesauri, written as Turtle.

Labels are top concepts, categories are narrower ones. See https://www.w3.org/TR/skos-reference/.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from subtaxa.errors import SettingError
from subtaxa.taxonomy.categories import Category, Taxonomy

# Characters of an address that Turtle allows between < and >.
_ADDRESS = re.compile(r"""[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>"{}|^`\\\ud800-\udfff]*""")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ESCAPED = re.compile('[\\\\"\x00-\x1f\x7f-\x9f\ud800-\udfff]')


def turtle(taxonomy: Taxonomy, title: str, base: str) -> str:
    """The taxonomy as Turtle. The address of each concept begins with `base`."""
    if not _ADDRESS.fullmatch(base):
        raise SettingError(f"the base address is {base!r}: give one such as https://example.org/topics/")
    return "\n\n".join(_statements(taxonomy, title, base)) + "\n"


def _statements(taxonomy: Taxonomy, title: str, base: str) -> Iterator[str]:
    scheme, tops = f"<{base}scheme>", [f"<{base}label-{i}>" for i in range(len(taxonomy.parents))]
    yield "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n@prefix dct: <http://purl.org/dc/terms/> ."
    yield _node(scheme, "skos:ConceptScheme", [f"dct:title {_quoted(title)}", *_list("skos:hasTopConcept", tops)])
    for top, parent in zip(tops, taxonomy.parents, strict=True):
        children = taxonomy.children(parent)
        below = [f"<{base}category-{c.id}>" for c in children]
        facts = [f"skos:prefLabel {_quoted(parent)}", f"skos:topConceptOf {scheme}"]
        yield _node(top, "skos:Concept", [*facts, *_list("skos:narrower", below)])
        for address, category in zip(below, children, strict=True):
            facts = [f"skos:inScheme {scheme}", f"skos:broader {top}", *_facts(category)]
            yield _node(address, "skos:Concept", facts)


def _facts(category: Category) -> Iterator[str]:
    yield f"skos:prefLabel {_quoted(category.name)}"
    yield f'skos:notation "{category.id}"'
    yield f"dct:extent {_quoted('1 text' if category.size == 1 else f'{category.size} texts')}"
    if category.keywords:
        yield f"skos:note {_quoted('keywords: ' + ', '.join(category.keywords))}"
    if category.difference:
        yield f"skos:scopeNote {_quoted(category.difference)}"
    yield from _list("skos:example", list(dict.fromkeys(map(_quoted, category.examples))))


def _node(address: str, kind: str, facts: Sequence[str]) -> str:
    return " ;\n    ".join([f"{address} a {kind}", *facts]) + " ."


def _list(property: str, values: Sequence[str]) -> list[str]:
    """A property with several values, or nothing if there are none."""
    return [f"{property} {', '.join(values)}"] if values else []


def _quoted(text: str) -> str:
    """A string as Turtle has it. A lone surrogate, which no file can hold, is replaced."""
    return '"' + _ESCAPED.sub(lambda found: _escape(found[0]), text) + '"'


def _escape(letter: str) -> str:
    if "\ud800" <= letter <= "\udfff":
        return "\N{REPLACEMENT CHARACTER}"
    return _ESCAPES.get(letter, f"\\u{ord(letter):04X}")
