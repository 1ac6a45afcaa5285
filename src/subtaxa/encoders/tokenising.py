"""Texts to tokens as sentence-transformers makes them, with the prompt that an encoder wants before every text.

T tokens in all texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from subtaxa.encoders.base import Advance, no_progress
from subtaxa.encoders.tokens import Tokens
from subtaxa.errors import SettingError

# The number of texts, and of their characters, that are tokenised at a time.
TOKENISED_AT_ONCE, CHARACTERS_AT_ONCE = 1024, 2**22

# A text is cut to this many characters for each token that the encoder reads, which no tokenizer needs.
CHARACTERS_PER_TOKEN = 256

# The number of tokens that a text may have if the encoder states no limit.
MAX_TOKENS = 2**15

# The names of prompts for grouping texts. The first that a model has is used if it names no default.
CLUSTERING = ("clustering", "Clustering")

# The name under which a user's prompt is saved with the model.
OWN_PROMPT = "subtaxa"


class Tokeniser:
    """Tokenises for one model. Special tokens and the tokens of the prompt are not ordinary: no view changes them."""

    def __init__(self, pipeline: Any) -> None:
        self.pipeline, self.tokenizer = pipeline, pipeline.tokenizer
        self.prompt: str = pipeline.prompts.get(pipeline.default_prompt_name or "") or ""
        self.lowercase = getattr(pipeline[0], "do_lower_case", False)
        self.prompt_ids = self._prompt_ids() if self.prompt else []

    @property
    def max_tokens(self) -> int:
        """The largest number of tokens of a text."""
        return int(min(self.pipeline.max_seq_length or MAX_TOKENS, MAX_TOKENS))

    @property
    def vocabulary(self) -> Tensor:
        """The ids (V,) of all tokens but the special ones."""
        ids = torch.arange(len(self.tokenizer))
        return ids[~torch.isin(ids, torch.tensor(sorted(self.tokenizer.all_special_ids)))]

    @property
    def mask_id(self) -> int | None:
        """The id of the mask token."""
        return self.tokenizer.mask_token_id

    @property
    def unknown_id(self) -> int | None:
        """The id of the token for unknown characters."""
        return self.tokenizer.unk_token_id

    @property
    def pad_id(self) -> int:
        """The id that fills a batch."""
        return self.tokenizer.pad_token_id or 0

    def tokenise(self, texts: Sequence[str], advance: Advance = no_progress) -> Tokens:
        """The tokens of all texts. The texts are clean already: readers and `Discovery` see to that."""
        ids: list[int] = []
        ordinary: list[bool] = []
        offsets = [0]
        for some in self._pieces(texts):
            prompted = [self.prompt + (text.lower() if self.lowercase else text).strip() for text in some]
            for row, special in zip(*self._rows(prompted), strict=True):
                begin = self._n_of_prompt(row)
                ids += row
                ordinary += [i >= begin and not mark for i, mark in enumerate(special)]
                offsets.append(len(ids))
            advance(len(some))
        return Tokens(
            torch.tensor(ids, dtype=torch.int32),
            torch.tensor(ordinary, dtype=torch.bool),
            torch.tensor(offsets),
            self.pad_id,
        )

    def _rows(self, texts: list[str]) -> tuple[list[list[int]], list[list[int]]]:
        """The ids of each text, and 1 for those that are special."""
        encoded = self.tokenizer(
            texts,
            truncation=True,
            max_length=self.max_tokens,
            return_special_tokens_mask=True,
            return_attention_mask=False,
            return_token_type_ids=False,
        )
        return encoded["input_ids"], encoded["special_tokens_mask"]

    def _prompt_ids(self) -> list[int]:
        """The ids of the prompt, without the special tokens after it. At least one token must be left for a text."""
        (row,), (special,) = self._rows([self.prompt.rstrip()])
        n_after = next((i for i, mark in enumerate(reversed(special)) if not mark), len(row))
        if len(row) >= self.max_tokens:
            raise SettingError(
                f"the prompt {self.prompt[:40]!r} fills all {self.max_tokens} tokens that the encoder reads of a text: "
                "use a shorter prompt or a larger max_tokens"
            )
        return row[: len(row) - n_after]

    def _n_of_prompt(self, row: list[int]) -> int:
        """How many tokens at the beginning of a text are those of the prompt."""
        if not self.prompt:
            return 0
        differ = (i for i, (one, other) in enumerate(zip(row, self.prompt_ids, strict=False)) if one != other)
        return next(differ, min(len(row), len(self.prompt_ids)))

    def _pieces(self, texts: Sequence[str]) -> Iterator[list[str]]:
        """The texts in order, cut to what the encoder can read, some at a time."""
        longest = CHARACTERS_PER_TOKEN * self.max_tokens
        piece: list[str] = []
        size = 0
        for text in texts:
            short = text if len(text) <= longest else text.lstrip()[:longest]
            if piece and (len(piece) == TOKENISED_AT_ONCE or size + len(short) > CHARACTERS_AT_ONCE):
                yield piece
                piece, size = [], 0
            piece.append(short)
            size += len(short)
        if piece:
            yield piece


def set_prompt(pipeline: Any, prompt: str) -> None:
    """Let the model put a prompt before every text: its own ("model"), one of its prompts by name, or a text."""
    known = {name: text for name, text in pipeline.prompts.items() if text}
    if prompt == "model":
        default = pipeline.default_prompt_name
        pipeline.default_prompt_name = default or next((name for name in CLUSTERING if name in known), None)
    elif prompt in known or not prompt:
        pipeline.default_prompt_name = prompt or None
    elif prompt[-1].isalnum():
        have = f"the encoder has the prompts {', '.join(sorted(known))}" if known else "the encoder has no prompts"
        raise SettingError(
            f'prompt is {prompt[:40]!r}: {have}; end a text of your own as in "query: ", or use "" for no prompt'
        )
    else:
        pipeline.prompts[OWN_PROMPT] = prompt
        pipeline.default_prompt_name = OWN_PROMPT
    if pipeline.default_prompt_name and not all(getattr(module, "include_prompt", True) for module in pipeline):
        raise SettingError('the encoder leaves its prompt out of the pooling, which subtaxa cannot do: use prompt ""')


def limit_length(pipeline: Any, max_tokens: int | None) -> None:
    """Cut texts to `max_tokens`, to the encoder's own limit and to the positions that its embeddings have."""
    limits = [pipeline.max_seq_length, max_tokens, _positions(pipeline[0].model)]
    known = [limit for limit in limits if limit is not None]
    if known:
        pipeline.max_seq_length = min(known)


def _positions(transformer: nn.Module) -> int | None:
    """The number of tokens that have a position embedding, or None if positions are not embedded."""
    table = getattr(getattr(transformer, "embeddings", None), "position_embeddings", None)
    if not isinstance(table, nn.Embedding):
        return None
    return table.num_embeddings - (0 if table.padding_idx is None else table.padding_idx + 1)
