"""Which files a result depends on, and what changes a file's digest."""

from __future__ import annotations

from pathlib import Path

import pytest

from subtaxa.bench import code_digest
from subtaxa.bench.code_digest import code_of, source_digest

PLAIN = """
class A:
    size = 3

    def grow(self, by):
        return self.size + by
"""
REWORDED = '''"""A module."""

# A comment.
class A:
    """A class."""

    size = 3  # how large

    def grow(
        self,
        by,
    ):
        """Add to the size."""
        return (self.size + by)
'''


def test_prose_and_layout_do_not_change_a_digest() -> None:
    assert source_digest(PLAIN) == source_digest(REWORDED)


@pytest.mark.parametrize(("old", "new"), [("3", "4"), ("+", "-"), ("by", "on"), ("size = 3", "size = 3\n    more = 1")])
def test_code_changes_a_digest(old: str, new: str) -> None:
    assert source_digest(PLAIN.replace(old, new)) != source_digest(PLAIN)


def test_a_string_that_is_no_docstring_counts() -> None:
    assert source_digest("x = 'a'") != source_digest("x = 'b'")
    assert source_digest("def f():\n    'a'\n    return 1") == source_digest("def f():\n    'b'\n    return 1")


def modules(method: str) -> set[str]:
    return {name.removeprefix("subtaxa.") for name in code_of(method)["files"]}


def test_a_result_depends_on_its_own_method_only() -> None:
    common = {"bench.protocols", "bench.scoring", "bench.trained_features", "clustering.rules.tree"}
    common |= {"encoders.sentence_encoder", "methods.base", "training.trainer", "training.fit_encoder"}
    for method in ("bert", "dna", "soft-dna", "star", "wscl"):
        assert common <= modules(method)
        assert not {"settings", "bench.running", "bench.records", "training.checkpoint"} & modules(method)
    own = {name: {m for m in modules(name) if m.startswith("methods.")} for name in ("bert", "dna", "star", "soft-dna")}
    assert own == {
        "bert": {"methods.base", "methods.bert"},
        "dna": {"methods.base", "methods.dna"},
        "star": {"methods.base", "methods.dna", "methods.down", "methods.star"},
        "soft-dna": {"methods.base", "methods.soft_dna"},
    }


def test_a_baseline_depends_on_no_training() -> None:
    assert {"bench.baselines", "encoders.lexical", "clustering.category_tree"} <= modules("kmeans")
    assert not any(name.startswith(("training", "methods")) for name in modules("kmeans"))


def test_pretraining_counts_where_it_is_used() -> None:
    assert code_of("down", pretrained=True)["files"].keys() - code_of("down")["files"].keys() >= {
        "subtaxa.methods.bert",
        "subtaxa.methods.mlm",
    }


def test_a_changed_file_changes_the_rows_that_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {method: code_of(method)["digest"] for method in ("bert", "dna", "star", "soft-dna", "kmeans")}
    digest = code_digest._file_digest

    def changed(path: Path) -> str:
        return "0" * 12 if path.name == "dna.py" else digest(path)

    monkeypatch.setattr(code_digest, "_file_digest", changed)
    after = {method: code_of(method)["digest"] for method in before}
    assert {method for method in before if before[method] != after[method]} == {"dna", "star"}
