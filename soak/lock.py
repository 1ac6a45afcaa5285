"""Write the locks anew from constraints.txt: every package that `make` installs, with the hashes of all its files.

    pip install uv && python soak/lock.py [WHEEL ...]

`requirements.lock` is what is always installed; `requirements-cuda.lock` what the torch of PyPI for Linux, a GPU build,
wants besides; `requirements-soak.lock` what only `make soak` needs. Wheels named on the command line (such as a CPU
build of torch) are allowed too, by their own hash.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMPILE = "uv pip compile --no-config --no-cache --quiet --universal --python-version 3.11 --generate-hashes"
COMPILE += " --no-header --no-annotate --index-url https://pypi.org/simple --extra dev --extra soak"
FILES = {  # the packages of each, by the beginning of their names; the last takes the rest
    "requirements-cuda.lock": ("cuda-", "nvidia-", "triton"),
    "requirements-soak.lock": ("atheris",),
    "requirements.lock": ("",),
}


def main(wheels: list[str]) -> None:
    """Let uv find the hashes, add those of the wheels, and divide the list."""
    command = [*COMPILE.split(), "--constraint", "constraints.txt", "pyproject.toml"]
    locked = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    blocks = re.split(r"\n(?=\S)", locked.strip())
    for wheel in map(Path, wheels):
        name = wheel.name.partition("-")[0].replace("_", "-").lower()
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        blocks = [f"{b} \\\n    --hash=sha256:{digest}" if b.startswith(f"{name}==") else b for b in blocks]
    for file, names in FILES.items():
        chosen, blocks = [b for b in blocks if b.startswith(names)], [b for b in blocks if not b.startswith(names)]
        head = "# Written by soak/lock.py from constraints.txt; do not edit.\n"
        (ROOT / file).write_text(head + "\n".join(chosen) + "\n", encoding="utf-8")
        print(f"{file}: {len(chosen)} packages, {sum(block.count('sha256:') for block in chosen)} hashes")


if __name__ == "__main__":
    main(sys.argv[1:])
