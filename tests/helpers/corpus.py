"""A planted corpus: every fine category has its own words."""

from __future__ import annotations

import random

TOPICS = {
    "money": {
        "refund": ["refund", "return", "back", "owed", "repaid", "reimburse", "credit"],
        "charge": ["charged", "twice", "double", "duplicate", "billed", "again", "extra"],
        "invoice": ["invoice", "receipt", "pdf", "document", "vat", "bill", "copy"],
    },
    "access": {
        "password": ["password", "forgot", "reset", "remember", "secret", "change", "new"],
        "locked": ["locked", "blocked", "suspended", "disabled", "banned", "frozen", "unlock"],
    },
    "post": {"parcel": ["parcel", "package", "courier", "tracking", "delivered", "lost", "late"]},
}
FILLER = ["my", "the", "please", "it", "was", "i", "today", "a", "is", "on", "with", "for", "can", "you"]


def planted_corpus(per_topic: int = 30, seed: int = 0) -> tuple[list[str], list[str], list[str]]:
    """The texts, their coarse labels and their fine labels."""
    rng = random.Random(seed)
    rows = []
    for label, topics in TOPICS.items():
        for topic, words in topics.items():
            for _ in range(per_topic):
                chosen = rng.sample(words, 3) + rng.sample(FILLER, rng.randint(1, 5))
                rng.shuffle(chosen)
                rows.append((" ".join(chosen), label, topic))
    rng.shuffle(rows)
    texts, labels, fine = zip(*rows, strict=True)
    return list(texts), list(labels), list(fine)
