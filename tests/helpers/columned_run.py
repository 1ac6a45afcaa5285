"""A run of the built-in example with made-up columns, in which some categories are new, growing or shrinking."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from subtaxa.data.example import example_texts
from subtaxa.data.kept_columns import KeptColumns
from subtaxa.discovery import Discovery

LAST = datetime(2025, 12, 31)
CHANNELS = ("web", "e-mail", "phone")
# The large categories in order: what is planted in them.
NEW, GROWING, SHRINKING, BY_PHONE = range(4)


def columned_model(encoder: str, categories: int = 24) -> Discovery:
    """A model of half of the example without training, which knows none of the columns."""
    data = example_texts()
    return Discovery(categories, preset="quick", encoder=encoder).fit(data.texts[::2], data.labels[::2])


def planted(model: Discovery) -> list[int]:
    """The ids of the four largest categories, in which something is planted."""
    return [c.id for c in sorted(model.taxonomy_, key=lambda c: -c.size)[:4]]


def with_columns(model: Discovery, columns: dict[str, list[Any]], folder: Path) -> Path:
    """Save the model with these columns."""
    state = model._fitted_state()
    state.columns = KeptColumns.of(columns, len(state.data))
    return model.save(folder)


def made_up_columns(model: Discovery) -> dict[str, list[Any]]:
    """Dates of 2025 (some missing, some with a time zone), a channel, an amount (some missing), a grade and a note."""
    rng, special = random.Random(3), planted(model)
    columns: dict[str, list[Any]] = {name: [] for name in ("date", "channel", "amount", "grade", "note")}
    for i, category in enumerate(model.labels_.tolist()):
        kind = special.index(category) if category in special else None
        late = {NEW: 1.0, GROWING: 0.7, SHRINKING: 0.0}.get(kind, 0.25)  # type: ignore[call-overload]
        # 91 days are compared with the 91 days before.
        before = rng.uniform(0, 91) if rng.random() < late else rng.uniform(91, 182 if kind == SHRINKING else 364)
        moment = (LAST - timedelta(days=before)).replace(microsecond=0)
        zone = "-05:00" if i % 10 == 0 else "Z"
        columns["date"].append(None if i % 50 == 7 else f"{moment.isoformat()}{zone}")
        phone = 0.9 if kind == BY_PHONE else 0.2
        columns["channel"].append("phone" if rng.random() < phone else rng.choice(CHANNELS[:2]))
        columns["amount"].append(None if i % 5 == 3 else round(rng.lognormvariate(3, 1), 2))
        columns["grade"].append(rng.randint(1, 5))
        columns["note"].append(f"seen by hand, number {i}")
    return columns
