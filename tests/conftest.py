"""A tiny real encoder and a planted corpus, built here so that no test downloads anything."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"
SHARED = Path(__file__).parents[2] / "shared" / "data"  # the benchmark data beside the checkout, where there is any

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
    """Texts, coarse labels and fine labels; each fine category has its own words."""
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


def refused(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> str:
    """Run a command that must fail; its error must be one clean line with exit code 2."""
    from subtaxa.cli import main

    capsys.readouterr()
    try:
        code = main(arguments)
    except SystemExit as stopped:
        code = int(stopped.code or 0)
    error = capsys.readouterr().err
    assert code == 2, error
    assert error.startswith("subtaxa")
    assert error.count("\n") == 1
    return error


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest begins first: at the end, one worker would wait for the other."""
    items.sort(key=lambda item: item.path.stem not in ("test_ray", "test_parallel"))


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_tiny_encoder(tmp_path_factory.mktemp("tiny"))


def make_tiny_encoder(folder: Path) -> str:
    """The folder of a three-layer BERT with mean pooling and the vocabulary of the planted corpus."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    words = sorted({w for topics in TOPICS.values() for ws in topics.values() for w in ws} | set(FILLER))
    letters = [f"{p}{c}" for p in ("", "##") for c in "abcdefghijklmnopqrstuvwxyz0123456789"]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *words]
    (folder / "vocab.txt").write_text("\n".join(dict.fromkeys(vocabulary)) + "\n", encoding="utf-8")
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(dict.fromkeys(vocabulary)),
        hidden_size=32,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=64,
    )
    bert = BertModel(config)
    place = {word: i for i, word in enumerate(dict.fromkeys(vocabulary))}
    with torch.no_grad():  # words of one topic point roughly the same way, as they do in a real encoder
        for topics in TOPICS.values():
            shared = torch.randn(32)
            for topic in topics.values():
                own = torch.randn(32)
                for word in topic:
                    direction = 0.3 * shared + own + 0.7 * torch.randn(32)
                    bert.embeddings.word_embeddings.weight[place[word]] = 0.1 * direction
    bert.save_pretrained(folder / "bert")
    BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=64).save_pretrained(folder / "bert")
    model = SentenceTransformer(modules=[Transformer(str(folder / "bert"), max_seq_length=48), Pooling(32, "mean")])
    model.save(str(folder / "model"), create_model_card=False)
    return str(folder / "model")


@pytest.fixture(scope="session")
def quick(tiny_encoder: str) -> dict[str, object]:
    """Settings that train the tiny encoder in a second or two."""
    return {"encoder": tiny_encoder, "epochs": 3, "batch_size": 32, "learning_rate": 1e-3, "trained_layers": 2}


@pytest.fixture(scope="session")
def benchmark_data() -> Path:
    """The folder of the authors' files, or a skip that says so."""
    if not (SHARED / "hwu64" / "train.tsv").exists():
        pytest.skip(f"the benchmark data is not in {SHARED}")
    return SHARED
