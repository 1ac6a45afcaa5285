"""The structure that the JSON files of a run folder must have."""

from __future__ import annotations

from subtaxa.runtime.json_files import MEASURE

CATEGORY = {"id": int, "parent": str, "name": str, "keywords": [str], "examples": [str], "size": int}
CATEGORY |= {"stability?": (float, None), "named?": bool, "namer?": str}
TAXONOMY = [CATEGORY]
_CHOICE = {"chosen": int, "low": int, "high": int, "curve": [[float]], "even?": bool}
# The settings that every command may show. The others are checked when the run is loaded.
SETTINGS = {"method": str, "encoder": str}
_FIT = {"temperature": float, "trust": float}
RUN = {
    "format": int,
    "subtaxa": str,
    "created": str,
    "command": str,
    "preset": str,
    "categories": (str, int, {str: (str, int)}),
    "granularity": str,
    "seed": int,
    "settings": {str: (str, float)},
    "labels": [str],
    "next_id": int,
    "numbers": {str: _CHOICE},
    "confidence": {"within": _FIT, "across": _FIT},
    "data": {
        "source": str,
        "text_column": str,
        "label_column": str,
        "texts": int,
        "skipped": int,
        "fingerprint": str,
    },
    "columns?": {str: str},
    "timings": {str: float},
    "history": [{str: MEASURE}],
    "cores": (int, None),
    "versions": {str: str},
}
