"""The encoder of a run as an ONNX graph with 8-bit weights, which encodes new texts faster.

The graph is exported from the run's model when it is first needed and kept beside it, together with the digests of the
model and of the graph (runs/onnx_export.py). If a digest differs, the graph is exported again. Somebody could forge the
graph and the digests together, but a graph holds no code, and one that refers to other files is not loaded.

N texts, B texts in a batch, L tokens, D dimensions.
"""

from __future__ import annotations

import contextlib
import copy
import logging
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from subtaxa.encoders.base import Advance, Encoder, no_progress
from subtaxa.encoders.sentence_encoder import SentenceEncoder
from subtaxa.errors import SettingError
from subtaxa.runtime.threads import map_in_threads

# The number of tokens in a batch. Of 64 to 2048, this was the fastest.
BATCH_TOKENS = 192

# Optimisations that are switched off. This one fuses a sum with a norm, which takes several times as long.
SLOW_OPTIMISATIONS = ["SkipLayerNormFusion"]

# The operators that a graph may consist of, by their domain. EPContext, which loads a file, is not among them.
DOMAINS = ("", "ai.onnx", "com.microsoft")

# The version of the export. A graph with another version is exported again.
EXPORT_VERSION = "1"

# The least cosine between a feature of the graph and the model's. Below it, the export has failed.
MIN_COSINE = 0.9

# Texts that the graph and the model are compared on.
PROBES = ("one short text", "another, which is a little longer than the first one", "two")


class OnnxEncoder:
    """A `TextEncoder` (base.py) that runs the graph. It uses the tokeniser of the encoder that was exported."""

    def __init__(self, encoder: Encoder, graph: bytes) -> None:
        import onnxruntime

        self.encoder = encoder
        self.session = onnxruntime.InferenceSession(
            graph, session_options(), ["CPUExecutionProvider"], disabled_optimizers=SLOW_OPTIMISATIONS
        )

    @property
    def dimensions(self) -> int:
        return self.encoder.dimensions

    def encode(self, texts: Sequence[str], advance: Advance = no_progress) -> Tensor:
        """Unit features (N, D), the same as those of the exported encoder but for rounding."""
        out = torch.empty(len(texts), self.dimensions)
        tokens = self.encoder.tokenise(texts)
        batches = tokens.batches_by_length(BATCH_TOKENS) if len(tokens) else []

        def run(index: Tensor) -> Tensor:
            batch = tokens.batch(index)
            inputs = {"ids": batch.input_ids.numpy(), "mask": batch.attention_mask.long().numpy()}  # (B, L) each
            return torch.from_numpy(self.session.run(None, inputs)[0])  # (B, D)

        for index, rows in zip(batches, map_in_threads(run, batches), strict=True):
            out[index] = rows
            advance(len(index))
        advance(len(tokens) - len(tokens.distinct[0]))
        return tokens.copied_to_duplicates(out)


def session_options() -> Any:
    """How ONNX Runtime runs a batch."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # Several batches run at once.
    options.log_severity_level = 3  # Errors only.
    # The approximation is far more accurate than 8-bit weights are.
    options.add_session_config_entry("optimization.enable_gelu_approximation", "1")
    return options


class _Unit(nn.Module):
    """The tower of an encoder, followed by normalisation."""

    def __init__(self, tower: nn.Module) -> None:
        super().__init__()
        self.tower = tower

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        return F.normalize(self.tower(ids, mask), dim=1)  # (B, D)


def is_whole(graph: bytes) -> bool:
    """Whether everything is in the graph itself. A forged graph could refer to any other file."""
    import onnx
    from google.protobuf.message import DecodeError

    try:
        loaded = onnx.load_model_from_string(graph)
    except DecodeError:
        return False
    for part in _parts(loaded):
        if isinstance(part, onnx.TensorProto) and (
            part.external_data or part.data_location != onnx.TensorProto.DEFAULT
        ):
            return False
        if isinstance(part, onnx.NodeProto) and (part.domain not in DOMAINS or part.op_type == "EPContext"):
            return False
    return True


def _parts(message: Any) -> Iterator[Any]:
    """A protobuf message and every message in it, at any depth: subgraphs, functions and sparse tensors, too."""
    left = [message]
    while left:
        yield (part := left.pop())
        for field, value in part.ListFields():
            if field.message_type is not None:
                left += [value] if hasattr(value, "ListFields") else value


def export_int8(encoder: Encoder) -> bytes:
    """A graph of the encoder whose weights are rounded to 8 bits, each column with its own scale."""
    if not isinstance(encoder, SentenceEncoder):
        raise SettingError(f"a {type(encoder).__name__} cannot be exported to ONNX: leave out --backend onnx-int8")
    if encoder.is_static:
        raise SettingError("a static encoder is as fast as it can be without ONNX: leave out --backend onnx-int8")
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.shape_inference import quant_pre_process

    tower = copy.deepcopy(encoder.tower).eval()
    tower.transformer.set_attn_implementation("eager")  # type: ignore[operator]
    batch = encoder.tokenise(PROBES).batch(torch.arange(len(PROBES)))
    axes = {"ids": {0: "texts", 1: "tokens"}, "mask": {0: "texts", 1: "tokens"}, "features": {0: "texts"}}
    with tempfile.TemporaryDirectory() as folder, _quiet():
        plain, prepared, rounded = (str(Path(folder) / f"{name}.onnx") for name in ("plain", "prepared", "rounded"))
        with torch.no_grad():
            torch.onnx.export(
                _Unit(tower),
                (batch.input_ids, batch.attention_mask.long()),
                plain,
                input_names=["ids", "mask"],
                output_names=["features"],
                dynamic_axes=axes,
                opset_version=17,
                dynamo=False,
            )
        quant_pre_process(plain, prepared, skip_symbolic_shape=True)
        quantize_dynamic(prepared, rounded, weight_type=QuantType.QInt8, per_channel=True)
        return Path(rounded).read_bytes()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silence the warnings and log messages of the exporters."""
    root: Any = logging.getLogger()
    level = root.level
    root.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        root.setLevel(level)
