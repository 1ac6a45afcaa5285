"""Ask PyPI for known vulnerabilities of the locked packages, for networks where pip-audit does not work.

    python soak/audit.py

PyPI reports on the latest version of a package only. Packages locked at an older version are listed as not checked.
"""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.request import urlopen

LOCK = Path(__file__).resolve().parents[1] / "requirements.lock"


def known_vulnerabilities(pin: tuple[str, str]) -> list[str] | None:
    """The known vulnerabilities of a package's version, or None if PyPI does not report on it."""
    name, version = pin
    with urlopen(f"https://pypi.org/pypi/{name}/json", timeout=60) as page:
        facts = json.load(page)
    return [found["id"] for found in facts["vulnerabilities"]] if facts["info"]["version"] == version else None


def main() -> None:
    pins = re.findall(r"^([\w.-]+)==([^\s;]+)", LOCK.read_text("utf-8"), re.M)
    with ThreadPoolExecutor(8) as pool:
        found = dict(zip(pins, pool.map(known_vulnerabilities, pins), strict=True))
    print(
        f"{sum(ids is not None for ids in found.values())} of {len(pins)} packages are locked at their latest version"
    )
    print("known vulnerabilities:", {pin[0]: ids for pin, ids in found.items() if ids} or "none")
    print("not checked:", ", ".join("==".join(pin) for pin, ids in found.items() if ids is None))


if __name__ == "__main__":
    main()
