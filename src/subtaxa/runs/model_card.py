"""The model card of a saved run: what the encoder was trained on, how, and how to load it. It quotes no user text."""

from __future__ import annotations

from typing import Any

from subtaxa.data.values import clean
from subtaxa.encoders.catalogue import known
from subtaxa.taxonomy.fitted_state import FittedState

CARD = """\
---
library_name: sentence-transformers
pipeline_tag: sentence-similarity
tags: [sentence-transformers, subtaxa, category-discovery]
---

# A sentence encoder trained by subtaxa to tell fine categories apart

Trained on {texts:,} texts under {labels} coarse labels, without fine labels. {categories} categories were found below
them; `../categories.csv` lists them.

## How to load it

```python
from sentence_transformers import SentenceTransformer
features = SentenceTransformer("{folder}").encode(["a new text"])   # unit length, {dimensions} dimensions

from subtaxa import Discovery
Discovery.load("..").predict(["a new text"])                        # the run folder: encoder and categories
```

## How it was trained

| | |
|---|---|
| started from | {encoder} |
| method | {method} (preset {preset}) |
| seed | {seed} |
| data fingerprint | `{fingerprint}` |
| subtaxa | {version} |
| date | {created} |

{history}

## Scores

No fine labels were seen, so there is no accuracy to report. Mean confidence of the training texts in their category:
{confidence:.2f} (a probability calibrated on agreement between resampled clusterings).

<details><summary>All settings</summary>

{settings}

</details>
"""


def model_card(state: FittedState, facts: dict[str, Any]) -> str:
    """The model card as Markdown."""
    settings, words = facts["settings"], state.reader.vocabulary
    card = CARD.format(
        texts=len(state.data),
        labels=len(state.coarse_labels),
        categories=len(state.taxonomy),
        folder="model",
        dimensions=state.features.shape[1] - (0 if words is None else words.width),
        encoder=_started_from(settings["encoder"]),
        method=settings["method"],
        preset=facts["preset"],
        seed=facts["seed"],
        fingerprint=facts["data"]["fingerprint"][:16],
        version=facts["subtaxa"],
        created=facts["created"],
        history=_table(state.history),
        confidence=float(state.confidences.mean()),
        settings="\n".join(f"- {name}: {value}" for name, value in settings.items()),
    )
    return clean(card)  # The path of an encoder may hold what a file cannot.


def _started_from(encoder: str) -> str:
    entry = known(encoder)
    return encoder if entry is None else f"{entry.name} ({encoder})"


def _table(history: list[dict[str, float]]) -> str:
    """The history of the training as a Markdown table."""
    if not history:
        return "The encoder was not trained further."
    columns = list(dict.fromkeys(name for row in history for name in row))
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    for row in history:
        lines.append("| " + " | ".join(f"{row[name]:.4g}" if name in row else "" for name in columns) + " |")
    return "\n".join(lines)
