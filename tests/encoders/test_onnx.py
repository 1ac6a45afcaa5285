"""The export with 8-bit weights assigns texts as the model does. A graph of another model is never loaded."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from helpers.commands import refused
from helpers.corpus import planted_corpus

from subtaxa import Discovery
from subtaxa.cli.main import main
from subtaxa.encoders.onnx import is_whole
from subtaxa.errors import SettingError
from subtaxa.runs.layout import ONNX_DIGESTS, ONNX_MODEL

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
TEXTS, LABELS, _ = planted_corpus(per_topic=20, seed=1)
NEW, _, _ = planted_corpus(per_topic=10, seed=2)


@pytest.fixture(scope="module")
def run(quick: dict[str, object], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Discovery(6, **quick).fit(TEXTS, LABELS).save(tmp_path_factory.mktemp("int8") / "run")  # type: ignore[arg-type]


def test_it_assigns_texts_as_the_model_does(run: Path) -> None:
    model, rounded = Discovery.load(run), Discovery.load(run, backend="onnx-int8")
    features = rounded.transform(NEW)
    assert ((features * model.transform(NEW)).sum(1) > 0.98).all()
    assert np.allclose(np.linalg.norm(features, axis=1), 1, atol=1e-5)
    assert (rounded.predict(NEW) == model.predict(NEW)).mean() >= 0.95
    assert rounded.transform([]).shape == (0, features.shape[1])
    alone = np.concatenate([rounded.transform([text]) for text in NEW[:4]])
    assert ((alone * features[:4]).sum(1) > 0.98).all()  # The batch size does not matter.


def test_the_graph_is_reused_and_exported_again_after_any_change(run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(run, folder)

    def transformed() -> np.ndarray:
        return Discovery.load(folder, backend="onnx-int8").transform(NEW[:3])

    first = transformed()
    graph, note = (folder / ONNX_MODEL).read_bytes(), (folder / ONNX_DIGESTS).read_text()
    made = (folder / ONNX_MODEL).stat().st_mtime_ns
    assert np.array_equal(transformed(), first)
    assert (folder / ONNX_MODEL).stat().st_mtime_ns == made  # The existing graph was used.
    (folder / ONNX_MODEL).write_bytes(graph[:-100])
    assert np.allclose(transformed(), first, atol=1e-6)
    assert len((folder / ONNX_MODEL).read_bytes()) == len(graph)
    (folder / ONNX_DIGESTS).write_text(json.dumps(json.loads(note) | {"model": "0" * 64}))
    transformed()
    assert (folder / ONNX_DIGESTS).read_text() == note
    assert Discovery.load(folder).save(folder, overwrite=True)  # The graph counts as a file of the run.
    assert not (folder / ONNX_MODEL).exists()


def test_a_graph_with_external_weights_is_incomplete(run: Path) -> None:
    Discovery.load(run, backend="onnx-int8").transform(NEW[:1])
    graph = onnx.load_model_from_string((run / ONNX_MODEL).read_bytes())
    assert is_whole(graph.SerializeToString())
    weight = graph.graph.initializer[0]
    weight.data_location = onnx.TensorProto.EXTERNAL
    weight.external_data.add(key="location", value="../../../etc/passwd")
    assert not is_whole(graph.SerializeToString())
    assert not is_whole(b"\xff\xff\xff")


def external(tensor: onnx.TensorProto) -> None:
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../../../etc/passwd")


def in_a_function(graph: onnx.ModelProto) -> None:
    function = graph.functions.add(name="f", domain="")
    external(function.node.add(op_type="Constant").attribute.add(name="value").t)


def in_a_sparse_tensor(graph: onnx.ModelProto) -> None:
    external(graph.graph.sparse_initializer.add().values)


def in_a_sparse_attribute(graph: onnx.ModelProto) -> None:
    external(graph.graph.node[0].attribute.add(name="sparse_value").sparse_tensor.indices)


def in_a_subgraph(graph: onnx.ModelProto) -> None:
    external(graph.graph.node[0].attribute.add(name="body").g.initializer.add())


def in_a_list(graph: onnx.ModelProto) -> None:
    external(graph.graph.node[0].attribute.add(name="all").tensors.add())


def in_the_training(graph: onnx.ModelProto) -> None:
    external(graph.training_info.add().algorithm.initializer.add())


def without_a_mark(graph: onnx.ModelProto) -> None:
    graph.graph.initializer[0].external_data.add(key="location", value="x")


def an_operator_that_loads_a_file(graph: onnx.ModelProto) -> None:
    graph.graph.node.add(op_type="EPContext", domain="com.microsoft")


def an_operator_of_its_own(graph: onnx.ModelProto) -> None:
    graph.graph.node.add(op_type="Evil", domain="evil")


@pytest.mark.parametrize(
    "harm",
    [
        in_a_function,
        in_a_sparse_tensor,
        in_a_sparse_attribute,
        in_a_subgraph,
        in_a_list,
        in_the_training,
        without_a_mark,
        an_operator_that_loads_a_file,
        an_operator_of_its_own,
    ],
)
def test_external_data_is_found_anywhere(run: Path, harm: Callable[[onnx.ModelProto], None]) -> None:
    Discovery.load(run, backend="onnx-int8").transform(NEW[:1])
    graph = onnx.load_model_from_string((run / ONNX_MODEL).read_bytes())
    harm(graph)
    assert not is_whole(graph.SerializeToString())


def test_the_command_takes_a_backend(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = tmp_path / "new.csv"
    new.write_text("text\n" + "\n".join(NEW) + "\n")
    out = [str(tmp_path / f"{name}.csv") for name in ("torch", "int8")]
    assert main(["assign", str(run), str(new), "--out", out[0], "--quiet"]) == 0
    assert main(["assign", str(run), str(new), "--out", out[1], "--backend", "onnx-int8", "--quiet"]) == 0
    plain, rounded = (Path(path).read_text().splitlines() for path in out)
    assert len(plain) == len(rounded) == len(NEW) + 1
    assert sum(a.split(",")[1] == b.split(",")[1] for a, b in zip(plain, rounded, strict=True)) >= 0.95 * len(NEW)
    error = refused(capsys, ["assign", str(run), str(new), "--out", str(tmp_path / "x.csv"), "--backend", "gpu"])
    assert "unknown backend 'gpu': use torch or onnx-int8" in error


def test_an_error_names_the_libraries_to_install(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subtaxa.settings.importlib.util.find_spec", lambda name: None)
    with pytest.raises(SettingError, match=r"needs onnx and onnxruntime: run `pip install 'subtaxa\[onnx\]'`"):
        Discovery.load(run, backend="onnx-int8")


def test_the_export_prints_nothing(run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Neither warnings of torch nor messages of native code reach the terminal."""
    folder = Path(shutil.copytree(run, tmp_path / "run"))
    for name in (ONNX_MODEL, ONNX_DIGESTS):
        (folder / name).unlink(missing_ok=True)
    model = Discovery.load(folder, backend="onnx-int8")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.transform(NEW[:2])
    assert (folder / ONNX_MODEL).exists()
    assert [str(warning.message) for warning in caught] == []
    assert capfd.readouterr() == ("", "")
