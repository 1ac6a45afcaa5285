"""Measure the processor time of `import subtaxa` and of `subtaxa --help`, each in processes of their own."""

from __future__ import annotations

import subprocess
import sys

from measurement import Measurement, of_children

TIMES = 7


def processor_seconds(*arguments: str) -> float:
    """The least processor time of several processes, which other programs disturb little."""
    spent = []
    for _ in range(TIMES):
        before = of_children()
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        spent.append(of_children() - before)
    return min(spent)


def measure() -> list[Measurement]:
    bare = processor_seconds("-c", "pass")
    imported, helped = processor_seconds("-c", "import subtaxa"), processor_seconds("-m", "subtaxa", "--help")
    how = f"processor time; Python alone takes {bare:.2f} s"
    return [
        Measurement("import subtaxa", imported, 0.3, False, how, "s"),
        Measurement("subtaxa --help", helped, 0.5, False, how, "s"),
    ]
