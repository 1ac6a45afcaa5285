"""Parses the value of `--categories`: auto, 12, or billing=12,login=5."""

from __future__ import annotations

from subtaxa.errors import SettingError
from subtaxa.settings import whole_number


def parse_categories(given: str) -> int | str | dict[str, int]:
    """The number of categories as `Discovery` takes it: "auto", a total, or numbers by label."""
    if given == "auto":
        return given
    if "=" not in given:
        return whole_number(given, "--categories")
    numbers: dict[str, int] = {}
    label = ""
    for part in given.split(","):
        name, sign, number = part.rpartition("=")
        label += name if sign else f"{part},"  # A part without "=" belongs to a label that contains a comma.
        if sign:
            if label in numbers:
                raise SettingError(f"--categories names {label!r} twice: give each label one number")
            numbers[label] = whole_number(number.strip(), f"the number of {label!r} in --categories", 1)
            label = ""
    if label:
        raise SettingError(f'--categories ends in {label.rstrip(",")!r}: write it like "billing=12,login=5"')
    return numbers
