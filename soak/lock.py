"""Write the lock files from constraints.txt: every package that `make` installs, with the hashes of all its files.

    pip install uv && python soak/lock.py WHEEL ...

The wheels are CPU builds of torch for Linux, which PyPI does not have.

- `requirements.lock` is always installed.
- `requirements-cpu.lock` adds torch on Linux if pip finds one of the wheels.
- `requirements-cuda.lock` adds PyPI's GPU build of torch otherwise.
- `requirements-docs.lock` is for `make docs`.
- `requirements-soak.lock` is for `make soak`.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMPILE = "uv pip compile --no-config --no-cache --quiet --universal --generate-hashes"
COMPILE += " --no-header --no-annotate --index-url https://pypi.org/simple --constraint constraints.txt pyproject.toml"
PYTHON = "3.11"
# mkdocs-material needs a later patch release than subtaxa does.
PYTHON_FOR_DOCS = "3.11.5"
CUDA = ("torch==", "cuda-", "nvidia-", "triton")


def main(wheels: list[Path]) -> None:
    """Let uv find the hashes, then divide the packages among the files."""
    tests = resolve(PYTHON, "dev")
    write("requirements-soak.lock", [block for block in resolve(PYTHON, "dev", "soak") if block not in tests])
    write("requirements-docs.lock", [block for block in resolve(PYTHON_FOR_DOCS, "dev", "docs") if block not in tests])
    torch = next(block for block in tests if block.startswith("torch=="))
    on_linux = torch.replace(" \\", " ; sys_platform == 'linux' \\", 1)
    elsewhere = torch.replace(" \\", " ; sys_platform != 'linux' \\", 1)
    others = [block for block in tests if not block.startswith(CUDA)]
    write("requirements-cuda.lock", [on_linux if b == torch else b for b in tests if b.startswith(CUDA)])
    write("requirements.lock", sorted([*others, elsewhere]))
    versions = {wheel.name.split("-")[1] for wheel in wheels}
    hashes = [f"    --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}" for wheel in wheels]
    pins = [f"torch=={version} ; sys_platform == 'linux'" for version in versions]
    write("requirements-cpu.lock", [" \\\n".join([*pins, *hashes])])


def resolve(python: str, *extras: str) -> list[str]:
    """Return one block of lines per package that the extras need."""
    command = [
        *COMPILE.split(),
        "--python-version",
        python,
        *(option for extra in extras for option in ("--extra", extra)),
    ]
    locked = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return re.split(r"\n(?=\S)", locked.strip())


def write(file: str, blocks: list[str]) -> None:
    """Write one lock file and report its size."""
    head = "# Written by soak/lock.py from constraints.txt; do not edit.\n"
    (ROOT / file).write_text(head + "\n".join(blocks) + "\n", encoding="utf-8")
    print(f"{file}: {len(blocks)} packages, {sum(block.count('sha256:') for block in blocks)} hashes")


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])
