"""A tiny real encoder, built locally so that no test downloads anything."""

from __future__ import annotations

from pathlib import Path

from helpers.corpus import FILLER, TOPICS


def make_tiny_encoder(folder: Path) -> str:
    """Build a three-layer BERT with mean pooling and the vocabulary of the planted corpus. Returns its folder."""
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
    with torch.no_grad():  # Words of one topic have similar embeddings, as in a real encoder.
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
