"""Write the locks anew from constraints.txt: every package that `make` installs, with the hashes of all its files.

    pip install uv && python soak/lock.py WHEEL ...

The wheels are CPU builds of torch for Linux, which PyPI has not. `requirements.lock` is what is always installed. On
Linux there is torch besides: by `requirements-cpu.lock` where pip finds one of the wheels, else by
`requirements-cuda.lock`, with all that PyPI's GPU build wants. `requirements-soak.lock` is for `make soak` alone.
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
    "requirements-cuda.lock": ("torch==", "cuda-", "nvidia-", "triton"),
    "requirements-soak.lock": ("atheris",),
    "requirements.lock": ("",),
}


def main(wheels: list[Path]) -> None:
    """Let uv find the hashes, and divide the list."""
    command = [*COMPILE.split(), "--constraint", "constraints.txt", "pyproject.toml"]
    locked = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    blocks = re.split(r"\n(?=\S)", locked.strip())
    torch = next(block for block in blocks if block.startswith("torch=="))
    elsewhere = torch.replace(" \\", " ; sys_platform != 'linux' \\", 1)
    blocks[blocks.index(torch)] = torch.replace(" \\", " ; sys_platform == 'linux' \\", 1)
    for file, names in FILES.items():
        chosen, blocks = [b for b in blocks if b.startswith(names)], [b for b in blocks if not b.startswith(names)]
        write(file, chosen if file != "requirements.lock" else sorted([*chosen, elsewhere]))
    versions = {wheel.name.split("-")[1] for wheel in wheels}
    hashes = [f"    --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}" for wheel in wheels]
    pins = [f"torch=={version} ; sys_platform == 'linux'" for version in versions]
    write("requirements-cpu.lock", [" \\\n".join([*pins, *hashes])])


def write(file: str, blocks: list[str]) -> None:
    head = "# Written by soak/lock.py from constraints.txt; do not edit.\n"
    (ROOT / file).write_text(head + "\n".join(blocks) + "\n", encoding="utf-8")
    print(f"{file}: {len(blocks)} packages, {sum(block.count('sha256:') for block in blocks)} hashes")


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])
