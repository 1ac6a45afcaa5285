"""What a stranger may do to a file of a run folder: change a value, an array or a column, or put something else there.

Each change is drawn from a random generator, is made in place, and is returned as a short description.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

# Keys that once made a library do something else, by file.
DANGEROUS: dict[str, list[str]] = {
    "model/config.json": ["auto_map", "base_model_name_or_path", "_name_or_path", "quantization_config", "backbone"],
    "model/sentence_bert_config.json": ["tokenizer_name_or_path", "model_args", "config_args", "max_seq_length"],
    "model/tokenizer_config.json": [
        "vocab",
        "vocab_file",
        "tokenizer_file",
        "auto_map",
        "chat_template",
        "name_or_path",
    ],
    "model/config_sentence_transformers.json": ["requirements"],
    "manifest.json": ["files", "shown"],
}
# Files that only some runs have, and places that commands use for a moment.
SOMETIMES = ("assignments.parquet", "model-int8.onnx", "model-int8.json", "edits-before.jsonl")
SOMETIMES += ("checkpoint", "checkpoint/identity.json", "model/blobs", "model/model.py", "my-own.txt", ".lock")
SOMETIMES += (".commit", ".commit/new", ".commit/plan.json", ".commit/new/run.json", ".commit/new/model")
SOMETIMES += (".writing-abcdefgh", ".writing-abcdefgh/new", ".run.json-abcdefgh")


class Stranger:
    """Changes copies of a run. `outside` is a folder that the changes lead to and that nothing may touch."""

    def __init__(self, base: Path, outside: Path) -> None:
        self.outside = outside
        names = sorted(path.relative_to(base).as_posix() for path in base.rglob("*"))
        self.places = [*names, *SOMETIMES]
        self.values = [name for name in names if name.endswith((".json", ".jsonl"))]
        self.arrays = [name for name in names if name.endswith(".safetensors")]

    def mutate(self, run: Path, rng: random.Random) -> str:
        """Change one thing, and return a description."""
        change = rng.choices((self._value, self._array, self._columns, self._place), (66, 15, 7, 12))[0]
        return change(run, rng)

    def _value(self, run: Path, rng: random.Random) -> str:
        """Change one key of a JSON file or of a line of the log of edits."""
        name = rng.choice(self.values)
        lines = name.endswith(".jsonl")
        text = (run / name).read_text()
        content = [json.loads(line) for line in text.splitlines()] if lines else json.loads(text)
        if name in DANGEROUS and isinstance(content, dict) and rng.random() < 0.4:
            key, value = rng.choice(DANGEROUS[name]), self._evil(rng)
            content[key] = value
            what = f"{name}: {key} is {repr(value)[:60]}"
        else:
            place, key = rng.choice(list(_places(content)))
            if rng.random() < 0.15 and isinstance(place, dict):
                del place[key]
                what = f"{name}: without {key}"
            else:
                value = self._evil(rng)
                place[key] = value
                what = f"{name}: {key} is {repr(value)[:60]}"
        with contextlib.suppress(ValueError):
            text = "".join(f"{json.dumps(line)}\n" for line in content) if lines else json.dumps(content)
            (run / name).write_text(text)
        if rng.random() < 0.02:
            (run / name).write_text('{"a":' * 100_000)
        return what

    def _evil(self, rng: random.Random) -> Any:
        path, nested = str(self.outside), []
        for _ in range(200):
            nested = [nested]
        return rng.choice(
            [
                *(path, f"{path}/vocab.txt", f"{path}/config.json"),
                *("../outside/vocab.txt", "x/../../../outside/secret"),
                *("http://127.0.0.1:9/x", "https://huggingface.co/evil/model", "evil/model", "bert-base-uncased"),
                *(-1, 0, 1, 2, 3, 7, 40, 2**31, 2**70, 10**400, 1e308, float("nan"), float("inf"), 0.5, True, None),
                *("", "\ud800", "\0"),
                *([], {}, [1], {"a": 1}, nested, "x" * 100_000, "evil.Evil", {"AutoModel": "evil.Evil"}),
                *({"variant": f"x/../../{path}"}, {"offload_folder": f"{path}/new"}, {"gguf_file": f"{path}/secret"}),
                *({"content": path}, [path], {"_configuration_file": "../../outside/config.json"}, "retrieval"),
            ]
        )

    def _array(self, run: Path, rng: random.Random) -> str:
        """Change one array."""
        from safetensors.numpy import load, save

        name = rng.choice(self.arrays)
        arrays = {key: array.copy() for key, array in load((run / name).read_bytes()).items()}
        hows = ("NaN", "infinity", "type", "shape", "empty", "missing", "big", "cycle", "other")
        key, how = rng.choice(sorted(arrays)), rng.choice(hows)
        array = arrays[key]
        if how in ("NaN", "infinity") and array.dtype.kind == "f" and array.size:
            array.flat[0] = np.nan if how == "NaN" else np.inf
        elif how == "type":
            arrays[key] = array.astype(rng.choice([np.float64, np.int8, np.uint8, np.bool_, np.float16]))
        elif how == "shape":
            arrays[key] = array.reshape(-1)
        elif how == "empty":
            arrays[key] = array[:0]
        elif how == "missing":
            del arrays[key]
        elif how == "cycle" and array.dtype.kind in "iu" and array.size > 1:
            array.flat[:] = array.flat[::-1].copy()
        elif how == "other" and array.size:
            array.flat[rng.randrange(array.size)] = array.flat[rng.randrange(array.size)] + 1
        elif array.size:
            array.flat[-1] = np.iinfo(array.dtype).max if array.dtype.kind in "iu" else 1e30
        (run / name).write_bytes(save({key: np.ascontiguousarray(array) for key, array in arrays.items()}))
        return f"{name}: {key} {how}"

    def _columns(self, run: Path, rng: random.Random) -> str:
        """Change the table of the other columns."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = run / "columns.parquet"
        table = pq.read_table(path)
        column, how = rng.randrange(table.num_columns), rng.choice(("name", "type", "rows", "values", "none", "bytes"))
        if how == "bytes":
            content = bytearray(path.read_bytes())
            for _ in range(rng.randint(1, 20)):
                content[rng.randrange(len(content))] = rng.randrange(256)
            path.write_bytes(content[: rng.choice([None, len(content) // 2])])
            return "columns.parquet: other bytes"
        names, arrays = list(table.column_names), [one.combine_chunks() for one in table.columns]
        if how == "name":
            names[column] = rng.choice(["", "row", "category", "=1+1", "\0", "x" * 10_000, names[0]])
        elif how == "type":
            other = rng.choice([pa.large_string(), pa.binary(), pa.int64(), pa.list_(pa.string())])
            arrays[column] = pa.nulls(len(table), other)
        elif how == "values":
            values = ["=1+1", "1e400", "0001-01-01", "9999-12-31", "<b>", "x" * 50_000, "\ufffe", None, "nan"]
            arrays[column] = pa.array(rng.choices(values, k=len(table)), pa.string())
        elif how == "none":
            names, arrays = names[:column], arrays[:column]
        rows = pa.table(arrays, names=names).slice(0, rng.choice([0, 1]) if how == "rows" else None)
        pq.write_table(rows, path, store_schema=rng.random() < 0.5)
        return f"columns.parquet: another {how}"

    def _place(self, run: Path, rng: random.Random) -> str:
        """Put something else where a file or a folder is, or might be: a link, a pipe, a folder, or other bytes."""
        name = rng.choice(self.places)
        path, how = run / name, rng.choice(("link", "link", "link to a folder", "link to a folder", "pipe", "folder"))
        if rng.random() < 0.2 and path.is_file():
            content = bytearray(path.read_bytes())
            for _ in range(rng.randint(1, 5)):
                content[rng.randrange(len(content))] = rng.randrange(256)
            path.write_bytes(content)
            return f"{name}: other bytes"
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        if name.startswith(".commit/new"):
            (run / ".commit" / "plan.json").write_text('{"remove": {}}')
        if how == "pipe":
            os.mkfifo(path)
        elif how == "folder":
            path.mkdir()
        else:
            path.symlink_to(self.outside / "secret" if how == "link" else self.outside)
        return f"{name} is a {how}"


def _places(content: Any) -> Iterator[tuple[Any, Any]]:
    """Every list or object in a JSON value with each of its indices or keys."""
    for key, value in content.items() if isinstance(content, dict) else enumerate(content):
        yield content, key
        if isinstance(value, (dict, list)):
            yield from _places(value)
