"""The encoder of a run as an ONNX graph with 8-bit weights, which files many new texts in less time.

It is exported from the run's own model when it is first asked for and kept beside it, with a note of digests: of the
model it was made from and of the file itself. If any differs, it is made again. A stranger could forge graph and note
together; a graph holds no code, and one that names other files is not loaded.

B texts in a batch, L tokens, D dimensions.
"""

from __future__ import annotations

import contextlib
import copy
import logging
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from subtaxa.runtime.threads import side_by_side

if TYPE_CHECKING:
    from subtaxa.encoders.sentence_encoder import Encoder

TOKENS = 192  # in a batch: what went quickest of 64 to 2048
SLOW = ["SkipLayerNormFusion"]  # its sum and norm in one take several times as long as one after the other
RECIPE = "1"  # a graph that was made by another one is made again
ALIKE = 0.9  # cosine of a graph's feature to the model's: below it, the export went wrong
PROBES = ("one short text", "another, which is a little longer than the first one", "two")


class OnnxEncoder:
    """Texts to unit features by the graph; the tokeniser and the batches are the encoder's own."""

    def __init__(self, encoder: Encoder, graph: bytes) -> None:
        import onnxruntime

        options, kinds = session_options(), ["CPUExecutionProvider"]
        self.encoder = encoder
        self.session = onnxruntime.InferenceSession(graph, options, kinds, disabled_optimizers=SLOW)

    def encode(self, texts: Sequence[str], advance: Callable[[int], None] = lambda n: None) -> Tensor:
        """Texts to unit features (N, D), as `Encoder.encode` gives them but for rounding."""
        out = torch.empty(len(texts), self.encoder.dimensions)
        tokens = self.encoder.tokenise(texts)
        batches = tokens.batches_by_length(TOKENS) if len(tokens) else []

        def read(index: Tensor) -> Tensor:
            batch = tokens.batch(index)
            inputs = {"ids": batch.input_ids.numpy(), "mask": batch.attention_mask.long().numpy()}  # (B, L) each
            return torch.from_numpy(self.session.run(None, inputs)[0])  # (B, D)

        for index, rows in zip(batches, side_by_side(read, batches), strict=True):
            out[index] = rows
            advance(len(index))
        return out


def session_options() -> Any:
    """How ONNX Runtime reads a batch."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # batches run side by side
    options.log_severity_level = 3  # errors only
    options.add_session_config_entry("optimization.enable_gelu_approximation", "1")  # far less off than 8 bits are
    return options


class _Unit(nn.Module):
    """The tower of an encoder with the normalising that others do after it."""

    def __init__(self, tower: nn.Module) -> None:
        super().__init__()
        self.tower = tower

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        return F.normalize(self.tower(ids, mask), dim=1)  # (B, D)


def is_whole(graph: bytes) -> bool:
    """Whether all weights are in the graph itself: a stranger's file could name any other file instead."""
    import onnx
    from google.protobuf.message import DecodeError

    try:
        loaded = onnx.load_model_from_string(graph)
    except DecodeError:
        return False
    return all(tensor.data_location != onnx.TensorProto.EXTERNAL for tensor in loaded.graph.initializer) and not any(
        attribute.g.ByteSize() or attribute.graphs or attribute.t.data_location == onnx.TensorProto.EXTERNAL
        for node in loaded.graph.node
        for attribute in node.attribute
    )


def export_int8(encoder: Encoder) -> bytes:
    """The encoder's tower as a graph whose matrices are rounded to 8 bits, each column by a scale of its own."""
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.shape_inference import quant_pre_process

    tower = copy.deepcopy(encoder.tower).eval()
    tower.transformer.set_attn_implementation("eager")  # type: ignore[operator]
    batch = encoder.tokenise(PROBES).batch(torch.arange(len(PROBES)))
    axes = {"ids": {0: "texts", 1: "tokens"}, "mask": {0: "texts", 1: "tokens"}, "features": {0: "texts"}}
    with tempfile.TemporaryDirectory() as room, _quiet():
        plain, prepared, rounded = (str(Path(room) / f"{name}.onnx") for name in ("plain", "prepared", "rounded"))
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
    """Keep the exporters' advice off the user's screen."""
    root: Any = logging.getLogger()
    level = root.level
    root.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        root.setLevel(level)
