"""The 8-bit export of a run's encoder, kept beside the run's model."""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

from subtaxa.encoders.onnx import EXPORT_VERSION, MIN_COSINE, PROBES, OnnxEncoder, export_int8, is_whole
from subtaxa.errors import InputError
from subtaxa.runs.digests import digests
from subtaxa.runs.layout import MODEL, ONNX_DIGESTS, ONNX_MODEL
from subtaxa.runs.staging import replace_files
from subtaxa.runtime.folder_lock import try_exclusive

if TYPE_CHECKING:
    from subtaxa.encoders.base import Encoder


def int8_encoder(encoder: Encoder, folder: Path) -> OnnxEncoder:
    """The 8-bit export of a run's encoder. It is made and saved on first use."""
    model = digests(folder, [MODEL])
    graph = _kept(folder, model)
    if graph is not None:
        return OnnxEncoder(encoder, graph)
    graph = export_int8(encoder)
    made = OnnxEncoder(encoder, graph)
    least = float((made.encode(PROBES) * encoder.encode(PROBES)).sum(1).min())
    if not least > MIN_COSINE:
        raise InputError(
            f"the encoder cannot be used with 8-bit weights (the cosine to its own features is {least:.2f}): "
            "leave out --backend onnx-int8"
        )
    note = {"recipe": EXPORT_VERSION, "model": model, "graph": hashlib.sha256(graph).hexdigest()}
    files = {ONNX_MODEL: graph, ONNX_DIGESTS: (json.dumps(note, indent=2) + "\n").encode()}
    # The export is used without being saved if the run folder is read-only or full, or is being written.
    with contextlib.suppress(OSError), try_exclusive(folder) as locked:
        if locked and digests(folder, [MODEL]) == model:
            replace_files(folder, files, shown=False)
    return made


def _kept(folder: Path, model: dict[str, str]) -> bytes | None:
    """The saved export, if it was made from this very model."""
    try:
        note = json.loads((folder / ONNX_DIGESTS).read_text("utf-8"))
        graph = (folder / ONNX_MODEL).read_bytes()
    except (OSError, ValueError):
        return None
    ours = {"recipe": EXPORT_VERSION, "model": model, "graph": hashlib.sha256(graph).hexdigest()}
    return graph if note == ours and is_whole(graph) else None
