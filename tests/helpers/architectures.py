"""Tiny encoders with random weights, one of each architecture that people use, with the tokenizer it comes with."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from helpers.corpus import FILLER, TOPICS

LAYERS, WIDTH, LONGEST = 3, 32, 48
WORDS = sorted({word for topics in TOPICS.values() for some in topics.values() for word in some} | set(FILLER))
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789:"
# The names that most configurations share.
_SIZES = {
    "hidden_size": WIDTH,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
}
_DISTILBERT = {"dim": WIDTH, "n_layers": LAYERS, "n_heads": 4, "hidden_dim": 64, "max_position_embeddings": 64}
_T5 = {"d_model": WIDTH, "num_layers": LAYERS, "num_heads": 4, "d_kv": 8, "d_ff": 64}
_MODERNBERT = {**_SIZES, "local_attention": 16, "global_attn_every_n_layers": 2}
# The configuration of each architecture and its kind of tokenizer.
ARCHITECTURES: dict[str, tuple[dict[str, Any], str]] = {
    "albert": ({**_SIZES, "embedding_size": 16}, "unigram"),
    "bert": (_SIZES, "wordpiece"),
    "deberta-v2": (_SIZES, "unigram"),
    "distilbert": (_DISTILBERT, "wordpiece"),
    "electra": ({**_SIZES, "embedding_size": 16}, "wordpiece"),
    "modernbert": (_MODERNBERT, "bytes"),
    "mpnet": (_SIZES, "wordpiece"),
    "nomic_bert": (_SIZES, "wordpiece"),
    "qwen3": ({**_SIZES, "num_key_value_heads": 2, "head_dim": 8}, "bytes"),
    "roberta": (_SIZES, "bytes"),
    "t5": (_T5, "unigram"),
    "xlm-roberta": (_SIZES, "unigram"),
}


def make_tiny(folder: Path, kind: str, pooling: str = "mean", **library: Any) -> str:
    """Build an encoder of an architecture as sentence-transformers saves it. Returns its folder.

    `library` are keys of config_sentence_transformers.json, such as prompts.
    """
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import CONFIG_MAPPING, AutoModel, T5EncoderModel

    sizes, tokenizer = ARCHITECTURES[kind]
    fast = TOKENIZERS[tokenizer]()
    special = {f"{name}_token_id": getattr(fast, f"{name}_token_id") for name in ("pad", "bos", "eos", "cls", "sep")}
    config = CONFIG_MAPPING[kind](vocab_size=len(fast), **sizes, **special)
    torch.manual_seed(0)
    model = T5EncoderModel(config) if kind == "t5" else AutoModel.from_config(config)
    model.save_pretrained(folder / "plain")
    fast.save_pretrained(folder / "plain")
    modules = [Transformer(str(folder / "plain"), max_seq_length=LONGEST), Pooling(WIDTH, pooling)]
    SentenceTransformer(modules=modules, device="cpu").save(str(folder / "model"), create_model_card=False)
    file = folder / "model" / "config_sentence_transformers.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | library))
    return str(folder / "model")


def _fast(model: Any, before: Any, first: str, last: str, **special: str) -> Any:
    from tokenizers import Tokenizer, processors
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = before
    ends = [(token, tokenizer.token_to_id(token)) for token in (first, last)]
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{first} $A {last}", special_tokens=ends)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        cls_token=first,
        sep_token=last,
        bos_token=first,
        eos_token=last,
        model_max_length=64,
        **special,
    )


def _wordpiece() -> Any:
    from tokenizers import models, pre_tokenizers

    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *(f"##{c}" for c in LETTERS), *WORDS]
    model = models.WordPiece({piece: i for i, piece in enumerate(dict.fromkeys(pieces))}, **{"unk_token": "[UNK]"})
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "mask_token": "[MASK]"}
    return _fast(model, pre_tokenizers.BertPreTokenizer(), "[CLS]", "[SEP]", **special)


def _unigram() -> Any:
    from tokenizers import models, pre_tokenizers

    pieces = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "▁", *LETTERS, *(f"▁{word}" for word in WORDS)]
    model = models.Unigram([(piece, -float(i % 7 + 1)) for i, piece in enumerate(pieces)], unk_id=3)
    special = {"pad_token": "<pad>", "unk_token": "<unk>", "mask_token": "<mask>"}
    return _fast(model, pre_tokenizers.Metaspace(), "<s>", "</s>", **special)


def _bytes() -> Any:
    from tokenizers import models, pre_tokenizers

    pieces = ["<s>", "<pad>", "</s>", "<mask>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    merges = [("t", "h"), ("th", "e"), ("Ġ", "a")]
    vocabulary = {piece: i for i, piece in enumerate([*pieces, *("".join(pair) for pair in merges)])}
    model = models.BPE(vocabulary, merges)
    special = {"pad_token": "<pad>", "mask_token": "<mask>"}
    return _fast(model, pre_tokenizers.ByteLevel(add_prefix_space=False), "<s>", "</s>", **special)


TOKENIZERS: dict[str, Callable[[], Any]] = {"wordpiece": _wordpiece, "unigram": _unigram, "bytes": _bytes}


def make_static(folder: Path, *, model2vec: bool) -> str:
    """Build a static model as sentence-transformers saves it, or as model2vec does. Returns its folder."""
    import torch
    from safetensors.torch import save_file
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    torch.manual_seed(0)
    tokenizer = _wordpiece().backend_tokenizer
    table = torch.randn(tokenizer.get_vocab_size(), WIDTH)
    out = folder / "static"
    if not model2vec:
        SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_weights=table)], device="cpu").save(
            str(out), create_model_card=False
        )
        return str(out)
    out.mkdir()
    save_file({"embeddings": table.half()}, out / "model.safetensors")
    tokenizer.save(str(out / "tokenizer.json"))
    (out / "config.json").write_text(json.dumps({"model_type": "model2vec", "architectures": ["StaticModel"]}))
    kinds = {"StaticEmbedding": ".", "Normalize": "1_Normalize"}
    modules = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (kind, path) in enumerate(kinds.items())
    ]
    (out / "modules.json").write_text(json.dumps(modules))
    return str(out)
