"""The keys and values that the JSON files of a model may hold: everything that a library reads is on a list.

A library must never learn from a stranger's file where another file, another model or code is to be found. Keys that
are not listed here are dropped, and listed keys with another kind of value are refused. No listed value is a path.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

Rule = Callable[[Any], bool]
Rules = Mapping[str, Rule]


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


# The architectures of text encoders, which transformers itself implements.
ARCHITECTURES = words(
    "albert bert camembert convbert data2vec-text deberta deberta-v2 distilbert electra ernie eurobert gemma gemma2"
    " gemma3_text llama megatron-bert mistral mobilebert modernbert mpnet mt5 nomic_bert qwen2 qwen3 rembert roberta"
    " roberta-prelayernorm roformer squeezebert t5 xlm-roberta xlm-roberta-xl xmod"
)
# The tokenizers of these architectures. Each may end in "Fast".
TOKENIZERS = words(
    "AlbertTokenizer BertTokenizer CamembertTokenizer ConvBertTokenizer DebertaTokenizer DebertaV2Tokenizer"
    " DistilBertTokenizer ElectraTokenizer GPT2Tokenizer GemmaTokenizer LlamaTokenizer MPNetTokenizer"
    " MobileBertTokenizer PreTrainedTokenizer Qwen2Tokenizer RemBertTokenizer RoFormerTokenizer RobertaTokenizer"
    " SqueezeBertTokenizer T5Tokenizer TokenizersBackend XLMRobertaTokenizer"
)
POOLING_MODES = ("cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")
_ACTIVATIONS = words("ELU GELU Hardtanh LeakyReLU Mish ReLU SiLU Sigmoid Tanh")
ACTIVATIONS = (*(f"torch.nn.modules.activation.{name}" for name in _ACTIVATIONS), "torch.nn.modules.linear.Identity")
# The features that sentence-transformers passes from module to module.
FEATURES = ("token_embeddings", "sentence_embedding", "cls_token_embeddings")

# The largest number of layers, and of anything else, such as tokens or dimensions.
MOST_LAYERS, MOST = 1024, 2**24
# A word that cannot be a path: no slash, no colon, no two dots.
_WORD = re.compile(r"(?!.*\.\.)[A-Za-z0-9_+.-]{1,40}")
# Settings of any transformer that transformers reads in its base class.
_OF_ANY: tuple[str, ...] = (
    "dtype",
    "torch_dtype",
    "output_hidden_states",
    "chunk_size_feed_forward",
    "is_encoder_decoder",
)
_OF_ANY += ("rope_theta", "rope_scaling", "position_embedding_type", "tie_word_embeddings")


def whole(low: int, high: int = MOST) -> Rule:
    """A whole number in a range."""
    return lambda value: type(value) is int and low <= value <= high


def one_of(*values: Any) -> Rule:
    """One of these values and nothing else."""
    return lambda value: any(type(value) is type(one) and value == one for one in values)


def optional(rule: Rule) -> Rule:
    """The same, or null."""
    return lambda value: value is None or rule(value)


def flag(value: Any) -> bool:
    """True or false."""
    return isinstance(value, bool)


def share(value: Any) -> bool:
    """A number from 0 to 1."""
    return type(value) in (int, float) and 0 <= value <= 1


def text(value: Any) -> bool:
    """A short text, which a library only prints, compares or puts before a text."""
    return isinstance(value, str) and len(value) <= 10_000


def plain(value: Any, depth: int = 3) -> bool:
    """Numbers, words that cannot be paths, and lists and objects of them."""
    if isinstance(value, str):
        return _WORD.fullmatch(value) is not None
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, list) and depth:
        return len(value) <= MOST_LAYERS and all(plain(item, depth - 1) for item in value)
    if isinstance(value, dict) and depth:
        return len(value) <= MOST_LAYERS and all(plain(k) and plain(item, depth - 1) for k, item in value.items())
    return value is None or isinstance(value, bool) or (isinstance(value, int) and abs(value) <= MOST)


def token(value: Any) -> bool:
    """A special token: a text, or an object with the text and how it is matched."""
    content = value.get("content") if isinstance(value, dict) else value
    if isinstance(content, str) and any(ord(c) < 32 and not c.isspace() for c in content):
        return False  # Tokenizers that remove such characters then look for a token of no characters, and panic.
    if isinstance(value, dict):
        how = (one for name, one in value.items() if name not in ("content", "__type"))
        return text(value.get("content")) and all(map(flag, how)) and value.get("__type", "AddedToken") == "AddedToken"
    return text(value)


def tokens(value: Any) -> bool:
    """Several special tokens, as a list or by name or number."""
    every = list(value.values()) if isinstance(value, dict) else value
    return isinstance(every, list) and all(map(token, every))


def pooling_modes(value: Any) -> bool:
    """One way of pooling, or several that are concatenated."""
    modes = value if isinstance(value, list) else [value]
    return bool(modes) and all(mode in POOLING_MODES for mode in modes)


def prompts(value: Any) -> bool:
    """Texts that are put before every text, by name."""
    return isinstance(value, dict) and all(map(optional(text), value.values()))


def tokenizer_class(value: Any) -> bool:
    """The name of a tokenizer that transformers itself implements."""
    return isinstance(value, str) and value.removesuffix("Fast") in TOKENIZERS


def length_limit(value: Any) -> bool:
    """The largest number of tokens of a text. Some tokenizers write a huge number for "no limit"."""
    return type(value) in (int, float) and 1 <= value <= 1e30 + 1


_SPECIAL_TOKENS: Rules = dict.fromkeys(
    [f"{name}_token" for name in ("bos", "cls", "eos", "mask", "pad", "sep", "unk")], optional(token)
) | {"additional_special_tokens": optional(tokens), "extra_special_tokens": optional(tokens)}

TOKENIZER: Rules = {
    **_SPECIAL_TOKENS,
    **dict.fromkeys(
        words(
            "add_bos_token add_eos_token add_prefix_space clean_up_tokenization_spaces do_basic_tokenize do_lower_case"
            " keep_accents legacy remove_space split_by_punct strip_accents tokenize_chinese_chars trim_offsets"
        ),
        optional(flag),
    ),
    "added_tokens_decoder": tokens,
    "backend": one_of("tokenizers"),
    "model_max_length": optional(length_limit),
    "padding_side": one_of("left", "right"),
    "tokenizer_class": tokenizer_class,
    "truncation_side": one_of("left", "right"),
}

# The rules of the small JSON files of a transformer, by file name.
SENTENCE_TRANSFORMER: Rules = {
    "max_seq_length": optional(whole(1, 2**20)),
    "do_lower_case": flag,
    "transformer_task": one_of("feature-extraction"),
}
LIBRARY: Rules = {
    "default_prompt_name": optional(text),
    "model_type": one_of("SentenceTransformer"),
    "prompts": prompts,
    "similarity_fn_name": optional(one_of("cosine", "dot", "euclidean", "manhattan")),
}
SPECIAL_TOKENS_MAP: Rules = _SPECIAL_TOKENS

_NAMES: Rules = {"module_input_name": one_of(*FEATURES), "module_output_name": optional(one_of(*FEATURES))}
_WIDTH: Rules = {"embedding_dimension": whole(1), "word_embedding_dimension": whole(1)}
# The sentence-transformers modules that a model may consist of, with the keys of their configuration.
MODULES: dict[str, Rules] = {
    "Transformer": {},  # Its configuration is that of its architecture: see `architecture`.
    "Pooling": {
        **_WIDTH,
        "pooling_mode": pooling_modes,
        "include_prompt": flag,
        **dict.fromkeys(
            [f"pooling_mode_{name}" for name in ("cls_token", "max_tokens", "mean_tokens", "mean_sqrt_len_tokens")]
            + ["pooling_mode_weightedmean_tokens", "pooling_mode_lasttoken"],
            flag,
        ),
    },
    "WeightedLayerPooling": {**_WIDTH, "layer_start": whole(0), "num_hidden_layers": whole(1, MOST_LAYERS)},
    "Dense": {
        **_NAMES,
        "in_features": whole(1),
        "out_features": whole(1),
        "bias": flag,
        "activation_function": one_of(*ACTIVATIONS),
        "use_residual": flag,
    },
    "LayerNorm": {"dimension": whole(1)},
    "Dropout": {"dropout": share},
    "Normalize": _NAMES,
    "StaticEmbedding": {},  # It has a vocabulary and weights only.
}


def architecture(model_type: str) -> Rules:
    """The keys of a transformer's configuration: those that the class of its architecture has."""
    from transformers import CONFIG_MAPPING, PreTrainedConfig

    config = CONFIG_MAPPING[model_type]
    own = {field.name for field in fields(config)} - {field.name for field in fields(PreTrainedConfig)}
    rules: dict[str, Rule] = dict.fromkeys({*own, *config.attribute_map, *_OF_ANY}, plain)
    layers = {name: optional(whole(0, MOST_LAYERS)) for name in rules if name.endswith("layers")}
    return {**rules, **layers, "model_type": one_of(model_type)}
