"""A digest of each source file that a benchmark result depends on.

A result depends on the files that its method imports, on the training loop, on the encoder and on the scoring, but not
on the files of other methods. Comments, docstrings and layout do not count. Settings are not code: a record holds the
value of each.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
import json
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from subtaxa.bench.baselines import BASELINES
from subtaxa.methods import method_class

# Modules that lead from the texts to the scores of a trained method. Their imports are followed.
TRAINED = ("subtaxa.bench.trained_features", "subtaxa.bench.protocols", "subtaxa.bench.scoring")
# The same for a baseline.
BASELINE = ("subtaxa.bench.baselines", "subtaxa.bench.protocols", "subtaxa.bench.scoring")
# Imports are followed into these rooms and modules only.
FOLLOWED = ("subtaxa.encoders", "subtaxa.clustering", "subtaxa.training", "subtaxa.methods", "subtaxa.runtime.arrays")
# Modules in these rooms that cannot change a result: they check model folders, save a training, look up names, or
# belong to cluster rules that no protocol uses.
IGNORED = {
    "subtaxa.encoders.allowed_values",
    "subtaxa.encoders.library_folder",
    "subtaxa.training.checkpoint",
    "subtaxa.training.memory_budget",
    "subtaxa.methods",
    *(f"subtaxa.clustering.rules.{name}" for name in ("balanced", "kmeans", "merged", "ward")),
}


def code_of(method: str, pretrained: bool = False) -> dict[str, Any]:
    """The digests of the files that the results of a method or baseline depend on, by module, and one of them all."""
    files = {name: _file_digest(path) for name, path in sorted(_modules(method, pretrained).items())}
    return {"digest": hashlib.sha256(json.dumps(files).encode()).hexdigest()[:16], "files": files}


def _modules(method: str, pretrained: bool) -> dict[str, Path]:
    if method in BASELINES:
        return _reachable(BASELINE)
    chosen = method_class(method)
    classes = [chosen, *([method_class(chosen.pretraining)] if pretrained else [])]
    found = _reachable((*TRAINED, *(each.__module__ for each in classes)))
    for each in classes:  # A plug-in may lie outside the package.
        found[each.__module__] = Path(inspect.getfile(each))
    return found


def _reachable(roots: tuple[str, ...]) -> dict[str, Path]:
    """The modules that the roots import, directly or not, by name. The roots are among them."""
    found: dict[str, Path] = {}
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name in found or (name not in roots and not _is_followed(name)):
            continue
        path = _path(name)
        if path is not None:
            found[name] = path
            waiting += _imports(path)
    return found


def _is_followed(name: str) -> bool:
    return name not in IGNORED and any(name == room or name.startswith(f"{room}.") for room in FOLLOWED)


@cache
def _path(name: str) -> Path | None:
    """The file of a module. None if this is no module, but a name inside one."""
    parent, _, last = name.rpartition(".")
    if parent and not hasattr(importlib.import_module(parent), "__path__"):
        return None
    spec = find_spec(name) if last else None
    return Path(spec.origin) if spec is not None and spec.origin is not None else None


@cache
def _imports(path: Path) -> tuple[str, ...]:
    """Every module of subtaxa that a file may import. Imports for type checking do not run, so they do not count."""
    return tuple(dict.fromkeys(_imported(ast.parse(path.read_bytes()))))


def _imported(node: ast.AST) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING":
            continue
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names if alias.name.startswith("subtaxa."))
        elif isinstance(child, ast.ImportFrom) and (child.module or "").startswith("subtaxa"):
            yield str(child.module)
            yield from (f"{child.module}.{alias.name}" for alias in child.names)
        else:
            yield from _imported(child)


@cache
def _file_digest(path: Path) -> str:
    return source_digest(path.read_text("utf-8"))


def source_digest(source: str) -> str:
    """A digest of Python code that comments, docstrings and layout do not change."""
    return hashlib.sha256(repr(_plain(ast.parse(source))).encode()).hexdigest()[:12]


def _plain(node: Any) -> Any:
    """The syntax tree as nested lists. Empty fields are left out, because they vary between versions of Python."""
    if isinstance(node, list):
        return [_plain(each) for each in node]
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = dict(ast.iter_fields(node))
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and _has_docstring(node):
        fields["body"] = fields["body"][1:]
    kept = [(name, _plain(value)) for name, value in fields.items() if value is not None and value != []]
    return [type(node).__name__, *kept]


def _has_docstring(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return ast.get_docstring(node, clean=False) is not None
