"""The encoders that have a short name or that were measured: what they are, and what they need.

Nothing here is downloaded unless a user names it. The revision is the commit of the model on the Hugging Face hub: a
name always means the same weights.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

# The name of the encoder that is installed with subtaxa.
PACKAGED = "packaged"

# The file with the measurements, which benchmarks/quality/encoders.py printed.
MEASURED = "measured.jsonl"


@dataclass(frozen=True)
class KnownEncoder:
    """An encoder of the list."""

    name: str  # on the hub
    revision: str  # the commit on the hub
    megabytes: int  # of the weights with 32 bits
    languages: str
    licence: str
    good_for: str
    short: str = ""  # what a user may type instead of the name
    prompt: str = ""  # the text that the encoder wants before every text

    @property
    def folder(self) -> Path | None:
        """Where the encoder is in the cache of this machine, or None if it would be downloaded."""
        from huggingface_hub import try_to_load_from_cache

        found = try_to_load_from_cache(self.name, "modules.json", revision=self.revision)
        return Path(found).parent if isinstance(found, str) else None


ENCODERS = (
    KnownEncoder(
        name="sentence-transformers/all-MiniLM-L6-v2",
        revision="c9745ed1d9f207416be6d2e6f8de32d1f16199bf",
        megabytes=91,
        languages="English",
        licence="Apache-2.0",
        good_for="the default: small, fast and part of the installation",
        short="small",
    ),
    KnownEncoder(
        name="intfloat/multilingual-e5-small",
        revision="fd1525a9fd15316a2d503bf26ab031a61d056e98",
        megabytes=471,
        languages="94 languages",
        licence="MIT",
        good_for="other languages than English, and mixed ones",
        short="multilingual",
        prompt="query: ",
    ),
    KnownEncoder(
        name="sentence-transformers/all-mpnet-base-v2",
        revision="e8c3b32edf5434bc2275fc9bab85f82640a19130",
        megabytes=438,
        languages="English",
        licence="Apache-2.0",
        good_for="English with a GPU or an hour to spare",
        short="large",
    ),
    KnownEncoder(
        name="BAAI/bge-small-en-v1.5",
        revision="5c38ec7c405ec4b44b94cc5a9bb96e735b38267a",
        megabytes=133,
        languages="English",
        licence="MIT",
        good_for="English, twice as deep as small",
    ),
    KnownEncoder(
        name="thenlper/gte-small",
        revision="17e1f347d17fe144873b1201da91788898c639cd",
        megabytes=133,
        languages="English",
        licence="MIT",
        good_for="English, twice as deep as small",
    ),
    KnownEncoder(
        name="Snowflake/snowflake-arctic-embed-s",
        revision="e596f507467533e48a2e17c007f0e1dacc837b33",
        megabytes=133,
        languages="English",
        licence="Apache-2.0",
        good_for="English, made for search",
    ),
)


def known(name: str) -> KnownEncoder | None:
    """The encoder with this name or short name, if it is on the list. "packaged" is the first."""
    if name == PACKAGED:
        return ENCODERS[0]
    return next((one for one in ENCODERS if name and name in (one.name, one.short)), None)


def measurements() -> list[dict[str, Any]]:
    """What was measured: one record for each encoder, data set and kind (frozen or trained)."""
    text = resources.files("subtaxa.encoders").joinpath(MEASURED).read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]
