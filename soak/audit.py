"""Ask PyPI for known vulnerabilities of the locked packages where pip-audit's services cannot be reached.

    python soak/audit.py

The page of a package tells of its latest version only, so packages locked at an older one are named as not checked.
"""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.request import urlopen

LOCK = Path(__file__).resolve().parents[1] / "requirements.lock"


def known(pin: tuple[str, str]) -> list[str] | None:
    """The vulnerabilities of a package's version, or None if PyPI does not say."""
    name, version = pin
    with urlopen(f"https://pypi.org/pypi/{name}/json", timeout=60) as page:
        facts = json.load(page)
    return [found["id"] for found in facts["vulnerabilities"]] if facts["info"]["version"] == version else None


def main() -> None:
    pins = re.findall(r"^([\w.-]+)==([^\s;]+)", LOCK.read_text("utf-8"), re.M)
    with ThreadPoolExecutor(8) as pool:
        found = dict(zip(pins, pool.map(known, pins), strict=True))
    print(
        f"{sum(ids is not None for ids in found.values())} of {len(pins)} packages are locked at their latest version"
    )
    print("known vulnerabilities:", {pin[0]: ids for pin, ids in found.items() if ids} or "none")
    print("not checked:", ", ".join("==".join(pin) for pin, ids in found.items() if ids is None))


if __name__ == "__main__":
    main()
