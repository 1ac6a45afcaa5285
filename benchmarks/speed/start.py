"""Time `import subtaxa` and `subtaxa --help`, each in processes of their own."""

from __future__ import annotations

import subprocess
import sys

from measurement import Measurement, seconds


def measure() -> list[Measurement]:
    def spent(*arguments: str) -> float:
        return seconds(lambda: subprocess.run([sys.executable, *arguments], check=True, capture_output=True), 7)

    bare = spent("-c", "pass")
    imported, helped = spent("-c", "import subtaxa"), spent("-m", "subtaxa", "--help")
    how = f"Python alone starts in {bare:.2f} s"
    return [
        Measurement("import subtaxa", imported, 0.3, False, how, "s"),
        Measurement("subtaxa --help", helped, 0.5, False, how, "s"),
    ]
