"""How long it takes until subtaxa is there, in processes of their own, as multiples of starting Python."""

from __future__ import annotations

import subprocess
import sys

from speed.rows import Row, seconds


def measure() -> list[Row]:
    def spent(*arguments: str) -> float:
        return seconds(lambda: subprocess.run([sys.executable, *arguments], check=True, capture_output=True), 7)

    bare = spent("-c", "pass")
    imported, helped = spent("-c", "import subtaxa"), spent("-m", "subtaxa", "--help")
    how = f"Python itself starts in {bare:.2f} s"
    return [
        Row("import subtaxa", imported, 0.3, False, how, "s"),
        Row("subtaxa --help", helped, 0.5, False, how, "s"),
    ]
